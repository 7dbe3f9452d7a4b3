// What happens when the compiler, the linker or the machine refuses: a typed error with their words, never an exit.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "backends/clang/compiler_loader.h"
#include "backends/clang/orc.h"
#include "backends/clang/print_c.h"
#include "core/base/text.h"
#include "core/kernel/builder.h"
#include "core/kernel/math.h"
#include "tests/support/native_kernels.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define TANDEM_LEAKS_ARE_EXPECTED __lsan::ScopedDisabler leaks_are_expected
#endif
#endif
#ifndef TANDEM_LEAKS_ARE_EXPECTED
#define TANDEM_LEAKS_ARE_EXPECTED static_cast<void>(0)
#endif

namespace tandem {
namespace {

Result<std::vector<uint8_t>> compile(const std::string& source,
                                     const CompileOptions& options = compile_options_for(host_capabilities(), false)) {
  return compile_c(source, "bad.c", options, CompilerOutput::kObject,
                   ClangBackendOptions::from_environment().compiler_plugin);
}

void expect_refused(const Result<std::vector<uint8_t>>& result, const std::string& words) {
  ASSERT_FALSE(result) << words;
  EXPECT_EQ(result.error().code, ErrorCode::kDevice);
  EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
}

Kernel doubling() {
  KernelBuilder builder;
  const uint32_t buffer = builder.add_buffer(DType::kF32, Access::kReadWrite, 64);
  const Index i = builder.open_range(4) * 16;
  const ValueId x = builder.load(buffer, i, 16);
  builder.store(buffer, i, builder.binary(Opcode::kAdd, x, x));
  return builder.finish("double");
}

TEST(ClangErrors, CompilerMessagesComeBackAsErrors) {
  expect_refused(compile("int f(void) { return 1 +; }"), "bad.c:1:25: error: expected expression");
  expect_refused(compile("#include <stdio.h>\n"), "'stdio.h' file not found");
  expect_refused(compile("#include \"/etc/passwd\"\n"), "file not found");
  expect_refused(compile("void f(void) { g(); }"), "undeclared function 'g'");
  // Found by the code generator only: LLVM's own handler would end the process here.
  expect_refused(compile("void f(void) { __asm__(\"no such instruction\"); }"), "<inline asm>");
  CompileOptions options = compile_options_for(host_capabilities(), false);
  options.arguments.emplace_back("-no-such-option");
  expect_refused(compile("", options), "-no-such-option");
  options = compile_options_for(host_capabilities(), false);
  options.passes = "no-such-pass";
  expect_refused(compile("", options), "no-such-pass");
  EXPECT_TRUE(compile("void f(void) {}"));
}

TEST(ClangErrors, FatalErrorsOfTheCompilerComeBackToo) {
  // instcombine checks itself by ending the process when one round isn't enough, as for this power function whose
  // blocks were not merged before.
  KernelBuilder builder;
  const uint32_t buffer = builder.add_buffer(DType::kF32, Access::kReadWrite, 1);
  const ValueId x = builder.load(buffer, 0, 1);
  const MathContext context = math_context(builder, host_capabilities(), Numerics::kReproducible);
  builder.store(buffer, 0, power(context, builder.unary(Opcode::kAbs, x), x));
  const Kernel kernel = builder.finish("power");
  CompileOptions options = compile_options_for(host_capabilities(), false);
  const std::string merging = "sroa<modify-cfg>,simplifycfg,", check_off = "<no-verify-fixpoint>";
  ASSERT_NE(options.passes.find(merging), std::string::npos);
  options.passes.replace(options.passes.find(merging), merging.size(), "sroa<modify-cfg>,");
  for (size_t at; (at = options.passes.find(check_off)) != std::string::npos;)
    options.passes.erase(at, check_off.size());
  const std::string source = print_c({&kernel}, host_capabilities()).source;
  {
    // What LLVM's frames held when the error was thrown through them is lost.
    TANDEM_LEAKS_ARE_EXPECTED;
    for (int i = 0; i < 3; i++) expect_refused(compile(source, options), "fixpoint");
  }
  EXPECT_TRUE(compile(source));
}

TEST(ClangErrors, MissingPluginNamesThePlaces) {
  ClangBackendOptions options;
  options.compiler_plugin = "/nowhere/compiler.so";
  CompileStatistics statistics;
  auto result = make_clang_backend(options)->compile(test::program_of(doubling()), host_capabilities(), Numerics::kFast,
                                                     statistics);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kDevice);
  EXPECT_NE(result.error().message.find("the compiler plugin /nowhere/compiler.so cannot be read: No such file or "
                                        "directory; TANDEM_COMPILER_PLUGIN must be the path of tandem_compiler.so"),
            std::string::npos)
      << result.error().message;
  expect_refused(
      compile_c("", "a.c", compile_options_for(host_capabilities(), false), CompilerOutput::kObject, "/etc/hostname"),
      "cannot be loaded");
}

TEST(ClangErrors, InstructionSetsThatTheHostLacksAreRefused) {
  CompileStatistics statistics;
  for (const char* isa : {"wasm-simd128", "interpreter"}) {
    auto result = test::uncached_backend()->compile(test::program_of(doubling()), *capabilities_named(isa),
                                                    Numerics::kFast, statistics);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kDevice);
    EXPECT_NE(result.error().message.find(isa), std::string::npos) << result.error().message;
  }
  KernelBuilder builder;
  const uint32_t buffer = builder.add_buffer(DType::kF32, Access::kReadWrite, 4);
  const ValueId x = builder.load(buffer, 0, 4);
  builder.store(buffer, 0, builder.fma(x, x, x));
  auto result = test::uncached_backend()->compile(test::program_of(builder.finish("fused")), *capabilities_named("sse"),
                                                  Numerics::kFast, statistics);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("fma"), std::string::npos) << result.error().message;
}

TEST(ClangErrors, LinkerRefusesDamagedObjectsAndMissingSymbols) {
  auto linker = Linker::create({});
  ASSERT_TRUE(linker) << linker.error().text();
  auto object = compile("void outside(void); void f(void) { outside(); }");
  ASSERT_TRUE(object);
  auto undefined = undefined_symbols(*object);
  ASSERT_TRUE(undefined);
  EXPECT_EQ(*undefined, std::vector<std::string>{"outside"});
  auto loaded = (*linker)->load({*object}, {"f"});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("outside"), std::string::npos) << loaded.error().message;
  loaded = (*linker)->load({*compile("void f(void) {}")}, {"g"});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find('g'), std::string::npos) << loaded.error().message;
  EXPECT_FALSE((*linker)->load({std::vector<uint8_t>(1000, 3)}, {"f"}));
  object->resize(object->size() / 2);
  EXPECT_FALSE((*linker)->load({*object}, {"f"}));
  EXPECT_TRUE((*linker)->load({*compile("void f(void) {}")}, {"f"}));
}

TEST(ClangErrors, ObjectsStandAlone) {
  // A loop that fills memory and one that copies it: no call of memset or memcpy may come out.
  KernelBuilder builder;
  const uint32_t from = builder.add_buffer(DType::kF32, Access::kRead, 4096);
  const uint32_t to = builder.add_buffer(DType::kF32, Access::kWrite, 8192);
  const Index i = builder.open_range(4096);
  builder.store(to, i, builder.constant(Type{Scalar::kF32, 1}, 0));
  builder.store(to, i + 4096, builder.load(from, i, 1));
  auto backend = test::uncached_backend();
  const Program program = test::program_of(builder.finish("fill and copy"));
  for (const Capabilities& capabilities : test::native_instruction_sets()) {
    CompileStatistics statistics;
    auto executable = backend->compile(program, capabilities, Numerics::kFast, statistics);
    ASSERT_TRUE(executable) << executable.error().text();
    auto names = undefined_symbols((*executable)->binary());
    ASSERT_TRUE(names);
    EXPECT_TRUE(names->empty()) << join(*names);
  }
  auto assembly = backend->assembly(test::program_of(doubling()), *capabilities_named("sse"));
  ASSERT_TRUE(assembly) << assembly.error().text();
  EXPECT_NE(assembly->find("addps"), std::string::npos);
}

int executable_mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    EXPECT_EQ(line.find(" rwx"), std::string::npos) << line;
    if (line.find(" r-xp") != std::string::npos) count++;
  }
  return count;
}

int64_t resident_pages() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident;
}

TEST(ClangErrors, LoadingAndUnloadingGivesEverythingBack) {
  auto linker = Linker::create({});
  ASSERT_TRUE(linker);
  const Kernel kernel = doubling();
  const CUnit unit = print_c({&kernel}, host_capabilities());
  auto object = compile(unit.source);
  ASSERT_TRUE(object) << object.error().text();
  const auto cycle = [&] {
    auto code = (*linker)->load({*object}, unit.symbols);
    ASSERT_TRUE(code) << code.error().text();
    alignas(64) float data[64] = {1, 2, 3};
    void* buffers[] = {data};
    (*code)->functions[0](buffers, nullptr, 0, 4);
    ASSERT_EQ(data[2], 6);
  };
  for (int i = 0; i < 300; i++) cycle();
  const int mappings = executable_mappings();
  const int64_t before = resident_pages();
  for (int i = 0; i < 2000; i++) cycle();
  EXPECT_EQ(executable_mappings(), mappings);
#if !defined(__has_feature) || (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
  // Sanitizers keep freed memory for a while.
  EXPECT_LT(resident_pages() - before, 256);
#else
  (void)before;
#endif
}

TEST(ClangErrors, CompilingAgainAndAgainKeepsMemoryFlat) {
  const Kernel kernel = doubling();
  const CUnit unit = print_c({&kernel}, host_capabilities());
  for (int i = 0; i < 20; i++) ASSERT_TRUE(compile(unit.source));
  const int64_t before = resident_pages();
  for (int i = 0; i < 80; i++) ASSERT_TRUE(compile(unit.source));
#if !defined(__has_feature) || (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
  // A compiler that keeps its syntax trees would have grown by more than 60 MB.
  EXPECT_LT((resident_pages() - before) * 4096, 12 << 20);
#else
  (void)before;
#endif
}

/// Pages of mapped files that are in memory for this process.
int64_t resident_file_pages() {
  int64_t size = 0, resident = 0, from_files = 0;
  std::ifstream("/proc/self/statm") >> size >> resident >> from_files;
  return from_files;
}

TEST(ClangErrors, ACompilerAtRestGivesItsCodeBackAndCompilesAgain) {
  const std::string source = "int f(int x) { return x * x + 7; }";
  const auto first = compile(source);
  ASSERT_TRUE(first);
  const int64_t before = resident_file_pages();
  rest_compiler();
  // libclang-cpp and libLLVM hold 70 MB while they compile.
  EXPECT_LT((resident_file_pages() - before) * 4096, -(20 << 20));
  const auto again = compile(source);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *first);
}

TEST(ClangErrors, BackendWorksFromSeveralThreads) {
  auto backend = test::uncached_backend();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int round = 0; round < 3; round++) {
        CompileStatistics statistics;
        auto executable =
            backend->compile(test::program_of(doubling()), host_capabilities(), Numerics::kFast, statistics);
        if (!executable) continue;
        alignas(64) float data[64] = {1, 2, 3};
        void* slots[] = {data};
        (*executable)->run(Phase::kStep, slots, nullptr, 0, 1);
        if (data[2] == 6) good++;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 12);
}

}  // namespace
}  // namespace tandem
