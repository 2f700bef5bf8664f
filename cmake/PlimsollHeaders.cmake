# plimsoll_headers: compiles each header of the house alone, as the first
# include of a file of its own; where a source file has it as its first include
# that is done already. Not part of `all`; `make lint` builds it.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h)
set(units "")
foreach(header ${headers})
  string(REGEX REPLACE "^(src|include)/" "" spelled ${header})
  string(REGEX REPLACE "\\.h$" ".cpp" source ${PROJECT_SOURCE_DIR}/${header})
  if(EXISTS ${source})
    file(STRINGS ${source} first REGEX "^#include" LIMIT_COUNT 1)
    if(first STREQUAL "#include \"${spelled}\"")
      continue()
    endif()
  endif()
  set(unit ${PROJECT_BINARY_DIR}/headers/${spelled}.cpp)
  # Included twice, so that a missing guard shows as well.
  file(CONFIGURE OUTPUT ${unit}
       CONTENT "#include \"${spelled}\"\n#include \"${spelled}\"\n")
  list(APPEND units ${unit})
  # What is written for one instruction set is compiled for it.
  if(unit MATCHES "_avx2\\.h\\.cpp$")
    set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS
                                                   "-mavx2;-mfma;-mf16c")
  elseif(unit MATCHES "_avx512\\.h\\.cpp$")
    set_source_files_properties(
      ${unit} PROPERTIES COMPILE_OPTIONS
                         "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma")
  endif()
endforeach()
add_library(plimsoll_headers OBJECT EXCLUDE_FROM_ALL ${units})
target_include_directories(plimsoll_headers PRIVATE ${PROJECT_SOURCE_DIR}/src
                                            ${PROJECT_SOURCE_DIR}/include)
target_compile_options(plimsoll_headers PRIVATE -O0)
target_link_libraries(
  plimsoll_headers PRIVATE fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11
                           tomlplusplus::tomlplusplus TBB::tbb DNNL::dnnl)
