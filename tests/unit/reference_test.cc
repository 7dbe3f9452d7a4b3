// The reference evaluator against numbers worked out by hand or with mpmath, since everything else is measured by it.
#include "tests/reference/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/tensor/nn.h"
#include "core/tensor/tensor.h"
#include "tests/reference/compare.h"
#include "tests/reference/random_graph.h"

namespace tandem::reference {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& elements) {
  std::vector<std::byte> bytes(elements.size() * sizeof(T));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

/// Evaluates a tensor that needs no inputs.
ReferenceResult run(const Tensor& tensor, Mode mode = Mode::kExact, std::map<std::string, int64_t> variables = {}) {
  GraphModule module;
  module.outputs = {tensor.node_in(module.graph)};
  module.output_names = {"y"};
  return evaluate(module, Options{mode, std::move(variables), {}})[0];
}

template <typename T>
Tensor constant(const Shape& shape, const std::vector<T>& elements) {
  return Tensor::constant<T>(shape, elements);
}

TEST(Reference, Elementwise) {
  const Tensor x = constant<double>({4}, {-1.5, 0.25, 2.5, -0.0});
  EXPECT_EQ(run(round(x)).values, (std::vector<double>{-2, 0, 2, 0}));
  EXPECT_EQ(run(floor(x)).values, (std::vector<double>{-2, 0, 2, 0}));
  EXPECT_TRUE(std::signbit(run(minimum(x, 0)).values[3]));
  EXPECT_FALSE(std::signbit(run(maximum(x, 0)).values[3]));
  // mpmath: erf(0.25), 1/(1+e^1.5), tanh(2.5)
  EXPECT_NEAR(run(erf(x)).values[1], 0.27632639016823696, 1e-15);
  EXPECT_NEAR(run(sigmoid(x)).values[0], 0.18242552380635635, 1e-15);
  EXPECT_NEAR(run(tanh(x)).values[2], 0.98661429815143031, 1e-15);
  EXPECT_NEAR(run(gelu(x)).values[2], 2.4844758366855597, 1e-14);
  EXPECT_NEAR(run(softplus(x)).values[0], 0.20141327798275246, 1e-14);
}

TEST(Reference, IntegersWrapAndNeverTrap) {
  const Tensor x = constant<int32_t>({4}, {INT32_MIN, INT32_MAX, 7, -7});
  const Tensor y = constant<int32_t>({4}, {-1, 1, 0, 2});
  EXPECT_EQ(run(x / y).integers, (std::vector<int64_t>{INT32_MIN, INT32_MAX, 0, -3}));
  EXPECT_EQ(run(x % y).integers, (std::vector<int64_t>{0, 0, 7, -1}));
  EXPECT_EQ(run(x + y).integers, (std::vector<int64_t>{INT32_MAX, INT32_MIN, 7, -5}));
  EXPECT_EQ(run(-x).integers, (std::vector<int64_t>{INT32_MIN, -INT32_MAX, -7, 7}));
  EXPECT_EQ(run(shift_right(x, 40)).integers, (std::vector<int64_t>{-1, 0, 0, -1}));
  EXPECT_EQ(run(shift_left(x, 31)).integers, (std::vector<int64_t>{0, INT32_MIN, INT32_MIN, INT32_MIN}));
  const Tensor z = constant<uint8_t>({3}, {0, 200, 255});
  EXPECT_EQ(run(z + z).integers, (std::vector<int64_t>{0, 144, 254}));
  EXPECT_EQ(run(z - 1).integers, (std::vector<int64_t>{255, 199, 254}));
  const Tensor wide = constant<uint64_t>({2}, {UINT64_MAX, 5});
  EXPECT_EQ(run(wide / 2).integers, (std::vector<int64_t>{INT64_MAX, 2}));
  EXPECT_EQ(run(less(wide, wide.flip({0}))).integers, (std::vector<int64_t>{0, 1}));
}

TEST(Reference, CastsSaturateRoundAndWrap) {
  const Tensor x = constant<float>({7}, {300.7f, -1.9f, NAN, INFINITY, -INFINITY, 3e9f, -0.0f});
  EXPECT_EQ(run(x.cast(DType::kU8)).integers, (std::vector<int64_t>{255, 0, 0, 255, 0, 255, 0}));
  EXPECT_EQ(run(x.cast(DType::kI32)).integers, (std::vector<int64_t>{300, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, 0}));
  EXPECT_EQ(run(x.cast(DType::kI64)).integers, (std::vector<int64_t>{300, -1, 0, INT64_MAX, INT64_MIN, 3000000000, 0}));
  EXPECT_EQ(run(x.cast(DType::kBool)).integers, (std::vector<int64_t>{1, 1, 1, 1, 1, 1, 0}));
  const Tensor y = constant<int64_t>({2}, {0x123456789, -1});
  EXPECT_EQ(run(y.cast(DType::kI16)).integers, (std::vector<int64_t>{0x6789, -1}));
  EXPECT_EQ(run(y.cast(DType::kU16)).integers, (std::vector<int64_t>{0x6789, 65535}));
  // 2049 lies between 2048 and 2050 in f16: even wins; 65520 is the first value beyond its range.
  const Tensor z = constant<float>({3}, {2049, 65519, 65520});
  EXPECT_EQ(run(z.cast(DType::kF16), Mode::kRounded).values, (std::vector<double>{2048, 65504, INFINITY}));
  const Tensor w = constant<float>({2}, {1.00390625f, 1.01171875f});  // 1 + 1/256, 1 + 3/256
  EXPECT_EQ(run(w.cast(DType::kBF16), Mode::kRounded).values, (std::vector<double>{1, 1.015625}));
}

TEST(Reference, Movement) {
  const Tensor x = arange(6).reshape({2, 3});  // [[0, 1, 2], [3, 4, 5]]
  using Integers = std::vector<int64_t>;
  EXPECT_EQ(run(x.transpose(0, 1)).integers, (Integers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(run(x.transpose(0, 1).flatten().flip({0})).integers, (Integers{5, 2, 4, 1, 3, 0}));
  EXPECT_EQ(run(x.pad({{1, 0}, {0, 1}}, 9)).integers, (Integers{9, 9, 9, 9, 0, 1, 2, 9, 3, 4, 5, 9}));
  EXPECT_EQ(run(x.reflect_pad({{0, 0}, {2, 1}})).integers, (Integers{2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4}));
  EXPECT_EQ(run(x.slice(1, 0, kEnd, 2)).integers, (Integers{0, 2, 3, 5}));
  EXPECT_EQ(run(x.slice(1, -2)).integers, (Integers{1, 2, 4, 5}));
  EXPECT_EQ(run(arange(7).window(0, 3, 2, 2)).integers, (Integers{0, 2, 4, 2, 4, 6}));
  EXPECT_EQ(run(concat({x, x.slice(0, 1)}, 0)).integers, (Integers{0, 1, 2, 3, 4, 5, 3, 4, 5}));
  const Tensor indices = constant<int32_t>({4}, {2, 0, 3, -1});
  EXPECT_EQ(run(x.gather(1, indices)).integers, (Integers{2, 0, 0, 0, 5, 3, 0, 0}));
  EXPECT_EQ(run(x.expand({2, 2, 3}).permute({2, 0, 1})).integers, (Integers{0, 3, 0, 3, 1, 4, 1, 4, 2, 5, 2, 5}));
}

TEST(Reference, Reductions) {
  const Tensor x = constant<double>({2, 3}, {1, 2, 4, -1, 0.5, 8});
  EXPECT_EQ(run(x.sum({1})).values, (std::vector<double>{7, 7.5}));
  EXPECT_EQ(run(x.prod({0})).values, (std::vector<double>{-1, 1, 32}));
  EXPECT_EQ(run(x.max({0}, true)).values, (std::vector<double>{1, 2, 8}));
  EXPECT_EQ(run(x.sum()).magnitude, (std::vector<double>{16.5}));
  EXPECT_EQ(run(x.argmax(1)).integers, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(run(x.cumsum(1)).values, (std::vector<double>{1, 3, 7, -1, -0.5, 7.5}));
  EXPECT_NEAR(run(x.var({1})).values[0], 14.0 / 9, 1e-15);
  const Tensor none = constant<float>({2, 0}, {});
  EXPECT_EQ(run(none.sum({1})).values, (std::vector<double>{0, 0}));
  EXPECT_EQ(run(none.max({1})).values, (std::vector<double>{-INFINITY, -INFINITY}));
}

TEST(Reference, Products) {
  const Tensor a = constant<double>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = constant<double>({3, 2}, {7, 8, 9, 10, 11, 12});
  EXPECT_EQ(run(matmul(a, b)).values, (std::vector<double>{58, 64, 139, 154}));
  const Tensor vector = constant<double>({3}, {1, 0, -1});
  EXPECT_EQ(run(matmul(a, vector)).values, (std::vector<double>{-2, -2}));
  EXPECT_EQ(run(matmul(vector, b)).values, (std::vector<double>{-4, -4}));
  // x = [1, 2, 3, 4] with weight [1, 10], padding 1: y[t] = x[t - 1] + 10 * x[t]
  const Tensor x = constant<double>({1, 1, 4}, {1, 2, 3, 4});
  const Tensor w = constant<double>({1, 1, 2}, {1, 10});
  EXPECT_EQ(run(conv1d(x, w, {}, {1, 1, 1, 1})).values, (std::vector<double>{10, 21, 32, 43, 4}));
  EXPECT_EQ(run(conv1d(x, w, {}, {2, 1, 1, 1})).values, (std::vector<double>{10, 32, 4}));
  EXPECT_EQ(run(conv1d(x, w, {}, {1, 0, 2, 1})).values, (std::vector<double>{31, 42}));
  // Two groups: channel 0 times 2, channel 1 times 3; bias 1.
  const Tensor pair = constant<double>({1, 2, 2}, {1, 2, 3, 4});
  const Tensor scale = constant<double>({2, 1, 1}, {2, 3});
  EXPECT_EQ(run(conv1d(pair, scale, constant<double>({2}, {1, 1}), {1, 0, 1, 2})).values,
            (std::vector<double>{3, 5, 10, 13}));
  const Tensor plane = constant<double>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor kernel = constant<double>({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run(conv2d(plane, kernel)).values, (std::vector<double>{1 + 4 + 12 + 20, 2 + 6 + 15 + 24}));
}

TEST(Reference, Compositions) {
  const Tensor x = constant<double>({3}, {1, 2, 3});
  // e^-2, e^-1, 1 over their sum
  const std::vector<double> expected = {0.090030573170380462, 0.24472847105479764, 0.66524095577482190};
  for (size_t i = 0; i < 3; i++) EXPECT_NEAR(run(softmax(x, 0)).values[i], expected[i], 1e-15);
  EXPECT_NEAR(run(log_softmax(x, 0)).values[0], std::log(expected[0]), 1e-14);
  const auto normed = run(layer_norm(x, constant<double>({3}, {1, 1, 1}), constant<double>({3}, {0, 0, 10}), 0)).values;
  EXPECT_NEAR(normed[0], -std::sqrt(1.5), 1e-15);
  EXPECT_NEAR(normed[2], std::sqrt(1.5) + 10, 1e-14);
  // One LSTM unit with gates i, f, g, o = 1, 2, 3, 4 (from the bias): c' = s(2) * 0.5 + s(1) * tanh(3).
  const Tensor one = constant<double>({1, 1}, {0.0});
  const Tensor zero4 = constant<double>({4, 1}, {0, 0, 0, 0});
  const auto cell =
      lstm_cell(one, one, constant<double>({1, 1}, {0.5}), zero4, zero4, constant<double>({4}, {1, 2, 3, 4}));
  const auto s = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double c = s(2) * 0.5 + s(1) * std::tanh(3.0);
  EXPECT_NEAR(run(cell.c).values[0], c, 1e-15);
  EXPECT_NEAR(run(cell.h).values[0], s(4) * std::tanh(c), 1e-15);
}

TEST(Reference, VariablesAndInputs) {
  GraphModule module;
  const Dim t = Index::variable("t", 1, 4);
  const Tensor x = Tensor::input(module.graph, 0, "x", DType::kF32, {4}).shrink({{0, t}});
  module.outputs = {x.mean().node_in(module.graph)};
  module.output_names = {"y"};
  Options options{Mode::kExact, {{"t", 2}}, {{0, bytes_of<float>({1, 2, 4, 8})}}};
  EXPECT_EQ(evaluate(module, options)[0].values, (std::vector<double>{1.5}));
  options.variables.clear();
  EXPECT_EQ(evaluate(module, options)[0].values, (std::vector<double>{3.75}));
  options.variables["t"] = 5;
  EXPECT_THROW(evaluate(module, options), TensorError);
  EXPECT_THROW(evaluate(module, Options{}), TensorError);
}

TEST(Reference, ErrorMarksWhatTheLastBitDecides) {
  const Tensor x = constant<float>({2}, {0.1f, 0.3f});
  const auto sum = run(x + 0.2f);
  EXPECT_GT(sum.error[0], 0);
  EXPECT_LT(sum.error[0], 1e-7);
  EXPECT_EQ(decided(run(less(x + 0.2f, 5))), 1);
  EXPECT_EQ(decided(run(less(x + 0.2f, 0.3f))), 0.5);
  EXPECT_EQ(decided(run(floor((x - x) * 1.0f))), 1);
}

TEST(Reference, BoundsOfF64CountTheRoundingsOfTheReference) {
  constexpr double kHalf = 0x1p-53, kTiny = 1e-300;
  const Tensor x = constant<double>({1}, {1.1}), y = constant<double>({1}, {1.3}), z = constant<double>({1}, {-4.7});
  // From the same operands both round in the same way; from others each has a rounding of its own.
  EXPECT_NEAR(run(x + z).error[0], kHalf * 3.6, 1e-3 * kHalf);
  EXPECT_NEAR(run(x * y + z).error[0], kHalf * (1.43 + 2 * 3.27), 1e-3 * kHalf);
  // Four roundings each of a sum whose order is free, and one of the result.
  EXPECT_NEAR(run(constant<double>({4}, {1.1, 1.3, 1.7, 1.9}).sum()).error[0], kHalf * (2 * 4 + 1) * 6, 1e-3 * kHalf);
  const double sum = 1.1 * 1.3 - 4.7;
  EXPECT_EQ(mismatch(run(x * y + z), bytes_of<double>({std::nextafter(sum, 0)})), std::nullopt);
  EXPECT_TRUE(mismatch(run(x * y + z), bytes_of<double>({sum * (1 + 16 * kHalf) + kTiny})).has_value());
}

TEST(Reference, MismatchNamesTheElement) {
  auto expected = run(constant<float>({2, 2}, {1, 2, 3, NAN}) * 1.0f);
  std::vector<float> actual = {1, 2, 3, NAN};
  EXPECT_EQ(mismatch(expected, bytes_of(actual)), std::nullopt);
  actual[2] = 3.001f;
  const auto problem = mismatch(expected, bytes_of(actual));
  ASSERT_TRUE(problem.has_value());
  EXPECT_NE(problem->find("element [1, 0] is 3.001"), std::string::npos) << *problem;
  EXPECT_NE(problem->find("1 of 4"), std::string::npos) << *problem;
  EXPECT_TRUE(mismatch(expected, bytes_of<float>({1, 2, 3})).has_value());
  actual = {1, 2, 3, 4};
  EXPECT_TRUE(mismatch(expected, bytes_of(actual)).has_value());
}

}  // namespace
}  // namespace tandem::reference
