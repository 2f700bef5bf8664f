# CUDA is optional: found, the module is built; absent, the program has no
# `cuda` device and says so. No compiler of CUDA's is needed, kernels are
# generated: headers and cuBLASLt do. Sanitizers do not know its libraries.
option(PLIMSOLL_CUDA "Build the CUDA module where the toolkit is found" ON)
set(PLIMSOLL_HAS_CUDA OFF)
if(PLIMSOLL_CUDA AND NOT PLIMSOLL_SANITIZE)
  set(hints $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda)
  find_path(PLIMSOLL_CUDA_INCLUDE cublasLt.h HINTS ${hints}
            PATH_SUFFIXES include targets/x86_64-linux/include)
  find_library(PLIMSOLL_CUBLASLT cublasLt HINTS ${hints}
               PATH_SUFFIXES lib64 targets/x86_64-linux/lib)
  if(PLIMSOLL_CUDA_INCLUDE AND PLIMSOLL_CUBLASLT
     AND EXISTS ${PLIMSOLL_CUDA_INCLUDE}/cuda.h
     AND EXISTS ${PLIMSOLL_CUDA_INCLUDE}/nvrtc.h)
    set(PLIMSOLL_HAS_CUDA ON)
  endif()
  message(STATUS "CUDA module: ${PLIMSOLL_HAS_CUDA}")
  # Its headers alone: the module opens cuDNN by name.
  find_path(PLIMSOLL_CUDNN_INCLUDE cudnn_graph.h
            HINTS ${PLIMSOLL_CUDA_INCLUDE} ${hints} PATH_SUFFIXES include)
  message(STATUS "cuDNN's headers: ${PLIMSOLL_CUDNN_INCLUDE}")
endif()

# Program and module share these headers' classes: a module of other sources
# is not opened.
file(GLOB shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/base/*.h
     ${PROJECT_SOURCE_DIR}/src/device/*.h
     ${PROJECT_SOURCE_DIR}/src/memory/*.h
     ${PROJECT_SOURCE_DIR}/include/plimsoll/memory_source.h)
set(hashes "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
foreach(header ${shared})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(SHA256 ${header} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 PLIMSOLL_BUILD_ID "${hashes}")
string(SUBSTRING ${PLIMSOLL_BUILD_ID} 0 16 PLIMSOLL_BUILD_ID)
