# Most of the time of a build from scratch goes into reading the same headers over and over. Presets that are usually built
# from scratch compile several sources as one, and read once what many of them include. Where a missing include has to be
# noticed, each source is compiled by itself, as users of the library do: in `release`, which runs in CI, the sources of the
# library, to which the standard library is known already; in `clang` and `bench` all sources, from nothing.
set(SCOLL_JOIN_SOURCES
    OFF
    CACHE STRING "Compile several sources as one, fast from nothing and slow after a change: OFF, PROGRAMS (not the library) or ALL")
set_property(CACHE SCOLL_JOIN_SOURCES PROPERTY STRINGS OFF PROGRAMS ALL)

function(scoll_join_library_sources target)
  if(SCOLL_JOIN_SOURCES STREQUAL "ALL")
    scoll_join_sources(${target})
  elseif(SCOLL_JOIN_SOURCES)
    scoll_precompile_standard_library(${target})
  endif()
endfunction()

# This saves a fifth to a third of the time that one source takes.
function(scoll_precompile_standard_library target)
  target_precompile_headers(
    ${target}
    PRIVATE
    <algorithm>
    <array>
    <chrono>
    <concepts>
    <coroutine>
    <cstring>
    <deque>
    <functional>
    <map>
    <memory>
    <optional>
    <span>
    <stdexcept>
    <string>
    <string_view>
    <tuple>
    <variant>
    <vector>
    <fmt/format.h>)
  # GCC forgets that these are not ours, and warns about what it inlines from them. Other presets warn about ours.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")
endfunction()

# SEPARATE: sources that cannot be compiled together with others
function(scoll_join_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SEPARATE")
  if(NOT SCOLL_JOIN_SOURCES)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
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
