# Everything that is not ours. All of it comes in as system headers: our warnings are for our code.

# The encoder part of Binaryen, built once per machine outside the checkout.
if(EMSCRIPTEN)
  set(binaryen_target web)
else()
  set(binaryen_target native)
endif()
execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tools/binaryen.sh" ${binaryen_target}
  OUTPUT_VARIABLE TANDEM_BINARYEN_DIR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/binaryen.sh")
add_library(binaryen_encoder STATIC IMPORTED GLOBAL)
set_target_properties(binaryen_encoder PROPERTIES
  IMPORTED_LOCATION "${TANDEM_BINARYEN_DIR}/libbinaryen_encoder.a"
  INTERFACE_INCLUDE_DIRECTORIES "${TANDEM_BINARYEN_DIR}/include"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${TANDEM_BINARYEN_DIR}/include"
  INTERFACE_COMPILE_DEFINITIONS NDEBUG)
if(NOT EMSCRIPTEN)
  # The printer of WebAssembly text; an archive of its own, so that the browser's engine never sees it.
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tools/binaryen.sh" text
    OUTPUT_VARIABLE TANDEM_BINARYEN_TEXT_DIR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  add_library(binaryen_text STATIC IMPORTED GLOBAL)
  set_target_properties(binaryen_text PROPERTIES
    IMPORTED_LOCATION "${TANDEM_BINARYEN_TEXT_DIR}/libbinaryen_text.a"
    INTERFACE_LINK_LIBRARIES binaryen_encoder)
  # Each needs the other: the encoder's files can print what they hold.
  set_property(TARGET binaryen_encoder PROPERTY INTERFACE_LINK_LIBRARIES binaryen_text)
  # The 13 files refer to parts of Binaryen that no live code reaches; without the dead sections the link is complete.
  set_property(TARGET binaryen_encoder PROPERTY INTERFACE_LINK_OPTIONS -Wl,--gc-sections)
endif()

# Header-only libraries of /usr/include: tl::expected, nlohmann-json, protozero. Emscripten does not look there, and the
# whole folder would bring in glibc, so that each one is linked into a folder of the build by itself.
if(EMSCRIPTEN)
  set(header_only "${PROJECT_BINARY_DIR}/header_only")
  file(MAKE_DIRECTORY "${header_only}")
  foreach(name tl nlohmann protozero)
    if(EXISTS "/usr/include/${name}")
      file(CREATE_LINK "/usr/include/${name}" "${header_only}/${name}" SYMBOLIC)
    endif()
  endforeach()
  target_include_directories(tandem_core SYSTEM ${tandem_core_scope} "${header_only}")
  return()
endif()

# LLVM in two pieces: ORC is linked, the compiler sits in a plugin that is loaded at the first cache miss.
find_package(LLVM 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22 NO_DEFAULT_PATH)
find_package(Clang REQUIRED CONFIG PATHS /usr/lib/llvm-22 NO_DEFAULT_PATH)
add_library(tandem_llvm INTERFACE)
target_include_directories(tandem_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(tandem_llvm INTERFACE LLVM ${CMAKE_DL_LIBS})
add_library(tandem_libclang INTERFACE)
target_include_directories(tandem_libclang SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
target_link_libraries(tandem_libclang INTERFACE clang-cpp LLVM)

# Libraries of native/ alone.
find_package(Threads REQUIRED)
add_library(tandem_native_libraries INTERFACE)
foreach(library sndfile soxr pthreadpool)
  find_library(TANDEM_LIBRARY_${library} ${library} REQUIRED)
  target_link_libraries(tandem_native_libraries INTERFACE ${TANDEM_LIBRARY_${library}})
endforeach()
target_link_libraries(tandem_native_libraries INTERFACE Threads::Threads)
find_package(fmt REQUIRED)
target_link_libraries(tandem_native_libraries INTERFACE fmt::fmt-header-only)
