# plimsoll_quicken(target [TEST]): the headers that nearly every file reads are
# read once for all targets, a third of the build's time, and tests (not what
# they test, and no slow ones) are not optimised. The thread sanitizer's build of
# the library reads each file's own includes, and so finds the missing ones.
set(PLIMSOLL_COMMON_HEADERS
    <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <span>
    <string> <vector>)

function(plimsoll_quicken target)
  if(PLIMSOLL_SANITIZE STREQUAL "thread" AND NOT "TEST" IN_LIST ARGN)
    return()
  endif()
  set(provider plimsoll_precompiled)
  set(header <fmt/format.h>)
  set(library fmt::fmt)
  # GCC 12 takes a precompiled std::string for one that is always short.
  set(options)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(options -Wno-array-bounds -Wno-stringop-overflow
                -Wno-stringop-overread)
  endif()
  if("TEST" IN_LIST ARGN)
    string(APPEND provider _test)
    set(header <gtest/gtest.h>)
    set(library GTest::gtest)
    list(APPEND options -O0)
  endif()
  if(NOT TARGET ${provider})
    set(source ${PROJECT_BINARY_DIR}/${provider}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    if("TEST" IN_LIST ARGN)
      # A program too, so that it is compiled with the same options.
      add_executable(${provider} ${source})
    else()
      add_library(${provider} OBJECT ${source})
    endif()
    target_link_libraries(${provider} PRIVATE ${library})
    target_compile_options(${provider} PRIVATE ${options})
    target_precompile_headers(${provider} PRIVATE ${PLIMSOLL_COMMON_HEADERS}
                                                  ${header})
  endif()
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM ${provider})
endfunction()
