# For projects that use scoll, installed or as a subproject. GCC 12 silently miscompiles some uses of co_await, and a lint
# finds them.

option(SCOLL_WARN_ABOUT_GCC "Warn when the compiler is a GCC that may miscompile some uses of co_await" ON)

# scoll_check_co_await(<target>)
#
# Adds a step before the compilation of <target>. It searches the target's sources and headers, and the files that they
# include in quotes below the calling project's folder, for uses of co_await that a supported compiler miscompiles. It reports
# each as "<file>:<line>: ...", and the build fails. Needs Python 3.
function(scoll_check_co_await target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "scoll_check_co_await: there is no target ${target} (call it after add_executable or add_library)")
  endif()
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(NOT Python3_Interpreter_FOUND)
    message(FATAL_ERROR "scoll_check_co_await needs Python 3. On Debian and Ubuntu: apt install python3")
  endif()
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${target}_co_await$<$<NOT:$<STREQUAL:$<CONFIG>,>>:_$<CONFIG>>")
  get_target_property(folder ${target} SOURCE_DIR)
  file(
    GENERATE
    OUTPUT "${list}.list"
    CONTENT
      "--below ${PROJECT_SOURCE_DIR}\n-I$<JOIN:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,\n-I>\n$<JOIN:$<TARGET_PROPERTY:${target},SOURCES>,\n>\n$<JOIN:$<TARGET_PROPERTY:${target},HEADER_SET>,\n>\n"
    TARGET ${target})
  add_custom_command(
    OUTPUT "${list}.stamp"
    COMMAND Python3::Interpreter "${scoll_co_await_lint}" --target "${list}.list" --stamp "${list}.stamp"
    DEPENDS "${scoll_co_await_lint}" "${list}.list"
    DEPFILE "${list}.stamp.d"
    WORKING_DIRECTORY "${folder}"
    COMMENT "Searching ${target} for uses of co_await that compilers get wrong"
    VERBATIM)
  add_custom_target(${target}_co_await DEPENDS "${list}.stamp")
  add_dependencies(${target} ${target}_co_await)
endfunction()

# This runs once per configuration, however many folders look for scoll.
function(scoll_warn_about_compiler)
  get_property(warned GLOBAL PROPERTY scoll_warned_about_compiler)
  if(NOT SCOLL_WARN_ABOUT_GCC OR warned OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
     OR NOT CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
    return()
  endif()
  set_property(GLOBAL PROPERTY scoll_warned_about_compiler TRUE)
  message(
    WARNING
      "GCC ${CMAKE_CXX_COMPILER_VERSION} may miscompile a co_await that stands in a condition or beside ?: without a warning; memory is "
      "corrupted then. GCC 12 is known to; GCC 13 has not been tested. Call scoll_check_co_await(<target>) for your targets, which "
      "makes such a line an error, or use clang or a later GCC. To silence this: -DSCOLL_WARN_ABOUT_GCC=OFF")
endfunction()
