# Installs the project and tells other projects how to find it. There are two components: `dev` (headers, library, package
# files) and `tools` (programs).
include(CMakePackageConfigHelpers)

# Headers go into a folder of their own, which is on the include path only of projects that use the package. This does not
# keep names apart in such a project: with another library that has gossip/ or transport/, the first folder on the path wins.
set(scoll_include_dir "${CMAKE_INSTALL_INCLUDEDIR}/scoll-${PROJECT_VERSION_MAJOR}")
set(scoll_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/scoll")

install(
  TARGETS scoll scoll_testing
  EXPORT scoll-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
  FILE_SET HEADERS DESTINATION "${scoll_include_dir}" COMPONENT dev)
install(
  EXPORT scoll-targets
  NAMESPACE scoll::
  DESTINATION "${scoll_package_dir}"
  COMPONENT dev)

# scoll::verbs has targets of its own, which find_package(scoll COMPONENTS verbs) loads.
if(TARGET scoll_verbs)
  install(
    TARGETS scoll_verbs
    EXPORT scoll-verbs-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)
  install(
    EXPORT scoll-verbs-targets
    NAMESPACE scoll::
    DESTINATION "${scoll_package_dir}"
    COMPONENT dev)
endif()

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/scoll-config.cmake.in" "${PROJECT_BINARY_DIR}/scoll-config.cmake"
  INSTALL_DESTINATION "${scoll_package_dir}"
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/scoll-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/scoll-config.cmake" "${PROJECT_BINARY_DIR}/scoll-config-version.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/scoll-check-co-await.cmake" "${PROJECT_SOURCE_DIR}/tests/lint/co_await.py"
  DESTINATION "${scoll_package_dir}"
  COMPONENT dev)

# scoll.pc is for programs. A target that links scoll::testing is a test of a CMake project, and finds it with
# find_package(scoll). The .pc file derives the prefix from its own location, so that the tree can be moved. It cannot do so
# from a location that is unrelated to the prefix.
set(scoll_pc_prefix "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH up_to_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
  string(REGEX REPLACE "/$" "" scoll_pc_prefix "\${pcfiledir}/${up_to_prefix}")
endif()
cmake_path(APPEND scoll_pc_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}") # an absolute path replaces the prefix
cmake_path(APPEND scoll_pc_includedir "\${prefix}" "${scoll_include_dir}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/scoll.pc.in" "${PROJECT_BINARY_DIR}/scoll.pc" @ONLY)
set(scoll_pc_files "${PROJECT_BINARY_DIR}/scoll.pc")
if(TARGET scoll_verbs)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/scoll-verbs.pc.in" "${PROJECT_BINARY_DIR}/scoll-verbs.pc" @ONLY)
  list(APPEND scoll_pc_files "${PROJECT_BINARY_DIR}/scoll-verbs.pc")
endif()
install(
  FILES ${scoll_pc_files}
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT dev)

foreach(component dev tools)
  set(package "$<IF:$<STREQUAL:${component},dev>,libscoll-dev,scoll-tools>")
  install(
    FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}"
    COMPONENT ${component})
endforeach()
if(scoll_tools)
  install(TARGETS ${scoll_tools} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
endif()

# `cpack` makes one .deb for each component.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL dev tools)
set(CPACK_PACKAGE_CONTACT "The scoll developers <scoll@users.noreply.github.com>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION ON) # such a file would be installed here and not packed
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libscoll-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
# The last package is for find_package(scoll), which uses it to find dependencies that have only a .pc file.
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libfmt-dev, liburing-dev, libxxhash-dev, libssl-dev, pkgconf | pkg-config")
if(TARGET scoll_verbs)
  set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libibverbs-dev")
endif()
set(CPACK_DEBIAN_DEV_DESCRIPTION "Storage collectives over spanning trees (headers and library)
 Coroutines for storage servers: one request to every member of a group over a
 spanning tree, one merged reply, and an exact account of who executed it.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME scoll-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "Storage collectives over spanning trees (programs)
 The programs that come with scoll, among them its simulator.")
include(CPack)
