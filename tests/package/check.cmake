# Installs into a fresh prefix, moves it (nothing may remember where it was
# built for), then configures, builds and runs the consumer against it.
cmake_minimum_required(VERSION 3.25)

function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${output}")
  endif()
  set(step_output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
step("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)

step("configure" ${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/build
     -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_CXX_COMPILER=${COMPILER}
     -D CMAKE_BUILD_TYPE=Release -D PLIMSOLL_WANTED=${VERSION})
step("build" ${CMAKE_COMMAND} --build ${WORK}/build)
step("consumer" ${WORK}/build/consumer)
message("${step_output}")

# The installed command starts from where it lies.
if(EXISTS ${WORK}/prefix/bin/plimsoll)
  step("installed plimsoll" ${WORK}/prefix/bin/plimsoll --help)
endif()
file(REMOVE_RECURSE ${WORK})
