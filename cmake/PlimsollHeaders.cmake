# plimsoll_headers: compiles each header of the house alone, as the first
# include of a file of its own. Not part of `all`; `make lint` builds it.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h)
set(units "")
foreach(header ${headers})
  string(REGEX REPLACE "^(src|include)/" "" spelled ${header})
  set(unit ${PROJECT_BINARY_DIR}/headers/${spelled}.cpp)
  # Included twice, so that a missing guard shows as well.
  file(CONFIGURE OUTPUT ${unit}
       CONTENT "#include \"${spelled}\"\n#include \"${spelled}\"\n")
  list(APPEND units ${unit})
endforeach()
add_library(plimsoll_headers OBJECT EXCLUDE_FROM_ALL ${units})
target_include_directories(plimsoll_headers PRIVATE ${PROJECT_SOURCE_DIR}/src
                                            ${PROJECT_SOURCE_DIR}/include)
target_compile_options(plimsoll_headers PRIVATE -O0)
target_link_libraries(
  plimsoll_headers PRIVATE fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11
                           tomlplusplus::tomlplusplus TBB::tbb DNNL::dnnl)
