# Flags that hold for every file of the project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(release_flags "-O2 -g0 -DNDEBUG")
if(EMSCRIPTEN)
  # Small code starts sooner in a browser. em++ adds -fno-inline-functions at -Os by itself; that must not stand.
  set(release_flags "-Os -finline-functions -g0 -DNDEBUG")
endif()
set(CMAKE_CXX_FLAGS_RELEASE "${release_flags}")
set(CMAKE_C_FLAGS_RELEASE "${release_flags}")

# Contraction is off: whether an FMA is used is the kernel IR's decision, never the compiler's.
add_compile_options(-ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Werror)
add_compile_options(-ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++-12 reports these for correct uses of std::string and std::optional (GCC bugs 105651 and 80635).
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
endif()
if(EMSCRIPTEN)
  add_compile_options(-fwasm-exceptions -Wno-dollar-in-identifier-extension -Wno-gnu-zero-variadic-macro-arguments)
endif()

if(TANDEM_SANITIZE STREQUAL "address")
  # Calls into generated code carry no type information, hence no function and vptr checks.
  set(sanitizer_flags -fsanitize=address,undefined -fno-sanitize=function,vptr -fno-sanitize-recover=all)
elseif(TANDEM_SANITIZE STREQUAL "thread")
  set(sanitizer_flags -fsanitize=thread)
elseif(NOT TANDEM_SANITIZE STREQUAL "")
  message(FATAL_ERROR "TANDEM_SANITIZE is \"${TANDEM_SANITIZE}\"; it can be empty, address or thread")
endif()
if(sanitizer_flags)
  add_compile_options(${sanitizer_flags} -O1 -gline-tables-only -fno-omit-frame-pointer)
  add_link_options(${sanitizer_flags})
endif()

# Programs, tests and the compiler plugin lie side by side in the build folder, so that one run path finds the plugin.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_BUILD_RPATH "${PROJECT_BINARY_DIR}")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/tandem")

# Paths relative to the checkout and no hash of the folder: all checkouts of one machine share the compiler cache.
find_program(TANDEM_CCACHE ccache)
if(TANDEM_CCACHE)
  set(ccache_launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${TANDEM_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache_launcher})
endif()
