# PyPI's oneDNN and oneTBB live in the project's .venv; a system's oneDNN 3
# serves as well: without a .venv, or with PLIMSOLL_SYSTEM_DNNL.
option(PLIMSOLL_SYSTEM_DNNL "Take oneDNN and oneTBB from the system"
       $ENV{PLIMSOLL_SYSTEM_DNNL})
set(PLIMSOLL_VENV ${PROJECT_SOURCE_DIR}/.venv CACHE PATH
    "Virtual environment with oneDNN and oneTBB")
if(NOT PLIMSOLL_SYSTEM_DNNL)
  list(PREPEND CMAKE_PREFIX_PATH ${PLIMSOLL_VENV})
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(TBB REQUIRED COMPONENTS tbb)
find_package(dnnl 3.2 REQUIRED)
# "Another one works with a warning": only oneTBB shares our thread budget.
if(DEFINED DNNL_CPU_RUNTIME AND NOT DNNL_CPU_RUNTIME STREQUAL "TBB")
  message(WARNING "oneDNN ${dnnl_VERSION} was built for ${DNNL_CPU_RUNTIME}, "
                  "not oneTBB: its threads are outside the thread budget")
endif()

# The wheel's libdnnl needs Intel's runtime beside it but has no search path
# of its own: DT_RPATH, unlike DT_RUNPATH, also serves what it loads.
get_target_property(PLIMSOLL_DNNL_FILE DNNL::dnnl IMPORTED_LOCATION_RELEASE)
set(PLIMSOLL_BUNDLE OFF)
if(PLIMSOLL_DNNL_FILE)
  cmake_path(GET PLIMSOLL_DNNL_FILE PARENT_PATH PLIMSOLL_DNNL_FOLDER)
  if(EXISTS ${PLIMSOLL_DNNL_FOLDER}/libimf.so)
    set(PLIMSOLL_BUNDLE ON)
    set(CMAKE_BUILD_RPATH ${PLIMSOLL_DNNL_FOLDER})
    add_link_options(-Wl,--disable-new-dtags
                     -Wl,-rpath-link,${PLIMSOLL_DNNL_FOLDER})
  endif()
endif()

if(PLIMSOLL_TESTS)
  find_package(GTest REQUIRED)
endif()
if(PLIMSOLL_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
