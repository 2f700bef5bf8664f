# TensorFlow and NumPy read what we write: skipped where there is none.
if(NOT PLIMSOLL_SANITIZE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_executable(write_examples write_examples.cpp)
  target_link_libraries(write_examples PRIVATE plimsoll_io)
  add_test(NAME io.tensorflow_reads_our_records
           COMMAND Python3::Interpreter
                   ${CMAKE_CURRENT_SOURCE_DIR}/tensorflow_reads_test.py
                   $<TARGET_FILE:write_examples>)

  # The build's own environment has NumPy.
  set(numpy_python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  if(NOT EXISTS ${numpy_python})
    set(numpy_python ${Python3_EXECUTABLE})
  endif()
  add_executable(write_arrays write_arrays.cpp)
  target_link_libraries(write_arrays PRIVATE plimsoll_io)
  add_test(NAME io.numpy_reads_our_arrays
           COMMAND ${numpy_python}
                   ${CMAKE_CURRENT_SOURCE_DIR}/numpy_reads_test.py
                   $<TARGET_FILE:write_arrays>)

  set_tests_properties(
    io.tensorflow_reads_our_records io.numpy_reads_our_arrays
    PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")
endif()
