# plimsoll_quicken(target [TEST]): a sanitizer's build is mostly the compiler's
# time, on code that runs once. There the headers that nearly every file reads
# are read once for all targets, and tests (not what they test) are not
# optimised. Other builds read each file's own includes, and so find the missing
# ones.
set(PLIMSOLL_COMMON_HEADERS
    <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <span>
    <string> <vector> <fmt/format.h>)

function(plimsoll_quicken target)
  if(NOT PLIMSOLL_SANITIZE)
    return()
  endif()
  set(provider plimsoll_precompiled)
  set(headers ${PLIMSOLL_COMMON_HEADERS})
  set(libraries fmt::fmt)
  set(options)
  if("TEST" IN_LIST ARGN)
    string(APPEND provider _test)
    list(APPEND headers <gtest/gtest.h>)
    list(APPEND libraries GTest::gtest)
    set(options -O0)
  endif()
  if(NOT TARGET ${provider})
    set(source ${PROJECT_BINARY_DIR}/${provider}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${provider} OBJECT ${source})
    target_link_libraries(${provider} PRIVATE ${libraries})
    target_compile_options(${provider} PRIVATE ${options})
    target_precompile_headers(${provider} PRIVATE ${headers})
  endif()
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM ${provider})
endfunction()
