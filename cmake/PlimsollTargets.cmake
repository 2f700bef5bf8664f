# plimsoll_library(name SOURCES ... DEPENDS ... [PRIVATE_DEPENDS ...]):
# one folder of the house, one static target `plimsoll_<name>`.
function(plimsoll_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(plimsoll_${name} STATIC ${arg_SOURCES})
  target_include_directories(
    plimsoll_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src
                            ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(plimsoll_${name} PUBLIC ${arg_DEPENDS}
                        PRIVATE ${arg_PRIVATE_DEPENDS})
endfunction()

# plimsoll_test(name SOURCES ... DEPENDS ... [LABELS ...]): one GoogleTest
# program, each of its tests known to ctest by name.
include(GoogleTest)
function(plimsoll_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  gtest_discover_tests(${name} PROPERTIES LABELS "${arg_LABELS}"
                       DISCOVERY_TIMEOUT 60)
endfunction()
