#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <cstdio>
#include <stdexcept>

#include "core/base/text.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PrepareConfig on(const char* backend) {
  PrepareConfig config;
  config.backend_name = backend;
  config.numerics = Numerics::kReproducible;
  return config;
}

struct MixerModel {
  float scale = 2;
  int64_t longest = 8;
};

struct Mixer : Wrapper<Mixer, MixerModel> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, model.longest)
  TANDEM_INPUT(gain)
  TANDEM_INPUT(samples, f32, 2, t)
  TANDEM_BUILD(samples, gain, t) {
    const Tensor mixed = matmul(gain, samples) * static_cast<double>(model.scale);
    return mixed + size_tensor(t, DType::kF32);
  }
};

class JitWrapper : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, JitWrapper, testing::Values("interpreter", "native"));

TEST_P(JitWrapper, RunsOnePlanAtEveryLength) {
  Mixer mixer(MixerModel{});
  auto prepared = mixer.prepare_with_config(f32({1, 2}), on(GetParam()));
  ASSERT_TRUE(prepared) << prepared.error().text();
  ASSERT_TRUE(mixer.gain_mut()->copy_from(std::vector<float>{10, 1}));
  ASSERT_TRUE(mixer.samples_mut()->copy_from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}));
  auto done = mixer.execute_with_vars({{"t", 3}});
  ASSERT_TRUE(done) << done.error().text();
  // ([10 1] [1 2 3; 4 5 6]) * 2 + 3
  EXPECT_THAT(*mixer.output()->to_vector<float>(), ElementsAre(31, 53, 75));
  EXPECT_THAT(mixer.output()->shape(), ElementsAre(1, 3));

  ASSERT_TRUE(mixer.samples_mut()->copy_from(std::vector<float>{7, 8}, {2, 1}));
  ASSERT_TRUE(mixer.execute_bound(1));
  EXPECT_THAT(*mixer.output()->to_vector<float>(), ElementsAre(157));

  // Not named: the upper bound, not the last value.
  ASSERT_TRUE(mixer.samples_mut()->copy_from(std::vector<float>(16, 1.0f)));
  ASSERT_TRUE(mixer.execute());
  EXPECT_THAT(*mixer.output()->to_vector<float>(), ElementsAre(30, 30, 30, 30, 30, 30, 30, 30));
}

TEST_P(JitWrapper, RefusesWrongVariables) {
  Mixer mixer(MixerModel{});
  ASSERT_TRUE(mixer.prepare_with_config(f32({1, 2}), on(GetParam())));
  auto wrong = mixer.execute_with_vars({{"t", 9}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().text(), "Variable: variable \"t\" = 9 of \"Mixer\" is outside its bounds 1 to 8");
  wrong = mixer.execute_with_vars({{"time", 3}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kVariable);
  EXPECT_THAT(wrong.error().message, HasSubstr("\"time\" = 3"));
  EXPECT_THAT(wrong.error().message, HasSubstr("declared: t"));
  EXPECT_FALSE(mixer.execute_bound(0));
  EXPECT_FALSE(mixer.execute_with_vars({{"t", 3}, {"t", 4}}));
}

TEST(JitBounds, MisuseThrowsAtTheCall) {
  Mixer mixer(MixerModel{});
  mixer.with_t_min_bound(4);
  EXPECT_THROW(mixer.with_t_bound(3), std::invalid_argument);
  EXPECT_THROW(mixer.with_t_min_bound(9), std::invalid_argument);
  EXPECT_THROW(mixer.with_t_min_bound(-1), std::invalid_argument);
  EXPECT_THROW(mixer.with_t_fixed(0), std::invalid_argument);
  ASSERT_TRUE(mixer.prepare_with_config(f32({1, 2}), on("interpreter")));
  EXPECT_THROW(mixer.with_t_bound(5), std::logic_error);
  auto below = mixer.execute_with_vars({{"t", 3}});
  ASSERT_FALSE(below);
  EXPECT_THAT(below.error().message, HasSubstr("4 to 8"));
}

TEST(JitBounds, AFixedVariableIsAConstantOfTheKernels) {
  Mixer mixer = Mixer(MixerModel{}).with_t_fixed(5);
  ASSERT_TRUE(mixer.prepare_with_config(f32({1, 2}), on("interpreter")));
  EXPECT_TRUE(mixer.session().plan()->variables().empty());
  const Program& program = mixer.session().plan()->program();
  for (const Kernel& kernel : program.kernels) EXPECT_TRUE(kernel.variables.empty()) << text(kernel);
  for (const KernelCall& call : program.step_calls) EXPECT_TRUE(call.range.is_constant()) << call.range.text();
  ASSERT_TRUE(mixer.execute_with_vars({{"t", 5}}));
  EXPECT_EQ(mixer.execute_with_vars({{"t", 4}}).error().code, ErrorCode::kVariable);
  EXPECT_THAT(mixer.output()->shape(), ElementsAre(1, 5));
}

TEST(JitErrors, EverythingBeforePrepareSaysSo) {
  Mixer mixer(MixerModel{});
  EXPECT_EQ(mixer.execute().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.execute_with_vars({{"t", 1}}).error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.execute_bound(1).error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.execute_profiled().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.gain_mut().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.gain_view<float>().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.output().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.buffers().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.output_buffers().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.input_buffer_ids().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.prepared_kernels().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.reset().error().code, ErrorCode::kNotPrepared);
  EXPECT_EQ(mixer.replicate().error().code, ErrorCode::kNotPrepared);
}

TEST(JitErrors, AFailedPrepareMayBeTriedAgain) {
  Mixer mixer(MixerModel{});
  auto zero = mixer.prepare_with_config(f32({1, 0}), on("interpreter"));
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().code, ErrorCode::kTensor);
  EXPECT_THAT(zero.error().message, HasSubstr("input \"gain\""));
  EXPECT_THAT(zero.error().message, HasSubstr("dimension 1 = 0"));

  auto unfit = mixer.prepare_with_config(f32({1, 3}), on("interpreter"));
  ASSERT_FALSE(unfit);
  EXPECT_EQ(unfit.error().code, ErrorCode::kBuild);
  ASSERT_TRUE(unfit.error().inner);
  EXPECT_EQ(unfit.error().inner->code, ErrorCode::kTensor);

  auto nowhere = mixer.prepare_with_config(f32({1, 2}), on("abacus"));
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("\"abacus\""));
  EXPECT_THAT(nowhere.error().message, HasSubstr("interpreter"));

  PrepareConfig small = on("interpreter");
  small.memory_limit = 100;
  const JitError beyond = mixer.prepare_with_config(f32({1, 2}), small).error();
  EXPECT_EQ(beyond.code, ErrorCode::kMemoryLimit);
  EXPECT_THAT(beyond.message, HasSubstr("memory_limit, TANDEM_MEMORY_LIMIT"));

  mixer.with_t_bound(4);
  ASSERT_TRUE(mixer.prepare_with_config(f32({1, 2}), on("interpreter")));
  EXPECT_EQ(mixer.prepare_with_config(f32({1, 2}), on("interpreter")).error().code, ErrorCode::kRuntime);
}

struct Branded {
  static constexpr const char* kSessionName = "brand";
};
struct Worn : Wrapper<Worn, Branded> {
  using Wrapper::Wrapper;
};

struct Renamed : Wrapper<Renamed, Branded> {
  using Wrapper::Wrapper;
  static constexpr const char* kSessionName = "another";
};

TEST(JitNames, AWrapperIsCalledByItsOwnName) {
  EXPECT_EQ(Mixer(MixerModel{}).session().name(), "Mixer");
  EXPECT_EQ(Worn(Branded{}).session().name(), "brand");
  EXPECT_EQ(Renamed(Branded{}).session().name(), "another");
  EXPECT_EQ((jit_detail::own_name<std::pair<int, std::vector<float>>>()).substr(0, 9), "pair<int,");

  const std::string folder = testing::TempDir();
  PrepareConfig config = on("interpreter");
  config.debug.folder = folder;
  Mixer mixer(MixerModel{});
  ASSERT_TRUE(mixer.prepare_with_config(f32({1, 2}), config));
  for (const char* stage : {"1-summary", "2-graph", "3-rewritten", "4-schedule", "5-kernel", "6-source"}) {
    const std::string path = concat(folder, "/Mixer.", stage, ".txt");
    EXPECT_EQ(std::remove(path.c_str()), 0) << path;
  }
}

struct Thrower : Wrapper<Thrower, std::string> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x)
  TANDEM_INPUT(unused)
  TANDEM_BUILD(x) {
    if (!model.empty()) throw std::runtime_error(model);
    return x + 1;
  }
};

TEST(JitErrors, WhatTheBuildFunctionThrowsIsKept) {
  Thrower thrower(std::string("no weights today"));
  auto failed = thrower.prepare_with_config(f32({2}), f32({2}), on("interpreter"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kBuild);
  EXPECT_EQ(failed.error().inner->message, "no weights today");
}

TEST(JitErrors, AnIgnoredInputIsNamed) {
  Thrower thrower{std::string()};
  auto failed = thrower.prepare_with_config(f32({2}), f32({2}), on("interpreter"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInputBufferNotFound);
  EXPECT_THAT(failed.error().message, HasSubstr("\"unused\""));
}

TEST(JitErrors, TwoInputsOfOneNameAreRefused) {
  Session session("twins");
  session.declare_input("x");
  session.declare_input("x");
  const std::vector<InputSpec> specs{f32({1}), f32({1})};
  auto failed =
      session.prepare(specs, [](const Trace& trace) { return Outputs(trace.tensor("x")); }, on("interpreter"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kDuplicateInputBuffer);
}

TEST(JitViews, WrongTypeAndSizeAreNamed) {
  Mixer mixer(MixerModel{});
  ASSERT_TRUE(mixer.prepare_with_config(f32({1, 2}), on("interpreter")));
  Buffer gain = *mixer.gain_mut();
  auto type = gain.copy_from(std::vector<int32_t>{1, 2});
  EXPECT_EQ(type.error().text(), "DtypeMismatch: input \"gain\" (f32[1, 2]) was accessed as i32; its elements are f32");
  EXPECT_EQ(gain.span<double>().error().code, ErrorCode::kDtypeMismatch);
  auto size = gain.copy_from(std::vector<float>{1, 2, 3});
  EXPECT_EQ(size.error().code, ErrorCode::kViewOutOfBounds);
  EXPECT_THAT(size.error().message, HasSubstr("3 elements were given, the shape [1, 2] has 2"));
  EXPECT_EQ(gain.span<float>(1, 2).error().code, ErrorCode::kViewOutOfBounds);
  EXPECT_EQ(gain.span<float>(1, 1)->size(), 1u);
  Buffer samples = *mixer.samples_mut();
  EXPECT_EQ(samples.copy_from(std::vector<float>(18), {2, 9}).error().code, ErrorCode::kViewOutOfBounds);
  EXPECT_EQ(samples.copy_from(std::vector<float>(4), {1, 4}).error().code, ErrorCode::kViewOutOfBounds)
      << "a constant axis";
  EXPECT_EQ(samples.copy_from(std::vector<float>(4), {4}).error().code, ErrorCode::kViewOutOfBounds);
}

}  // namespace
}  // namespace tandem
