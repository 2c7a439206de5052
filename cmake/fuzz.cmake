# tests/fuzz/<name>_fuzz.cpp becomes the program fuzz_<name>; `./dev fuzz NAME` runs it from tests/fuzz/corpus/<name>.
file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp")
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM stem)
  string(REGEX REPLACE "_fuzz$" "" case "${stem}")
  add_executable(fuzz_${case} "${source}")
    target_link_libraries(fuzz_${case} PRIVATE scoll::testing scoll_internals scoll_warnings)
  target_link_options(fuzz_${case} PRIVATE -fsanitize=fuzzer)
endforeach()
