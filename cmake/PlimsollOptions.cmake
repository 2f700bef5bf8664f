option(PLIMSOLL_TESTS "Build the tests" ON)
option(PLIMSOLL_EXAMPLES "Build the examples; the tests need them too" ON)
option(PLIMSOLL_BENCHMARKS "Build the benchmarks" OFF)
option(PLIMSOLL_FUZZ "Build the fuzzers too (clang, address sanitizer)" OFF)
# An error only where it has been seen to pass: each compiler warns of more
# than the one before it.
set(tested "GNU 12|Clang 14")
if("${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" MATCHES
   "^(${tested})\\.")
  set(tested_compiler ON)
else()
  set(tested_compiler OFF)
endif()
option(PLIMSOLL_WERROR "Treat warnings as errors" ${tested_compiler})
set(PLIMSOLL_SANITIZE "" CACHE STRING
    "Sanitizers to build with: address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(PLIMSOLL_CCACHE ccache)
if(PLIMSOLL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PLIMSOLL_CCACHE})
  # Without these it does not keep what a precompiled header went into.
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
       CCACHE_SLOPPINESS=pch_defines,time_macros)
  add_compile_options(
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# Contraction would make results depend on what the compiler fuses.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion
                    -ffp-contract=off)
if(PLIMSOLL_WERROR)
  add_compile_options(-Werror)
endif()

if(PLIMSOLL_SANITIZE)
  # Line tables only, and no more optimisation than makes the tests bearable:
  # both keep the build small.
  add_compile_options(-O1 -g1 -fno-omit-frame-pointer
                      -fsanitize=${PLIMSOLL_SANITIZE}
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PLIMSOLL_SANITIZE})
  add_compile_definitions(PLIMSOLL_SANITIZED)
endif()
