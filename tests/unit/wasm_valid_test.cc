// What the emitter writes, read by Binaryen's own validator and optimiser (npm package "binaryen").
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/wasm/emit.h"
#include "backends/wasm/node/module_text.h"
#include "core/base/text.h"
#include "core/kernel/builder.h"
#include "core/schedule/schedule.h"
#include "tests/reference/random_graph.h"
#include "tests/support/native_kernels.h"
#include "tests/support/random_kernel.h"

namespace tandem {
namespace {

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              concat("tandem-modules-", ::testing::UnitTest::GetInstance()->random_seed(), "-", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void add(const std::string& name, const Program& program, const char* isa, bool names = false) {
    EmitOptions options;
    options.names = names;
    const auto bytes = emit_module(program, *capabilities_named(isa), options);
    ASSERT_TRUE(bytes) << name << ": " << bytes.error().text();
    std::ofstream(path_ / (name + ".wasm"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
    const auto text = module_text(program, *capabilities_named(isa));
    ASSERT_TRUE(text) << name << ": " << text.error().text();
    std::ofstream(path_ / (name + ".wat")) << *text;
  }
  /// Output of the validator; its exit status in `status`.
  std::string validate(int& status) const {
    const std::string command =
        concat("\"", std::getenv("TANDEM_NODE") ? std::getenv("TANDEM_NODE") : "node",
               "\" \"" TANDEM_SOURCE_DIR "/tests/support/validate_modules.mjs\" \"", path_.string(), "\" 2>&1");
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string output;
    char buffer[4096];
    while (size_t count = std::fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, count);
    status = ::pclose(pipe);
    return output;
  }

 private:
  std::filesystem::path path_;
};

/// f32 and f64 multiply-adds, selections and exact roundings: what relaxed SIMD has instructions for.
Kernel relaxed_kernel(Scalar scalar, int lanes) {
  KernelBuilder builder;
  const DType dtype = scalar == Scalar::kF32 ? DType::kF32 : DType::kF64;
  const uint32_t in = builder.add_buffer(dtype, Access::kRead, 16);
  const uint32_t out = builder.add_buffer(dtype, Access::kWrite, 16);
  const uint32_t whole = builder.add_buffer(scalar == Scalar::kF32 ? DType::kI32 : DType::kI64, Access::kWrite, 16);
  const ValueId a = builder.load(in, 0, lanes);
  const ValueId sum = builder.fma(a, a, a);
  builder.store(out, 0, builder.select(builder.binary(Opcode::kLess, a, sum), sum, a));
  builder.store(whole, 0,
                builder.convert(Opcode::kToIntExact, a, scalar == Scalar::kF32 ? Scalar::kI32 : Scalar::kI64));
  return builder.finish("relaxed");
}

TEST(WasmValid, TheTextNamesKernelsAndParameters) {
  Program program = test::program_of(parse_kernel(R"(kernel "doubled" {
  variable n in 1 .. 100
  buffer b0 read f32[n]
  buffer b1 write f32[n]
  range i0 in 0 .. n
  v0 = load f32 b0[i0]
  v1 = add f32 v0 v0
  store f32 v1 b1[i0]
}
)"));
  const auto text = module_text(program, *capabilities_named("wasm-simd128"));
  ASSERT_TRUE(text) << text.error().text();
  for (const char* part :
       {"(import \"env\" \"memory\" (memory $memory 1))", "(export \"prepare\" (func $prepare))",
        "(export \"step\" (func $step))",
        "(func $doubled#0 (param $b0 i32) (param $b1 i32) (param $variable.n i32) (param $begin i32) (param $end i32)",
        "(func $step (param $slots i32) (param $values i32) (param $first i32) (param $last i32)", "(call $doubled#0",
        "(f32.add"})
    EXPECT_NE(text->find(part), std::string::npos) << part << "\n" << *text;
  program.slots[0].bytes = int64_t{1} << 40;
  EXPECT_EQ(module_text(program, *capabilities_named("wasm-simd128")).error().code, ErrorCode::kUnsupported);
}

TEST(WasmValid, ModulesPassBinaryensValidatorAndItsOptimiserFindsLittle) {
  Folder folder;
  for (uint32_t seed = 1; seed <= 40; seed++) {
    const Program program = test::program_of(test::random_kernel(seed));
    folder.add(concat("kernel", seed), program, seed % 2 ? "wasm-simd128" : "wasm-relaxed", seed % 3 == 0);
  }
  for (int lanes : {1, 2, 4, 8, 16}) {
    folder.add(concat("relaxed32-", lanes), test::program_of(relaxed_kernel(Scalar::kF32, lanes)), "wasm-relaxed");
    folder.add(concat("relaxed64-", lanes), test::program_of(relaxed_kernel(Scalar::kF64, lanes)), "wasm-relaxed");
  }
  int graphs = 0;
  std::string refused;
  for (uint32_t seed = 1; seed <= 6; seed++) {
    ScheduleOptions options;
    options.capabilities = *capabilities_named("wasm-relaxed");
    try {
      folder.add(concat("optimise", seed), make_schedule(reference::random_graph(seed).module, options).program,
                 "wasm-relaxed");
      graphs++;
    } catch (const std::exception& error) {  // A graph that the scheduler refuses: its own tests tell.
      refused += concat("seed ", seed, ": ", error.what(), "\n");
    }
  }
  EXPECT_GT(graphs, 3) << refused;
  int status = 0;
  const std::string output = folder.validate(status);
  EXPECT_EQ(status, 0) << output;
  EXPECT_NE(output.find("texts "), std::string::npos) << output;
  const size_t at = output.find("size ");
  ASSERT_NE(at, std::string::npos) << output;
  // Code that puts every value into a local shrinks by a fifth and more.
  EXPECT_GT(std::strtod(output.c_str() + at + 5, nullptr), 0.8) << output;
}

}  // namespace
}  // namespace tandem
