# plimsoll_isa_source(target source flags): adds one file of loops that is
# compiled with `flags` and entered only where the processor has them.
function(plimsoll_isa_source target source flags)
  # A sanitizer checks every access of these loops: optimised, they take
  # minutes to compile.
  set(optimise -O3)
  if(PLIMSOLL_SANITIZE)
    set(optimise -O0)
  endif()
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(
    ${source} TARGET_DIRECTORY ${target}
    PROPERTIES COMPILE_OPTIONS
               "${optimise};-fno-math-errno;-fno-trapping-math;${flags}"
               SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# plimsoll_isa_sources(target file): compiles `file`, which defines its loops
# inside namespace PLIMSOLL_ISA, once for each instruction-set level. Such a
# file calls nothing inline from elsewhere: the linker keeps one copy of an
# inline function, and it must not be the one with the newest instructions.
function(plimsoll_isa_sources target file)
  set(levels baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND levels v3 v4)
  endif()
  set(flags_baseline "")
  set(flags_v3 -march=x86-64-v3)
  set(flags_v4 -march=x86-64-v4 -mprefer-vector-width=512)
  cmake_path(GET file STEM stem)
  foreach(level ${levels})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${level}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT
"#define PLIMSOLL_ISA isa_${level}
#include \"${CMAKE_CURRENT_SOURCE_DIR}/${file}\"
")
    plimsoll_isa_source(${target} ${source} "${flags_${level}}")
    set_source_files_properties(
      ${source} TARGET_DIRECTORY ${target}
      PROPERTIES OBJECT_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
endfunction()
