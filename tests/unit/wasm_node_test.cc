// The Node process behind the native tool's WebAssembly backend: what it does when things go wrong.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "backends/wasm/emit.h"
#include "backends/wasm/node/node_backend.h"
#include "backends/wasm/node/runner_process.h"
#include "core/base/text.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

#define EXPECT_CONTAINS(whole, part) EXPECT_NE((whole).find(part), std::string::npos) << (whole)

const char* const kDouble = R"(kernel "double" {
  variable t in 1 .. 512
  buffer b0 read f32[t]
  buffer b1 write f32[t]
  range i0 in 0 .. t
  v0 = load f32 b0[i0]
  v1 = add f32 v0 v0
  store f32 v1 b1[i0]
}
)";

/// A script in a folder of its own that the options name as Node.
class FakeNode {
 public:
  explicit FakeNode(const std::string& script) {
    std::ofstream(path_) << script;
    ::chmod(path_.c_str(), 0700);
  }
  NodeBackendOptions options() const {
    NodeBackendOptions options;
    options.node = path_;
    options.timeout_seconds = 1;
    return options;
  }

 private:
  const testing::TemporaryFolder folder_{"node"};
  const std::string path_ = folder_.path("node");
};

std::string error_of(const NodeBackendOptions& options) {
  auto backend = make_node_backend(options);
  if (backend) return "it works";
  EXPECT_EQ(backend.error().code, ErrorCode::kDevice);
  return backend.error().message;
}

std::unique_ptr<Backend> node() {
  auto backend = make_node_backend(NodeBackendOptions::from_environment());
  if (!backend) throw std::runtime_error(backend.error().text());
  return std::move(*backend);
}

TEST(WasmNode, NamesWhatItFoundInPlaceOfNode) {
  NodeBackendOptions missing;
  missing.node = "/nowhere/node";
  EXPECT_CONTAINS(error_of(missing), "/nowhere/node");
  EXPECT_CONTAINS(error_of(missing), "TANDEM_NODE");
  EXPECT_CONTAINS(error_of(FakeNode("#!/bin/sh\necho no such luck >&2\nexit 3\n").options()), "no such luck");
  EXPECT_CONTAINS(error_of(FakeNode("#!/bin/sh\nexec sleep 60\n").options()), "silent");
  const FakeNode sleeper("#!/bin/sh\nexec sleep 60\n");
  NodeBackendOptions slow = sleeper.options();
  slow.timeout_seconds = 300;
  slow.start_seconds = 0.2;
  EXPECT_CONTAINS(error_of(slow), "silent for 0.2 seconds after its start");
  EXPECT_LT(error_of(FakeNode("#!/bin/sh\nwhile :; do echo garbage; done\n").options()).size(), 800u);
  // The answer to "hello" of a Node.js 18: status 0, 9 bytes.
  const FakeNode old(R"(#!/bin/sh
printf '\000\000\000\000\011\000\000\0000 18.20.1'
exec sleep 60
)");
  EXPECT_CONTAINS(error_of(old.options()), "18.20.1");
}

TEST(WasmNode, RunsProgramsWithVariablesAndManyAtOnce) {
  auto backend = node();
  EXPECT_EQ(backend->name(), "wasm");
  EXPECT_TRUE(backend->capabilities().wasm);
  const Kernel kernel = parse_kernel(kDouble);
  for (int64_t t : {1, 7, 512}) {
    std::vector<float> in(512), out(512, -1.0f);
    for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<float>(i);
    ASSERT_EQ(run_kernel_on(*backend, kernel, {input_of(in), output_of(out)}, {t}), "");
    for (int64_t i = 0; i < 512; i++)
      ASSERT_EQ(out[static_cast<size_t>(i)], i < t ? 2.0f * static_cast<float>(i) : 0.0f) << i;
  }
}

TEST(WasmNode, ConstantsPackedSlotsStatesAndRangesOfCalls) {
  // prepare: packed = constant + constant. step: state = state + packed (call 0), output = state + input (call 1).
  auto backend = node();
  Kernel add = parse_kernel(R"(kernel "add" {
  buffer b0 read f32[8]
  buffer b1 read f32[8]
  buffer b2 write f32[8]
  v0 = load f32x8 b0[0]
  v1 = load f32x8 b1[0]
  v2 = add f32x8 v0 v1
  store f32x8 v2 b2[0]
}
)");
  Program program;
  program.kernels = {add};
  for (SlotRole role : {SlotRole::kConstant, SlotRole::kPacked, SlotRole::kState, SlotRole::kState, SlotRole::kInput,
                        SlotRole::kOutput})
    program.slots.push_back(Slot{role, DType::kF32, 32, "slot"});
  KernelCall call;
  call.slots = {0, 0, 1};
  program.prepare_calls = {call};
  call.slots = {2, 1, 3};
  program.step_calls.push_back(call);
  call.slots = {3, 4, 5};
  program.step_calls.push_back(call);
  CompileStatistics statistics;
  auto executable = backend->compile(program, *capabilities_named("wasm-simd128"), Numerics::kFast, statistics);
  ASSERT_TRUE(executable) << executable.error().text();
  alignas(64) float memory[6][8] = {};
  for (int i = 0; i < 8; i++) memory[0][i] = static_cast<float>(i);
  void* slots[6];
  for (int i = 0; i < 6; i++) slots[i] = memory[i];
  ASSERT_TRUE((*executable)->run(Phase::kPrepare, slots, nullptr, 0, 1));
  for (int step = 1; step <= 3; step++) {
    for (float& element : memory[4]) element = 100.0f * static_cast<float>(step);
    ASSERT_TRUE((*executable)->run(Phase::kStep, slots, nullptr, 0, 1));
    ASSERT_TRUE((*executable)->run(Phase::kStep, slots, nullptr, 1, 2));
    for (int i = 0; i < 8; i++) EXPECT_EQ(memory[5][i], 100.0f * step + 2.0f * i * step);
    // A plan exchanges the places of the old and the new state.
    std::swap(slots[2], slots[3]);
  }
}

TEST(WasmNode, RelaxedSimdThatIsMissingIsADeviceError) {
  auto backend = node();
  CompileStatistics statistics;
  Program program;
  auto executable = backend->compile(program, *capabilities_named("wasm-relaxed"), Numerics::kFast, statistics);
  EXPECT_EQ(executable.has_value(), backend->capabilities().fma);
  if (executable) return;
  EXPECT_EQ(executable.error().code, ErrorCode::kDevice);
  EXPECT_CONTAINS(executable.error().message, "relaxed SIMD");
}

TEST(WasmNode, ADeadProcessFailsTheRunAndNothingElse) {
  auto runner = RunnerProcess::start(NodeBackendOptions::from_environment());
  ASSERT_TRUE(runner);
  ::kill((*runner)->process(), SIGKILL);
  uint32_t bytes = 0;
  std::vector<char> much(1 << 20);
  const bool is_answered =
      (*runner)->send(RunnerProcess::kLoad, {{much.data(), much.size()}}) && (*runner)->receive(bytes);
  EXPECT_FALSE(is_answered);
  EXPECT_TRUE((*runner)->is_broken());
  EXPECT_CONTAINS((*runner)->failure(), "has ended");
}

TEST(WasmNode, BytesDoNotDependOnTheRun) {
  Program program;
  program.kernels = {parse_kernel(kDouble)};
  program.variables = program.kernels[0].variables;
  program.slots.resize(2);
  KernelCall call;
  call.slots = {0, 1};
  call.variables = program.variables;
  call.range = program.kernels[0].range;
  program.step_calls = {call};
  const Capabilities capabilities = *capabilities_named("wasm-simd128");
  const auto first = emit_module(program, capabilities);
  ASSERT_TRUE(first);
  for (int i = 0; i < 3; i++) {
    std::vector<std::unique_ptr<int>> other_addresses;
    for (int k = 0; k < 100 * i; k++) other_addresses.push_back(std::make_unique<int>(k));
    EXPECT_EQ(*emit_module(program, capabilities), *first);
  }
  EmitOptions with_names;
  with_names.names = true;
  EXPECT_GT(emit_module(program, capabilities, with_names)->size(), first->size());
}

TEST(WasmNode, WhatIndicesOf32BitsCannotHoldIsATypedError) {
  Program program;
  program.kernels = {parse_kernel(R"(kernel "far" {
  variable t in 1 .. 4000000000
  buffer b0 write i64[t]
  range i0 in 0 .. t
  v0 = constant i64 1
  store i64 v0 b0[i0]
}
)")};
  program.slots.resize(1);
  program.variables = program.kernels[0].variables;
  KernelCall call;
  call.slots = {0};
  call.variables = program.variables;
  call.range = program.kernels[0].range;
  program.step_calls = {call};
  const auto bytes = emit_module(program, *capabilities_named("wasm-simd128"));
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::kUnsupported);
  EXPECT_CONTAINS(bytes.error().message, "32 bits");
}

}  // namespace
}  // namespace tandem
