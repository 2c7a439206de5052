# scoll::verbs opens the RDMA devices of the machine by libibverbs. Everything else about verbs is part of scoll and does not
# need libibverbs. It must be included after the targets scoll and scoll_warnings exist, with `verbs_sources` set.
#
# scoll_verbs_if_built is for programs of this project: it brings scoll::verbs and SCOLL_HAS_VERBS, or nothing.
add_library(scoll_verbs_if_built INTERFACE)
set_property(CACHE SCOLL_VERBS PROPERTY STRINGS AUTO ON OFF)
if(NOT SCOLL_VERBS STREQUAL "OFF")
  pkg_check_modules(libibverbs QUIET IMPORTED_TARGET libibverbs)
  if(NOT libibverbs_FOUND AND NOT SCOLL_VERBS STREQUAL "AUTO")
    scoll_missing("libibverbs for SCOLL_VERBS=${SCOLL_VERBS}" libibverbs-dev)
  endif()
endif()
if(SCOLL_VERBS STREQUAL "OFF")
  message(STATUS "scoll::verbs is not built: SCOLL_VERBS is ${SCOLL_VERBS}")
  return()
endif()
if(NOT libibverbs_FOUND)
  message(STATUS "scoll::verbs is not built: libibverbs was not found (libibverbs-dev)")
  return()
endif()
message(STATUS "scoll::verbs is built with libibverbs ${libibverbs_VERSION}")

add_library(scoll_verbs ${verbs_sources})
add_library(scoll::verbs ALIAS scoll_verbs)
target_include_directories(scoll_verbs PRIVATE src)
target_link_libraries(
  scoll_verbs
  PUBLIC scoll::scoll
  PRIVATE PkgConfig::libibverbs $<BUILD_INTERFACE:scoll_warnings>)
scoll_join_library_sources(scoll_verbs)
set_target_properties(scoll_verbs PROPERTIES CXX_EXTENSIONS OFF EXPORT_NAME verbs VERSION ${PROJECT_VERSION}
                                             SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(scoll_verbs_if_built INTERFACE scoll::verbs)
target_compile_definitions(scoll_verbs_if_built INTERFACE SCOLL_HAS_VERBS)
