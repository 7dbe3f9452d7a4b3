# Functions that turn a folder into a target. A folder without files gives an empty interface library, so that the rest
# of the build can name every target at any time.

# Files below the source folder that match the patterns; ninja looks again before each build.
function(tandem_files result)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXCLUDE" "FILES")
  set(patterns)
  foreach(pattern IN LISTS arg_FILES)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/${pattern}")
  endforeach()
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
  if(arg_EXCLUDE)
    list(FILTER files EXCLUDE REGEX "${arg_EXCLUDE}")
  endif()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# tandem_part(name FILES patterns... [EXCLUDE regex] [LINK libraries...] [OPTIONS compile options...])
# Sets <name>_scope to PUBLIC or INTERFACE in the caller.
function(tandem_part name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXCLUDE" "FILES;LINK;OPTIONS")
  tandem_files(files FILES ${arg_FILES} EXCLUDE "${arg_EXCLUDE}")
  if(files)
    add_library(${name} STATIC ${files})
    set(scope PUBLIC)
    target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${name} ${scope} ${arg_LINK})
  set(${name}_scope ${scope} PARENT_SCOPE)
endfunction()

# Puts the text of a file into a C++ file made from a template, where it replaces @content@, and that into a library.
function(tandem_embed name file template)
  file(READ "${PROJECT_SOURCE_DIR}/${file}" content)
  cmake_path(GET template STEM stem)
  configure_file("${PROJECT_SOURCE_DIR}/${template}" "${PROJECT_BINARY_DIR}/${stem}.cc" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
  target_sources(${name} PRIVATE "${PROJECT_BINARY_DIR}/${stem}.cc")
endfunction()

# A library that is loaded at run time by its file name <name>.so; absent while it has no files.
function(tandem_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES;LINK")
  tandem_files(files FILES ${arg_FILES})
  if(files)
    add_library(${name} MODULE ${files})
    set_target_properties(${name} PROPERTIES PREFIX "")
    target_link_libraries(${name} PRIVATE ${arg_LINK})
    # Its copies of project functions must never be replaced by, or replace, those of the program.
    target_link_options(${name} PRIVATE -Wl,-Bsymbolic -Wl,--exclude-libs,ALL)
  endif()
endfunction()

# A program; absent while it has no files.
function(tandem_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXCLUDE" "FILES;LINK;DEFINITIONS")
  tandem_files(files FILES ${arg_FILES} EXCLUDE "${arg_EXCLUDE}")
  if(files)
    add_executable(${name} ${files})
    target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
    target_link_libraries(${name} PRIVATE ${arg_LINK})
    if(TARGET tandem_compiler)
      add_dependencies(${name} tandem_compiler)
    endif()
  endif()
endfunction()
