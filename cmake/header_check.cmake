# One translation unit per public header, for `./dev check`. Each unit includes nothing else, so a header that relies on the
# includes of another header does not build. Nothing is optimised; the cost is parsing.
set(header_units "")
foreach(header IN LISTS scoll_headers testing_headers)
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/include" OUTPUT_VARIABLE name)
  set(unit "${PROJECT_BINARY_DIR}/headers_alone/${name}.cpp")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "#include \"${name}\"\n")
  list(APPEND header_units "${unit}")
endforeach()
if(header_units)
  add_library(scoll_headers_alone OBJECT EXCLUDE_FROM_ALL ${header_units}) # `./dev check` builds it
  target_link_libraries(scoll_headers_alone PRIVATE scoll::scoll scoll_warnings)
  target_compile_options(scoll_headers_alone PRIVATE -O0 -g0)
endif()
