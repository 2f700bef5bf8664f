# The installed package: find_package(plimsoll CONFIG) gives
# plimsoll::plimsoll, the facade of include/plimsoll with all it needs.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)

# What plimsoll_train and plimsoll_report, which implement the facade, are made of;
# the front ends stay out of the package.
get_property(known GLOBAL PROPERTY PLIMSOLL_LIBRARIES)
set(libraries "")
set(pending plimsoll_train plimsoll_report)
while(pending)
  list(POP_FRONT pending library)
  if(library IN_LIST known AND NOT library IN_LIST libraries)
    list(APPEND libraries ${library})
    get_target_property(needs ${library} LINK_LIBRARIES)
    list(APPEND pending ${needs})
  endif()
endwhile()
add_library(plimsoll_facade INTERFACE)
set_target_properties(plimsoll_facade PROPERTIES EXPORT_NAME plimsoll)
target_include_directories(
  plimsoll_facade INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(plimsoll_facade INTERFACE cxx_std_20)
target_link_libraries(plimsoll_facade INTERFACE ${libraries})
foreach(library ${libraries})
  string(REGEX REPLACE "^plimsoll_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()

install(TARGETS plimsoll_facade ${libraries} EXPORT plimsollTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/plimsoll)
install(EXPORT plimsollTargets NAMESPACE plimsoll::
        DESTINATION ${package_folder})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/plimsoll
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET plimsoll)
  install(TARGETS plimsoll RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/plimsoll)

# PyPI's libraries live in no place a loader looks: they go along, so that the
# installation outlives the checkout.
if(PLIMSOLL_BUNDLE)
  foreach(file libdnnl.so.3 libtbb.so.12 libtbbmalloc.so.2 libimf.so
               libintlc.so.5)
    install(PROGRAMS ${PLIMSOLL_DNNL_FOLDER}/${file}
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/plimsoll)
  endforeach()
  if(TARGET plimsoll)
    set_target_properties(
      plimsoll PROPERTIES INSTALL_RPATH
                          "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/plimsoll")
  endif()
endif()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/plimsollConfig.cmake.in
  ${PROJECT_BINARY_DIR}/plimsollConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/plimsollConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/plimsollConfig.cmake
              ${PROJECT_BINARY_DIR}/plimsollConfigVersion.cmake
        DESTINATION ${package_folder})
