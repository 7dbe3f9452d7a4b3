# Test programs by folder; each is absent while its folder has no files.
#   tests/reference/*.cc          the float64 reference (library tandem_reference)
#   tests/{unit,cross,models}/*_test.cc   one program per folder; tests whose suite ends in "Slow" get the label slow
#   tests/standalone/*_test.cc    one program per file, for tests that replace operator new or need a fresh process
#   tests/threads/*_test.cc       one program that links the engine alone: a short build for the thread sanitizer
#   tests/compile_failure/*.cc    programs that must not compile; each states the message: // expect: TEXT
#   tests/bench/*_bench.cc        one benchmark per file
#   tests/support/*.cc            helpers of all of them
#   tests/expectations/*.cc       the program that writes what the JavaScript package is compared with
enable_testing()
find_package(GTest)
if(NOT GTest_FOUND)
  # Building the tool alone needs no test library; ctest and the test presets then fail for lack of tests.
  message(STATUS "GoogleTest is missing, so that there are no test targets; tools/setup.sh test installs it")
  return()
endif()

set(test_definitions "TANDEM_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"" "TANDEM_BINARY_DIR=\"${PROJECT_BINARY_DIR}\"")
tandem_part(tandem_reference FILES tests/reference/*.cc LINK tandem_core)
tandem_part(tandem_test_support FILES tests/support/*.cc LINK tandem_reference tandem_native GTest::gtest)
target_compile_definitions(tandem_test_support ${tandem_test_support_scope} ${test_definitions})

# Two shards per program, so that ctest keeps two cores busy; every gtest run writes its counts to an XML file.
function(tandem_register_tests program label)
  foreach(shard 0 1)
    add_test(NAME ${label}.${shard} COMMAND ${program} --gtest_brief=1 --gtest_filter=-*Slow.*
      --gtest_output=xml:${PROJECT_BINARY_DIR}/results/${label}.${shard}.xml)
    set_tests_properties(${label}.${shard} PROPERTIES LABELS ${label} TIMEOUT 900
      ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${shard}")
  endforeach()
  add_test(NAME ${label}.slow COMMAND ${program} --gtest_brief=1 --gtest_filter=*Slow.*
    --gtest_output=xml:${PROJECT_BINARY_DIR}/results/${label}.slow.xml)
  set_tests_properties(${label}.slow PROPERTIES LABELS "${label};slow" TIMEOUT 1800)
endfunction()

# The proofs of the index rules need Z3; without it the test program is built without them.
find_library(TANDEM_LIBRARY_z3 z3)
find_path(TANDEM_INCLUDE_z3 z3++.h)
set(without_proofs)
if(NOT TANDEM_LIBRARY_z3 OR NOT TANDEM_INCLUDE_z3)
  message(STATUS "Z3 is missing, so that the index rules are tested but not proved; tools/setup.sh native installs it")
  set(without_proofs "/index_proofs_test\\.cc$")
endif()

foreach(label unit cross models)
  tandem_program(tandem_${label} FILES tests/${label}/*_test.cc EXCLUDE "${without_proofs}"
    LINK tandem_test_support GTest::gtest_main GTest::gmock)
  if(TARGET tandem_${label})
    tandem_register_tests(tandem_${label} ${label})
  endif()
endforeach()
if(TARGET tandem_unit AND NOT without_proofs)
  target_include_directories(tandem_unit SYSTEM PRIVATE "${TANDEM_INCLUDE_z3}")
  target_link_libraries(tandem_unit PRIVATE "${TANDEM_LIBRARY_z3}")
endif()

# The compiler must not be loaded when these tests begin: one process, no shards.
tandem_program(tandem_threads FILES tests/threads/*_test.cc LINK tandem_clang tandem_interpreter GTest::gtest_main)
add_test(NAME threads COMMAND tandem_threads --gtest_brief=1 --gtest_output=xml:${PROJECT_BINARY_DIR}/results/threads.xml)
set_tests_properties(threads PROPERTIES LABELS "unit;threads;sanitize" TIMEOUT 900)

# The sanitizers run the units and a part of the random graphs: everything would take an hour.
set(sanitized tandem_threads)
if(TARGET tandem_unit)
  list(APPEND sanitized tandem_unit)
  foreach(shard 0 1)
    set_tests_properties(unit.${shard} PROPERTIES LABELS "unit;sanitize")
  endforeach()
endif()
if(TANDEM_SANITIZE AND TARGET tandem_cross)
  list(APPEND sanitized tandem_cross)
  add_test(NAME cross.random_graphs COMMAND tandem_cross --gtest_brief=1 --gtest_filter=*RandomGraph*
    --gtest_output=xml:${PROJECT_BINARY_DIR}/results/cross.random_graphs.xml)
  set_tests_properties(cross.random_graphs PROPERTIES LABELS sanitize TIMEOUT 1800 ENVIRONMENT TANDEM_RANDOM_GRAPHS=200)
endif()
add_custom_target(tandem_sanitized DEPENDS ${sanitized})
if(TANDEM_SANITIZE STREQUAL "thread")
  # The longest history: a race is reported only while it still knows where the earlier access came from.
  set_property(TEST threads unit.0 unit.1 cross.random_graphs APPEND PROPERTY ENVIRONMENT
    "TSAN_OPTIONS=history_size=7:suppressions=${PROJECT_SOURCE_DIR}/tests/threads/suppressions.txt")
endif()

# What the tests of the JavaScript package compare with; they run it themselves.
tandem_program(tandem_expectations FILES tests/expectations/*.cc LINK tandem_test_support)

tandem_files(standalone FILES tests/standalone/*_test.cc)
foreach(file IN LISTS standalone)
  cmake_path(GET file STEM stem)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
  tandem_program(${stem} FILES ${relative} LINK tandem_test_support GTest::gtest_main)
  add_test(NAME standalone.${stem} COMMAND ${stem} --gtest_brief=1
    --gtest_output=xml:${PROJECT_BINARY_DIR}/results/standalone.${stem}.xml)
  set_tests_properties(standalone.${stem} PROPERTIES LABELS standalone TIMEOUT 900)
endforeach()

foreach(program tool_test tool_input_test tool_messages_test tool_transcribe_test tool_weights_test)
  if(TARGET ${program})
    add_dependencies(${program} tandem)
  endif()
endforeach()

tandem_files(compile_failures FILES tests/compile_failure/*.cc)
foreach(file IN LISTS compile_failures)
  cmake_path(GET file STEM stem)
  add_test(NAME compile_failure.${stem} COMMAND "${PROJECT_SOURCE_DIR}/tests/checks/compile_failure.sh"
    "${CMAKE_CXX_COMPILER}" "${file}")
  set_tests_properties(compile_failure.${stem} PROPERTIES LABELS compile)
endforeach()

# Not part of the test run. What is written by hand gets every help that the compiler can give.
find_library(TANDEM_LIBRARY_openblas openblas PATH_SUFFIXES openblas-pthread)
find_library(TANDEM_LIBRARY_dnnl dnnl)
set(without_peers)
if(NOT TANDEM_LIBRARY_openblas OR NOT TANDEM_LIBRARY_dnnl)
  message(STATUS "OpenBLAS or oneDNN is missing, so that there is no gemm_bench; tools/setup.sh test installs them")
  set(without_peers "/gemm_[^/]*\\.cc$")
endif()
tandem_files(benchmarks FILES tests/bench/*_bench.cc EXCLUDE "${without_peers}")
if(benchmarks)
  tandem_part(tandem_bench_support FILES tests/bench/*.cc EXCLUDE "_bench\\.cc$|/gemm_peers\\.cc$"
    LINK tandem_test_support)
  set_source_files_properties(tests/bench/yardstick_silero.cc tests/bench/yardstick_loops.cc
    tests/bench/yardstick_peak.cc PROPERTIES
    COMPILE_OPTIONS "-O3;-march=native;-mprefer-vector-width=512;-ffp-contract=fast;-Wno-pass-failed")
  foreach(file IN LISTS benchmarks)
    cmake_path(GET file STEM stem)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
    tandem_program(${stem} FILES ${relative} LINK tandem_bench_support)
  endforeach()
  if(TARGET gemm_bench)
    target_sources(gemm_bench PRIVATE tests/bench/gemm_peers.cc)
    target_link_libraries(gemm_bench PRIVATE "${TANDEM_LIBRARY_openblas}" "${TANDEM_LIBRARY_dnnl}")
  endif()
endif()
