# Writes the name of this commit into a header if it has changed: cmake -D root=... -D into=... -P commit.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(
  COMMAND git describe --always --dirty
  WORKING_DIRECTORY "${root}"
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET
  RESULT_VARIABLE failed)
if(failed OR commit STREQUAL "")
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${into}" CONTENT "#pragma once\n\nconstexpr char built_from_commit[] = \"@commit@\";\n" @ONLY)
