# cmake -D program=<test program> -P check_listing.cmake
#
# Fails the build if a test program cannot list its cases. Otherwise the discovery would take a crash for an empty list, and
# the program's tests would be missing silently.
execute_process(COMMAND "${program}" --list-tests RESULT_VARIABLE result OUTPUT_VARIABLE listing ERROR_VARIABLE errors)
if(NOT result MATCHES "^[0-9]+$" OR NOT listing MATCHES "[1-9][0-9]* test cases?[ \n]*$")
  message(FATAL_ERROR "${program} cannot list its tests (${result}):\n${listing}${errors}")
endif()
