# TensorFlow reads what we write: skipped where there is none.
if(NOT PLIMSOLL_SANITIZE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_executable(write_examples write_examples.cpp)
  target_link_libraries(write_examples PRIVATE plimsoll_io)
  add_test(NAME io.tensorflow_reads_our_records
           COMMAND Python3::Interpreter
                   ${CMAKE_CURRENT_SOURCE_DIR}/tensorflow_reads_test.py
                   $<TARGET_FILE:write_examples>)
  set_tests_properties(io.tensorflow_reads_our_records
                       PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")
endif()
