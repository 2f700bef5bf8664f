include(GNUInstallDirs)
include(GoogleTest)
include(PlimsollQuicken)

# plimsoll_library(name SOURCES ... DEPENDS ... [PRIVATE_DEPENDS ...]):
# one folder of the house, one static target `plimsoll_<name>`, which the
# installed package exports.
function(plimsoll_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(plimsoll_${name} STATIC ${arg_SOURCES})
  target_include_directories(
    plimsoll_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
           $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(plimsoll_${name} PUBLIC cxx_std_20)
  target_link_libraries(plimsoll_${name} PUBLIC ${arg_DEPENDS})
  foreach(dependency ${arg_PRIVATE_DEPENDS})
    if(dependency MATCHES "^(nlohmann_json|CLI11)::")
      # Headers alone: who uses the installed library does not need them.
      set(dependency $<BUILD_INTERFACE:${dependency}>)
    endif()
    target_link_libraries(plimsoll_${name} PRIVATE ${dependency})
  endforeach()
  plimsoll_quicken(plimsoll_${name})
  set_property(GLOBAL APPEND PROPERTY PLIMSOLL_LIBRARIES plimsoll_${name})
endfunction()

# plimsoll_test(name SOURCES ... DEPENDS ... [DEFINITIONS ...] [PROGRAMS ...]
# [LABELS ...] [PREFIX p]): one GoogleTest program, each of its tests known to
# ctest by name, behind the prefix; PROGRAMS are built with it. Labels:
# `threads` (runs under the thread sanitizer too), `slow` (not under
# sanitizers), `gpu`.
add_custom_target(plimsoll_tests)
function(plimsoll_test name)
  cmake_parse_arguments(
    arg "" "PREFIX" "SOURCES;DEPENDS;DEFINITIONS;PROGRAMS;LABELS" ${ARGN})
  if(PLIMSOLL_SANITIZE AND "slow" IN_LIST arg_LABELS)
    return()
  endif()
  if(PLIMSOLL_SANITIZE STREQUAL "thread"
     AND NOT "threads" IN_LIST arg_LABELS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  if(arg_PROGRAMS)
    add_dependencies(${name} ${arg_PROGRAMS})
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(NOT "slow" IN_LIST arg_LABELS)
    plimsoll_quicken(${name} TEST)
  endif()
  add_dependencies(plimsoll_tests ${name})
  # Found when ctest starts, with the sanitizers' options in its environment.
  gtest_discover_tests(
    ${name} TEST_PREFIX "${arg_PREFIX}" DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES
      ENVIRONMENT
      PLIMSOLL_CUDA_MODULE=${PROJECT_BINARY_DIR}/libplimsoll_cuda.so)
  if(arg_LABELS)
    # gtest_discover_tests() loses all labels but the first.
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
if(@name@_TESTS)
  set_tests_properties(${@name@_TESTS} PROPERTIES LABELS "@arg_LABELS@")
endif()
]])
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
  endif()
endfunction()
