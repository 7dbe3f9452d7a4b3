# The JavaScript package: web/*.cc linked by Emscripten to tandem.js and tandem.wasm, beside the hand-written files of web/.
#   web/*.cc              the entry; functions marked EMSCRIPTEN_KEEPALIVE are what JavaScript can call
#   backends/wasm/engine/*.js   Emscripten JavaScript libraries (glue between C++ and the page)
#   web/*.{js,d.ts,json,md}     copied to the package as they are
set(package "${PROJECT_BINARY_DIR}/tandem")
# Nothing of the package interprets kernels.
set_target_properties(tandem_interpreter PROPERTIES EXCLUDE_FROM_ALL ON)

tandem_files(entry FILES web/*.cc)
if(entry)
  add_executable(tandem_web ${entry})
  target_link_libraries(tandem_web PRIVATE tandem_wasm tandem_core)
  set_target_properties(tandem_web PROPERTIES OUTPUT_NAME tandem SUFFIX .js RUNTIME_OUTPUT_DIRECTORY "${package}"
    # Debian's Emscripten finds its parser "acorn" only there.
    CXX_LINKER_LAUNCHER "${CMAKE_COMMAND};-E;env;NODE_PATH=/usr/share/nodejs")
  target_link_options(tandem_web PRIVATE
    -Oz -fwasm-exceptions
    -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sALLOW_TABLE_GROWTH=1 -sTOTAL_STACK=1MB
    # No file system, no eval, no start-up code that needs a page: our own loader passes the bytes as wasmBinary, and
    # thereby never meets Emscripten's fetch() of a file path in Node.
    -sMODULARIZE=1 -sEXPORT_ES6=1 -sEXPORT_NAME=createModule -sENVIRONMENT=web,worker -sUSE_ES6_IMPORT_META=0
    -sIMPORTED_MEMORY=1 -sFILESYSTEM=0 -sDYNAMIC_EXECUTION=0 -sINVOKE_RUN=0 -sASSERTIONS=0 -sMINIMAL_RUNTIME=0
    "-sEXPORTED_FUNCTIONS=_malloc,_free"
    --no-entry)
  tandem_files(libraries FILES backends/wasm/engine/*.js)
  foreach(library IN LISTS libraries)
    target_link_options(tandem_web PRIVATE "SHELL:--js-library \"${library}\"")
    set_property(TARGET tandem_web APPEND PROPERTY LINK_DEPENDS "${library}")
  endforeach()
endif()

tandem_files(scripts FILES web/*.js web/*.d.ts web/*.json web/*.md EXCLUDE "/node_modules/")
foreach(script IN LISTS scripts)
  cmake_path(RELATIVE_PATH script BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/web" OUTPUT_VARIABLE relative)
  add_custom_command(OUTPUT "${package}/${relative}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${script}" "${package}/${relative}"
    DEPENDS "${script}" VERBATIM)
  list(APPEND package_files "${package}/${relative}")
endforeach()
foreach(text LICENSE THIRD_PARTY.md)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${text}")
    add_custom_command(OUTPUT "${package}/${text}"
      COMMAND "${CMAKE_COMMAND}" -E copy "${PROJECT_SOURCE_DIR}/${text}" "${package}/${text}"
      DEPENDS "${PROJECT_SOURCE_DIR}/${text}" VERBATIM)
    list(APPEND package_files "${package}/${text}")
  endif()
endforeach()
add_custom_target(tandem_package ALL DEPENDS ${package_files})
