// Profiles of kernels: what a call does is counted by hand here, at values of the variables below their bounds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using nlohmann::json;

struct Nothing {};

PrepareConfig on(const char* backend) {
  PrepareConfig config;
  config.backend_name = backend;
  return config;
}

struct Product : Wrapper<Product, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 64)
  TANDEM_INPUT(a, f32, t, 24)
  TANDEM_INPUT(b, f32, 24, 16)
  TANDEM_BUILD(a, b) { return matmul(a, b); }
};

struct Filter : Wrapper<Filter, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 8, 64)
  TANDEM_INPUT(x, f32, 1, 3, t)
  TANDEM_BUILD(x) {
    const Tensor weight = Tensor::constant({8, 3, 5}, std::vector<float>(8 * 3 * 5, 0.5f), "weight");
    const Tensor bias = Tensor::constant({8}, std::vector<float>(8, 1.0f), "bias");
    return relu(conv1d(x, weight, bias));
  }
};

struct Wave : Wrapper<Wave, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 64)
  TANDEM_INPUT(x, f32, 7, t)
  TANDEM_BUILD(x) { return where(less(x, 0), x, exp(x) * x + 1); }
};

/// Reads a window of a larger input, and reduces.
struct Sums : Wrapper<Sums, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 64)
  TANDEM_INPUT(x)
  TANDEM_BUILD(x, t) { return x.shrink({{0, 5}, {0, t}}).sum({1}); }
};

/// Two layers of one shape, and something in between that belongs to none.
struct Stack : Wrapper<Stack, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x, f32, 4, 32)
  TANDEM_BUILD(x) {
    const auto weights = [](float first) {
      std::vector<float> values(32 * 32, 0.01f);
      values[0] = first;
      return Tensor::constant({32, 32}, values, "weight");
    };
    Tensor y = x;
    for (int i = 0; i < 2; i++) {
      const Scope scope(y, "encoder");
      const Scope layer(y, "layer" + std::to_string(i));
      y = linear(y, weights(static_cast<float>(i)));
    }
    return softmax(y, 1);
  }
};

template <typename Jit>
std::vector<KernelProfile> profile_of(Jit& jit, std::initializer_list<VariableValue> values) {
  auto profiles = jit.execute_with_vars_profiled(values);
  EXPECT_TRUE(profiles) << profiles.error().text();
  return profiles ? *profiles : std::vector<KernelProfile>();
}

class JitProfile : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, JitProfile, testing::Values("interpreter", "native", "wasm"));

TEST_P(JitProfile, AProductIsTwoOperationsForEachTerm) {
  Product jit(Nothing{});
  ASSERT_TRUE(jit.prepare_with_config(on(GetParam())));
  for (const int64_t t : {5, 1, 64}) {
    const auto profiles = profile_of(jit, {{"t", t}});
    ASSERT_EQ(profiles.size(), 1u);
    EXPECT_EQ(profiles[0].flops, 2 * t * 24 * 16);
    EXPECT_EQ(profiles[0].bytes, 4 * (t * 24 + 24 * 16 + t * 16));
    EXPECT_EQ(profiles[0].origin, "matmul");
  }
  EXPECT_EQ(jit.execute_profiled()->at(0).flops, 2 * 64 * 24 * 16);
}

TEST_P(JitProfile, AConvolutionWithItsEpilogue) {
  Filter jit(Nothing{});
  ASSERT_TRUE(jit.prepare_with_config(on(GetParam())));
  for (const int64_t t : {8, 29}) {
    const auto profiles = profile_of(jit, {{"t", t}});
    ASSERT_EQ(profiles.size(), 1u);
    const int64_t out = t - 4;
    // Products, then bias and relu.
    EXPECT_EQ(profiles[0].flops, 2 * out * 8 * 3 * 5 + 2 * out * 8);
    EXPECT_EQ(profiles[0].bytes, 4 * (3 * t + 8 * 3 * 5 + 8 + 8 * out));
  }
}

TEST_P(JitProfile, ElementwiseAndWindowsAndReductions) {
  Wave wave(Nothing{});
  ASSERT_TRUE(wave.prepare_with_config(on(GetParam())));
  const auto waves = profile_of(wave, {{"t", 9}});
  ASSERT_EQ(waves.size(), 1u);
  EXPECT_EQ(waves[0].flops, 3 * 7 * 9) << "exp, * and +; not the comparison and the choice";
  EXPECT_EQ(waves[0].bytes, 4 * (7 * 9 + 7 * 9));
  Sums sums(Nothing{});
  ASSERT_TRUE(sums.prepare_with_config(f32({6, 64}), on(GetParam())));
  const auto summed = profile_of(sums, {{"t", 11}});
  ASSERT_EQ(summed.size(), 1u);
  EXPECT_EQ(summed[0].flops, 5 * 11);
  EXPECT_EQ(summed[0].bytes, 4 * (5 * 11 + 5)) << "the window, not the whole input";
}

TEST_P(JitProfile, SharesAddUpAndCallsFollowEachOther) {
  Stack jit(Nothing{});
  ASSERT_TRUE(jit.prepare_with_config(on(GetParam())));
  auto profiles = jit.execute_profiled();
  ASSERT_TRUE(profiles);
  double share = 0, end = 0;
  for (const KernelProfile& profile : *profiles) {
    share += profile.share;
    EXPECT_GE(profile.start, end);
    EXPECT_GT(profile.seconds, 0);
    EXPECT_NEAR(profile.gflops_per_second() * profile.seconds * 1e9, static_cast<double>(profile.flops), 1e-3);
    EXPECT_NEAR(profile.gigabytes_per_second() * profile.seconds * 1e9, static_cast<double>(profile.bytes), 1e-3);
    end = profile.start + profile.seconds;
  }
  EXPECT_NEAR(share, 1, 1e-12);
}

TEST_P(JitProfile, CallsKnowTheirLayersAndStillShareKernels) {
  Stack jit(Nothing{});
  ASSERT_TRUE(jit.prepare_with_config(on(GetParam())));
  auto profiles = jit.execute_profiled();
  ASSERT_TRUE(profiles);
  std::vector<std::string> origins, kernels;
  for (const KernelProfile& profile : *profiles) {
    origins.push_back(profile.origin);
    kernels.push_back(profile.kernel);
  }
  ASSERT_EQ(origins.size(), 3u);
  EXPECT_EQ(origins[0], "encoder / layer0 / linear");
  EXPECT_EQ(origins[1], "encoder / layer1 / linear");
  EXPECT_EQ(origins[2], "softmax");
  EXPECT_EQ(kernels[0], kernels[1]);
}

const std::vector<KernelProfile> kMade = {{"k0_map", "", 10, 400, 0, 1e-6, 0},
                                          {"k1 \"odd\\name\"\n", "encoder / linear", 3000000, 800, 0, 3e-6, 0}};

TEST(Profile, TheTableBeginsWithTheLongestCall) {
  std::vector<KernelProfile> profiles = kMade;
  settle_profile(profiles);
  EXPECT_EQ(profile_table(profiles),
            "  share        us   GFLOP/s      GB/s        flops        bytes  kernel (origin)\n"
            "  75.0%      3.00   1000.00      0.27      3000000          800  k1 \"odd\\name\"\n (encoder / linear)\n"
            "  25.0%      1.00      0.01      0.40           10          400  k0_map\n");
}

TEST(Profile, JsonAndTraceAreValid) {
  std::vector<KernelProfile> profiles = kMade;
  settle_profile(profiles);
  const json list = json::parse(profile_json(profiles));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1]["kernel"], kMade[1].kernel);
  EXPECT_EQ(list[1]["origin"], "encoder / linear");
  EXPECT_EQ(list[1]["flops"], 3000000);
  EXPECT_EQ(list[1]["bytes"], 800);
  EXPECT_DOUBLE_EQ(list[1]["start"], 1e-6);
  EXPECT_DOUBLE_EQ(list[1]["seconds"], 3e-6);
  EXPECT_DOUBLE_EQ(list[1]["share"], 0.75);
  EXPECT_EQ(json::parse(profile_json({})), json::array());

  const json trace = json::parse(profile_trace(profiles, "mixer \"native\""));
  const json& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["ph"], "M");
  EXPECT_EQ(events[0]["args"]["name"], "mixer \"native\"");
  EXPECT_EQ(events[2]["ph"], "X");
  EXPECT_EQ(events[2]["name"], kMade[1].kernel);
  EXPECT_DOUBLE_EQ(events[2]["ts"], 1);
  EXPECT_DOUBLE_EQ(events[2]["dur"], 3);
  EXPECT_EQ(events[2]["args"]["origin"], "encoder / linear");
  EXPECT_DOUBLE_EQ(events[2]["args"]["gflops_per_second"], 1000);
  for (const json& event : events)
    for (const char* field : {"name", "ph", "pid", "tid"}) EXPECT_TRUE(event.contains(field)) << field;
}

TEST(Profile, WithoutTimesEveryCallHasAnEqualShare) {
  std::vector<KernelProfile> profiles(4);
  settle_profile(profiles);
  EXPECT_EQ(profiles[3].share, 0.25);
  EXPECT_EQ(profiles[3].gflops_per_second(), 0);
}

}  // namespace
}  // namespace tandem
