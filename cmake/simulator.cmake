# The simulator with the deliberate bugs of src/scoll/coro/mutants.hpp compiled in, for `./dev sim --mutants`. No other
# program contains these bugs. It is built only on request, except where a test runs it.
set(unless_tested EXCLUDE_FROM_ALL)
if(SCOLL_TEST_MUTANTS)
  set(unless_tested "")
endif()
# Only the sources with sites are compiled again; no header has one. A shared library would bring the unharmed functions along.
set(mutable_sources ${scoll_sources} ${testing_sources})
if(NOT BUILD_SHARED_LIBS)
  scoll_sources_with_sites(mutable_sources ${mutable_sources})
endif()
# The linker takes only those objects from a static library that others refer to. The mutants in the rest of them would be
# missing from the program's list.
add_library(scoll_mutable OBJECT EXCLUDE_FROM_ALL ${mutable_sources})
target_compile_definitions(scoll_mutable PUBLIC SCOLL_MUTANTS)
target_include_directories(scoll_mutable PUBLIC "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(
  scoll_mutable
  PUBLIC scoll::testing
  PRIVATE PkgConfig::liburing PkgConfig::libxxhash OpenSSL::SSL OpenSSL::Crypto nlohmann_json::nlohmann_json scoll_warnings)
scoll_join_sources(scoll_mutable)
set_target_properties(scoll_mutable PROPERTIES UNITY_BUILD_MODE GROUP)
# The objects of the simulator are the same with and without mutants.
add_executable(scoll-sim-mutants ${unless_tested} $<TARGET_OBJECTS:scoll-sim> $<TARGET_OBJECTS:tools_scoll_sim_shared>)
target_link_libraries(scoll-sim-mutants PRIVATE scoll_mutable)

# A failure names the commit in which it was found.
set(commit_header "${PROJECT_BINARY_DIR}/generated/built_from_commit.hpp")
add_custom_target(
  scoll_commit
  COMMAND "${CMAKE_COMMAND}" -D "root=${PROJECT_SOURCE_DIR}" -D "into=${commit_header}" -P
          "${PROJECT_SOURCE_DIR}/cmake/commit.cmake"
  BYPRODUCTS "${commit_header}"
  VERBATIM)
foreach(program scoll-sim scoll-sim-mutants)
  add_dependencies(${program} scoll_commit)
  target_include_directories(${program} PRIVATE "${PROJECT_BINARY_DIR}/generated")
endforeach()
