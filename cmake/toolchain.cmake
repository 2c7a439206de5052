# Compilers, output folders, and warnings for this project's own targets.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "scoll needs GCC 12 or newer (coroutines); this is ${CMAKE_CXX_COMPILER_VERSION}.")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
  message(FATAL_ERROR "scoll needs clang 16 or newer (std::source_location); this is ${CMAKE_CXX_COMPILER_VERSION}.")
endif()
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR "scoll is built on io_uring and epoll and needs Linux; this is ${CMAKE_SYSTEM_NAME}.")
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
  find_program(SCOLL_CCACHE ccache)
  mark_as_advanced(SCOLL_CCACHE)
  if(SCOLL_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # Without these settings it would cache nothing that uses precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${SCOLL_CCACHE}")
  endif()
endif()

# Linked privately, so that users never inherit this project's warnings.
set(scoll_warning_flags
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wsign-conversion
    -Wnon-virtual-dtor
    -Woverloaded-virtual)
add_library(scoll_warnings INTERFACE)
target_compile_options(scoll_warnings INTERFACE ${scoll_warning_flags})
# In joined sources, a local name of one source may be a global name of another. Presets that do not join sources warn.
target_compile_options(scoll_warnings INTERFACE $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>)

# Warnings are errors only with the compilers that the tests run with. A warning of another version is no reason to stop
# anybody from building.
string(REGEX MATCH "^[0-9]+" compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
if(SCOLL_WARNINGS_AS_ERRORS AND "${CMAKE_CXX_COMPILER_ID} ${compiler_major}" MATCHES "^(GNU 12|Clang 19)$")
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()
