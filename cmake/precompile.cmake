# Most of the time of a build from scratch goes into reading the same headers over and over. Presets that are usually built
# from scratch compile several sources as one, and read once what many of them include. A missing include is not noticed
# there: `clang`, `debug` and `bench` compile each source by itself, from nothing.
option(SCOLL_JOIN_SOURCES "Compile several sources as one: fast from nothing, slow after a change" OFF)
set(scoll_joined_at_most 16)

# Sources of the library with sites of deliberate bugs are joined apart from the others, because the simulator needs them
# a second time (cmake/simulator.cmake).
function(scoll_join_library_sources target)
  if(NOT SCOLL_JOIN_SOURCES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  scoll_sources_with_sites(sites ${sources})
  set(others ${sources})
  list(REMOVE_ITEM others ${sites})
  scoll_group_sources(${target}_sites ${sites})
  scoll_group_sources(${target} ${others})
  scoll_join_sources(${target})
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# scoll_sources_with_sites(<variable> <source>...)
function(scoll_sources_with_sites found)
  set(sites "")
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" site REGEX "SCOLL_MUTANT\\(" LIMIT_COUNT 1)
    if(site)
      list(APPEND sites "${source}")
    endif()
  endforeach()
  set(${found} "${sites}" PARENT_SCOPE)
endfunction()

# scoll_group_sources(<name> <source>...)
function(scoll_group_sources name)
  set(count 0)
  foreach(source IN LISTS ARGN)
    math(EXPR group "${count} / ${scoll_joined_at_most}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${name}_${group})
    math(EXPR count "${count} + 1")
  endforeach()
endfunction()

# SEPARATE: sources that cannot be compiled together with others
function(scoll_join_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SEPARATE")
  if(NOT SCOLL_JOIN_SOURCES)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${scoll_joined_at_most})
  # GCC takes the joined sources for headers, and warns about types of unnamed namespaces in them.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  if(arg_SEPARATE)
    set_source_files_properties(${arg_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# With GCC, precompiled headers save a fifth at most, and cause spurious warnings.
function(scoll_precompile_for_tests target)
  if(NOT SCOLL_JOIN_SOURCES OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  if(NOT TARGET tests_precompiled)
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp" CONTENT "")
    add_library(tests_precompiled OBJECT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp")
    target_link_libraries(tests_precompiled PRIVATE tests_common scoll_warnings)
    scoll_optimise_tests(tests_precompiled)
    target_precompile_headers(tests_precompiled PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/catch.hpp"
                              "${PROJECT_SOURCE_DIR}/include/scoll/scoll.hpp")
  endif()
  target_precompile_headers(${target} REUSE_FROM tests_precompiled)
endfunction()
