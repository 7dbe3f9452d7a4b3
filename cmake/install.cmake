# cmake --install: the tool, the compiler plugin, static libraries, headers and the package for find_package(tandem).
# Users include <tandem/...> only; the headers of core/ and backends/ that those need go to include/tandem/internal.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tandem")
set(private_dir "${CMAKE_INSTALL_LIBDIR}/tandem")

if(TARGET tandem)
  install(TARGETS tandem RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET tandem_compiler)
  install(TARGETS tandem_compiler LIBRARY DESTINATION "${private_dir}")
endif()

# One target for users: tandem::tandem.
add_library(tandem_engine INTERFACE)
set_target_properties(tandem_engine PROPERTIES EXPORT_NAME tandem)
target_link_libraries(tandem_engine INTERFACE tandem_native)
target_compile_features(tandem_engine INTERFACE cxx_std_20)
# Where a user's program finds the compiler plugin at its first cache miss.
target_link_options(tandem_engine INTERFACE "$<INSTALL_INTERFACE:-Wl,-rpath,$<INSTALL_PREFIX>/${private_dir}>")
install(TARGETS tandem_engine tandem_native tandem_clang tandem_wasm tandem_interpreter tandem_core
  tandem_llvm tandem_native_libraries
  EXPORT tandem ARCHIVE DESTINATION "${private_dir}")
install(EXPORT tandem NAMESPACE tandem:: DESTINATION "${package_dir}" FILE tandemTargets.cmake)
install(FILES "${TANDEM_BINARYEN_DIR}/libbinaryen_encoder.a" "${TANDEM_BINARYEN_TEXT_DIR}/libbinaryen_text.a"
  DESTINATION "${private_dir}")

foreach(folder core backends native)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tandem/internal"
    OPTIONAL FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" OPTIONAL
  FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD_PARTY.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tandemConfig.cmake.in" "${PROJECT_BINARY_DIR}/tandemConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" PATH_VARS private_dir)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tandemConfig.cmake" "${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake"
  DESTINATION "${package_dir}")
