// Live shapes, views of them, and what a wrapper tells about its plan.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace tandem {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Nothing {};

PrepareConfig on(const char* backend) {
  PrepareConfig config;
  config.backend_name = backend;
  config.numerics = Numerics::kReproducible;
  return config;
}

/// Lanes b of a larger input, every fourth column of the first t, and an output that no variable touches.
struct Thinned : Wrapper<Thinned, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(b, 1, 4)
  TANDEM_VAR(t, 1, 40)
  TANDEM_INPUT(x)
  TANDEM_INPUT(scale)
  TANDEM_OUTPUT(columns, f32)
  TANDEM_OUTPUT(total, f32)
  TANDEM_OUTPUT(fixed, i32)
  TANDEM_BUILD(x, scale, b, t) {
    const Tensor window = x.shrink({{0, b}, {0, t}}) * scale;
    return {as_columns(window.slice(1, 0, kEnd, 4)), as_total(window.sum().reshape({1})),
            as_fixed(scale.cast(DType::kI32))};
  }
};

class JitLive : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, JitLive, testing::Values("interpreter", "native", "wasm"));

TEST_P(JitLive, DerivedDimensionsAreExact) {
  Thinned jit(Nothing{});
  const auto prepared = jit.prepare_with_config(f32({4, 40}), f32({1}), on(GetParam()));
  ASSERT_TRUE(prepared) << prepared.error().text();
  ASSERT_TRUE(jit.scale_mut()->copy_from(std::vector<float>{1}));
  std::vector<float> values(4 * 40);
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i);
  ASSERT_TRUE(jit.x_mut()->copy_from(values));
  EXPECT_THAT(jit.columns()->shape(), ElementsAre(4, 10)) << "before the first step: the largest";
  for (const int64_t b : {1, 3, 4})
    for (const int64_t t : {1, 4, 5, 39, 40}) {
      ASSERT_TRUE(jit.execute_bound(b, t));
      // Every fourth column of the lanes: (t + 3) / 4 of them.
      std::vector<float> expected;
      for (int64_t lane = 0; lane < b; lane++)
        for (int64_t column = 0; column < t; column += 4) expected.push_back(static_cast<float>(lane * 40 + column));
      EXPECT_THAT(jit.columns()->shape(), ElementsAre(b, (t + 3) / 4));
      EXPECT_EQ(*jit.columns()->to_vector<float>(), expected) << b << " lanes of " << t;
      EXPECT_THAT(jit.total()->shape(), ElementsAre(1));
      EXPECT_THAT(*jit.fixed()->to_vector<int32_t>(), ElementsAre(1)) << "an input without lanes";
    }
}

TEST_P(JitLive, NothingBeyondTheLiveShapeCanBeRead) {
  Thinned jit(Nothing{});
  ASSERT_TRUE(jit.prepare_with_config(f32({4, 40}), f32({1}), on(GetParam())));
  ASSERT_TRUE(jit.execute());
  EXPECT_TRUE(jit.columns()->span<float>(0, 40)) << "the largest shape";
  ASSERT_TRUE(jit.execute_with_vars({{"b", 2}, {"t", 9}}));
  const BufferView live = *jit.output();
  EXPECT_EQ(live.size(), 6u);
  EXPECT_EQ(live.size_bytes(), 24u);
  EXPECT_EQ(live.span<float>()->size(), 6u);
  EXPECT_TRUE(live.span<float>(5, 1));
  const auto beyond = live.span<float>(5, 2);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().text(),
            "ViewOutOfBounds: output \"columns\" (f32[2, 3]): elements 5 to 7 were asked for, it has 6");
  EXPECT_FALSE(live.span<float>(SIZE_MAX, 2));
  EXPECT_EQ(jit.columns_view<double>().error().text(),
            "DtypeMismatch: output \"columns\" (f32[2, 3]) was accessed as f64; its elements are f32");
  EXPECT_EQ(live.to_vector<int32_t>().error().code, ErrorCode::kDtypeMismatch);
}

TEST(JitLive, EveryErrorOfACallNamesValueAndBounds) {
  Thinned jit(Nothing{});
  jit.with_b_min_bound(2);
  ASSERT_TRUE(jit.prepare_with_config(f32({4, 40}), f32({1}), on("interpreter")));
  EXPECT_EQ(jit.execute_bound(2, 41).error().text(),
            "Variable: variable \"t\" = 41 of \"Thinned\" is outside its bounds 1 to 40");
  EXPECT_EQ(jit.execute_bound(1, 40).error().text(),
            "Variable: variable \"b\" = 1 of \"Thinned\" is outside its bounds 2 to 4");
  EXPECT_EQ(jit.execute_with_vars({{"seconds", 3}}).error().text(),
            "Variable: variable \"seconds\" = 3 of \"Thinned\" is unknown; declared: b, t");
  EXPECT_EQ(jit.execute_with_vars_profiled({{"t", 0}}).error().text(),
            "Variable: variable \"t\" = 0 of \"Thinned\" is outside its bounds 1 to 40");
}

/// The kernels of a plan as one text.
std::string kernels_of(const Thinned& jit) {
  std::string all;
  const auto kernels = *jit.prepared_kernels();
  for (const PreparedKernel& kernel : kernels) all += kernel.text;
  return all;
}

TEST(JitPlan, AFixedVariableIsGoneFromTheKernels) {
  Thinned open(Nothing{}), fixed(Nothing{});
  fixed.with_b_fixed(3).with_t_fixed(20);
  for (Thinned* jit : {&open, &fixed}) ASSERT_TRUE(jit->prepare_with_config(f32({4, 40}), f32({1}), on("interpreter")));
  EXPECT_THAT(kernels_of(open), AllOf(HasSubstr("variable t"), HasSubstr("variable b")));
  EXPECT_THAT(kernels_of(fixed), AllOf(Not(HasSubstr("variable t")), Not(HasSubstr("variable b"))));
  EXPECT_EQ(fixed.execute_with_vars({{"t", 19}}).error().text(),
            "Variable: variable \"t\" = 19 of \"Thinned\" is outside its bounds 20 to 20");
  ASSERT_TRUE(fixed.execute());
  EXPECT_THAT(fixed.output()->shape(), ElementsAre(3, 5));
}

TEST(JitPlan, TellsItsBuffersAndKernels) {
  Thinned jit(Nothing{});
  ASSERT_TRUE(jit.prepare_with_config(f32({4, 40}), f32({1}), on("native")));
  const std::vector<BufferInfo> buffers = *jit.buffers();
  const std::vector<uint32_t> inputs = *jit.input_buffer_ids();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_NE(inputs[0], inputs[1]) << "inputs of one shape are not one buffer";
  EXPECT_EQ(buffers[inputs[0]].name, "x");
  EXPECT_EQ(buffers[inputs[0]].role, SlotRole::kInput);
  EXPECT_EQ(buffers[inputs[0]].bytes, 4 * 40 * 4);
  EXPECT_EQ(std::count_if(buffers.begin(), buffers.end(),
                          [](const BufferInfo& buffer) { return buffer.role == SlotRole::kOutput; }),
            3);
  int calls = 0;
  std::set<std::string> names;
  const std::vector<PreparedKernel> kernels = *jit.prepared_kernels();
  for (const PreparedKernel& kernel : kernels) {
    calls += kernel.calls;
    names.insert(kernel.name);
    EXPECT_THAT(kernel.text, HasSubstr("kernel"));
  }
  EXPECT_EQ(names.size(), kernels.size());
  EXPECT_EQ(static_cast<size_t>(calls), jit.session().plan()->program().step_calls.size());
  EXPECT_EQ(jit.output_buffers()->size(), 3u);
}

/// Two inputs of one shape, which zeros of one graph would have made one node.
struct Twins : Wrapper<Twins, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(left)
  TANDEM_INPUT(right)
  TANDEM_BUILD(left, right) { return left - right; }
};

TEST(JitPlan, InputsOfOneShapeAreApart) {
  Twins first(Nothing{}), second(Nothing{});
  for (Twins* jit : {&first, &second}) ASSERT_TRUE(jit->prepare_with_config(f32({2}), f32({2}), on("interpreter")));
  ASSERT_TRUE(first.left_mut()->copy_from(std::vector<float>{5, 7}));
  ASSERT_TRUE(second.right_mut()->copy_from(std::vector<float>{1, 1}));
  ASSERT_TRUE(first.execute());
  ASSERT_TRUE(second.execute());
  EXPECT_THAT(*first.output()->to_vector<float>(), ElementsAre(5, 7));
  EXPECT_THAT(*second.output()->to_vector<float>(), ElementsAre(-1, -1));
  ASSERT_TRUE(second.copy_output_to_left(0, 1, 0, 1));
  EXPECT_THAT(*second.left_view<float>(), ElementsAre(0, -1));
}

TEST(JitPlan, SpecsKnowTheirSize) {
  EXPECT_EQ(f32({2, 3}).numel(), 6);
  EXPECT_EQ(InputSpec{}.numel(), 1) << "a scalar";
  EXPECT_EQ(i64({2, 0}).numel(), 0);
  EXPECT_EQ(u8({int64_t{1} << 40, int64_t{1} << 40}).numel(), 0) << "more than can be addressed";
  EXPECT_EQ(bf16({1, 512}).text(), "bf16[1, 512]");
  EXPECT_EQ(i32({4}).dtype, DType::kI32);
  EXPECT_EQ(boolean({4}).text(), "bool[4]");
}

TEST(JitPlan, OutputsAreReturnedByName) {
  Session session("missing");
  session.declare_input("x", DType::kF32, {2});
  session.declare_output("y");
  const auto build = [](const std::string& name) {
    return [name](const Trace& trace) { return Outputs{{name, trace.tensor("x")}}; };
  };
  EXPECT_THAT(session.prepare({}, build("z"), on("interpreter")).error().text(),
              HasSubstr("it returns \"z\", which is no declared output or state"));
  const auto shaped = [](const Trace& trace) { return Outputs(trace.tensor("x").reshape({-1, -1})); };
  EXPECT_EQ(session.prepare({}, shaped, on("interpreter")).error().code, ErrorCode::kBuild);
  ASSERT_TRUE(session.prepare({}, build("y"), on("interpreter")));
}

TEST(JitPlan, TheReadmeShowsWhatIsCompiled) {
  const auto text_of = [](const std::string& path) {
    std::stringstream text;
    text << std::ifstream(std::string(TANDEM_SOURCE_DIR) + "/" + path).rdbuf();
    return text.str();
  };
  const std::string readme = text_of("core/jit/README.md");
  const std::string correct = "TANDEM_BUILD(x) { return where(less(x, 0), x * model.slope, x); }";
  const std::string incorrect = "if (x.item() < 0) return x * model.slope;";
  EXPECT_THAT(readme, HasSubstr(correct));
  EXPECT_THAT(text_of("tests/compile_failure/data_independent_build.cc"), HasSubstr(correct));
  EXPECT_THAT(readme, HasSubstr(incorrect));
  EXPECT_THAT(text_of("tests/compile_failure/data_dependent_build.cc"), HasSubstr(incorrect));
}

}  // namespace
}  // namespace tandem
