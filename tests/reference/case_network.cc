#include <array>
#include <functional>

#include "core/base/text.h"
#include "core/tensor/nn.h"
#include "tests/reference/case_table.h"

namespace tandem::reference {

namespace {

Fill small(uint32_t seed) { return uniform(-1, 1, seed); }

void add_products(CaseBuilder& builder) {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 33, 17}, {4, 1, 5},   {5, 7, 3},    {16, 16, 16},
                              {17, 31, 33}, {33, 3, 1},  {3, 100, 3}, {64, 48, 64}, {2, 16, 65}};
  for (const auto& [m, k, n] : sizes) {
    const Tensor a = builder.input({m, k}, DType::kF32, small(1));
    const Tensor b = builder.input({k, n}, DType::kF32, small(2));
    builder.add(concat("matmul/f32/", m, " x ", k, " x ", n), Tolerance::kBounded, {matmul(a, b)});
  }
  for (const DType dtype :
       {DType::kF64, DType::kF16, DType::kBF16, DType::kI16, DType::kI32, DType::kI64, DType::kU8}) {
    const Fill fill = is_float(dtype) ? small(3) : uniform(0, 20, 3);
    const Tensor a = builder.input({5, 17}, dtype, fill);
    const Tensor b = builder.input({17, 9}, dtype, fill);
    builder.add(concat("matmul/", name_of(dtype), "/5 x 17 x 9"),
                is_float(dtype) ? Tolerance::kBounded : Tolerance::kExact, {matmul(a, b)});
  }
  const Tensor p = builder.input({5, 3}, DType::kBool, values({"0", "1", "1"}));
  builder.add("matmul/bool/or of and", Tolerance::kExact, {matmul(p, p.transpose(0, 1))});
  const Tensor a = builder.input({17, 5}, DType::kF32, small(1));
  const Tensor b = builder.input({9, 17}, DType::kF32, small(2));
  builder.add("matmul/f32/both transposed", Tolerance::kBounded, {matmul(a.transpose(0, 1), b.transpose(0, 1))});
  const Tensor c = builder.input({2, 1, 4, 7}, DType::kF32, small(3));
  const Tensor d = builder.input({3, 7, 5}, DType::kF32, small(4));
  builder.add("matmul/f32/batches broadcast", Tolerance::kBounded, {matmul(c, d)});
  const Tensor e = builder.input({33}, DType::kF32, small(5));
  const Tensor f = builder.input({33, 3}, DType::kF32, small(6));
  builder.add("matmul/f32/vectors", Tolerance::kBounded, {matmul(e, f), matmul(f.transpose(0, 1), e), matmul(e, e)});
  const Tensor g = builder.input({4, 8, 16}, DType::kF32, small(7));
  builder.add("matmul/f32/with itself", Tolerance::kBounded, {matmul(g, g.transpose(1, 2))});
  const Tensor h = builder.input({7, 33}, DType::kF32, small(8));
  const Tensor w = builder.weight("w", {65, 33}, DType::kF32, small(9));
  builder.add("linear/f32/constant weight, bias, relu", Tolerance::kBounded,
              {relu(linear(h, w, builder.weight("bias", {65}, DType::kF32, small(10))))});
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor x = builder.input({3, 48}, dtype, small(11));
    const Tensor weight = builder.weight("w", {33, 48}, dtype, small(12));
    builder.add(concat("linear/", name_of(dtype), "/constant weight, sigmoid"), Tolerance::kBounded,
                {sigmoid(linear(x, weight, builder.weight("bias", {33}, dtype, small(13))))});
  }
  // Read in several streams.
  const Tensor k = builder.input({1, 521}, DType::kF32, small(16));
  builder.add("linear/f32/one row, a large weight", Tolerance::kBounded,
              {linear(k, builder.weight("w", {520, 521}, DType::kF32, small(17)))});
  // Packed a vector of columns at a time, which divides neither the columns nor the last block.
  const Tensor some_rows = builder.input({3, 513}, DType::kF32, small(18));
  builder.add("linear/f32/some rows, a large weight", Tolerance::kBounded,
              {linear(some_rows, builder.weight("w", {538, 513}, DType::kF32, small(19)))});
  const Tensor halves = builder.input({2, 1030}, DType::kF32, small(18));
  builder.add("linear/f16/some rows, a large weight", Tolerance::kBounded,
              {linear(halves, builder.weight("w", {538, 1030}, DType::kF16, small(19)).cast(DType::kF32))});
  const Tensor i = builder.input({1, 128}, DType::kF32, small(14));
  const Tensor j = builder.weight("w", {128, 128}, DType::kF32, small(15));
  builder.add("linear/f32/one row, residual", Tolerance::kBounded, {linear(i, j) + i});
}

void add_convolutions(CaseBuilder& builder) {
  const struct {
    const char* what;
    int64_t channels, length, outputs, taps;
    Conv1dOptions options;
  } lines[] = {{"one tap", 5, 17, 7, 1, {}},
               {"plain", 3, 33, 4, 3, {}},
               {"padded, stride 2", 8, 33, 16, 3, {2, 1, 1, 1}},
               {"dilated", 4, 40, 3, 5, {1, 4, 2, 1}},
               {"depthwise", 6, 31, 6, 5, {1, 2, 1, 6}},
               {"depthwise, two outputs each", 3, 20, 6, 4, {2, 0, 1, 3}},
               {"two groups", 4, 16, 10, 3, {1, 1, 1, 2}},
               {"one output channel", 16, 12, 1, 3, {1, 1, 1, 1}},
               {"stride 64 of one channel", 1, 320, 9, 64, {32, 0, 1, 1}},
               {"window of the whole length", 3, 9, 5, 9, {}}};
  for (const auto& line : lines)
    for (const bool constant : {false, true}) {
      const Tensor x = builder.input({2, line.channels, line.length}, DType::kF32, small(1));
      const Shape shape = {line.outputs, line.channels / line.options.groups, line.taps};
      const Tensor w =
          constant ? builder.weight("w", shape, DType::kF32, small(2)) : builder.input(shape, DType::kF32, small(2));
      const Tensor bias = constant ? builder.weight("bias", {line.outputs}, DType::kF32, small(3)) : Tensor();
      builder.add(concat("conv1d/f32/", line.what, constant ? ", constant weight" : ""), Tolerance::kBounded,
                  {conv1d(x, w, bias, line.options)});
    }
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
    const Tensor x = builder.input({1, 5, 21}, dtype, small(4));
    const Tensor w = builder.weight("w", {6, 5, 3}, dtype, small(5));
    builder.add(concat("conv1d/", name_of(dtype), "/padded"), Tolerance::kBounded, {conv1d(x, w, {}, {1, 1, 1, 1})});
  }
  const struct {
    const char* what;
    Shape x, w;
    Conv2dOptions options;
  } planes[] = {{"plain", {1, 3, 9, 11}, {5, 3, 3, 3}, {}},
                {"padded, stride 2", {2, 4, 9, 8}, {6, 4, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, 1}},
                {"dilated", {1, 2, 12, 12}, {3, 2, 3, 2}, {{1, 1}, {2, 0}, {2, 3}, 1}},
                {"depthwise", {1, 6, 7, 9}, {6, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 6}},
                {"three groups", {2, 6, 5, 5}, {9, 2, 2, 2}, {{1, 1}, {0, 0}, {1, 1}, 3}},
                {"one by one", {1, 8, 4, 5}, {3, 8, 1, 1}, {}},
                {"uneven stride", {1, 1, 17, 16}, {4, 1, 3, 5}, {{2, 3}, {1, 2}, {1, 1}, 1}}};
  for (const auto& plane : planes) {
    const Tensor x = builder.input(plane.x, DType::kF32, small(6));
    const Tensor w = builder.weight("w", plane.w, DType::kF32, small(7));
    builder.add(concat("conv2d/f32/", plane.what), Tolerance::kBounded,
                {relu(conv2d(x, w, builder.weight("bias", {plane.w[0]}, DType::kF32, small(8)), plane.options))});
  }
}

void add_activations(CaseBuilder& builder) {
  const struct {
    const char* name;
    Tensor (*function)(const Tensor&);
  } functions[] = {{"relu", relu},
                   {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.1); }},
                   {"elu", [](const Tensor& x) { return elu(x, 1.5); }},
                   {"silu", silu},
                   {"gelu", gelu},
                   {"softplus", softplus},
                   {"glu", [](const Tensor& x) { return glu(x, 1); }}};
  for (const auto& [name, function] : functions)
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16})
      builder.add(concat(name, "/", name_of(dtype), "/odd size"), Tolerance::kBounded,
                  {function(builder.input({3, 34}, dtype, uniform(-5, 5, 1)))});
}

void add_normalisation(CaseBuilder& builder) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    builder.add(concat("softmax/", name_of(dtype), "/last axis"), Tolerance::kBounded,
                {softmax(builder.input({5, 33}, dtype, uniform(-4, 4, 1)), 1)});
    builder.add(concat("log_softmax/", name_of(dtype), "/last axis"), Tolerance::kBounded,
                {log_softmax(builder.input({4, 17}, dtype, uniform(-4, 4, 2)), -1)});
    const Tensor x = builder.input({3, 48}, dtype, uniform(-2, 2, 3));
    const Tensor w = builder.weight("w", {48}, dtype, small(4));
    builder.add(concat("layer_norm/", name_of(dtype), "/48"), Tolerance::kBounded,
                {layer_norm(x, w, builder.weight("bias", {48}, dtype, small(5)))});
  }
  builder.add("softmax/f32/first axis", Tolerance::kBounded,
              {softmax(builder.input({7, 3}, DType::kF32, small(1)), 0)});
  builder.add("softmax/f32/large values", Tolerance::kBounded,
              {softmax(builder.input({2, 5}, DType::kF32, values({"1000", "-1000", "999", "0", "1000.5"})), 1)});
  builder.add("softmax/f32/one element", Tolerance::kBounded,
              {softmax(builder.input({3, 1}, DType::kF32, small(2)), 1)});
  // Rows of several vectors at once, with rests of each kind; a long value that sums and elements of a row share.
  for (const int64_t size : {256, 300, 517}) {
    const Tensor x = builder.input({3, size}, DType::kF32, uniform(-4, 4, 5));
    const Tensor w = builder.weight("w", {size}, DType::kF32, small(6));
    builder.add(concat("rows/f32/statistics of ", size), Tolerance::kBounded,
                {x.sum({1}), (x * x).sum({1}), x.max({1}), softmax(x, 1), layer_norm(x, w, {})});
    const Tensor power = exp(builder.input({3, size}, DType::kF32, uniform(-4, 4, 5)));
    const Tensor sum = power.sum({1}, true);
    builder.add(concat("rows/f32/shared exponentials of ", size), Tolerance::kBounded,
                {power / sum + power.flip({1}), power * sum / (power * power).sum({1}, true)});
  }
  const Tensor row = exp(builder.input({300}, DType::kF32, small(7)));
  builder.add("rows/f32/one row of shared exponentials", Tolerance::kBounded, {row / row.sum()});
  const Tensor whole = builder.input({3, 300}, DType::kI32, uniform(-1000, 1000, 8));
  builder.add("rows/i32/statistics of 300", Tolerance::kExact, {whole.sum({1}), whole.max({1}), whole.min({1})});
  const Tensor a = builder.input({2, 3, 4, 5}, DType::kF32, small(3));
  builder.add("layer_norm/f32/two axes", Tolerance::kBounded,
              {layer_norm(a, builder.weight("w", {4, 5}, DType::kF32, small(4)), {})});
  const Tensor b = builder.input({2, 5, 7}, DType::kF32, small(5));
  const Tensor mean = builder.weight("mean", {5}, DType::kF32, small(6));
  const Tensor variance = builder.weight("variance", {5}, DType::kF32, uniform(0.5, 2, 7));
  const Tensor weight = builder.weight("w", {5}, DType::kF32, small(8));
  builder.add("batch_norm/f32/three axes", Tolerance::kBounded,
              {batch_norm(b, mean, variance, weight, builder.weight("bias", {5}, DType::kF32, small(9)))});
}

void add_lstm(CaseBuilder& builder, int64_t rows, int64_t in, int64_t hidden, DType dtype) {
  const Tensor x = builder.input({rows, in}, dtype, small(1));
  const Tensor h = builder.input({rows, hidden}, dtype, small(2));
  const Tensor c = builder.input({rows, hidden}, dtype, small(3));
  const Tensor w_ih = builder.weight("w_ih", {4 * hidden, in}, dtype, uniform(-0.3, 0.3, 4));
  const Tensor w_hh = builder.weight("w_hh", {4 * hidden, hidden}, dtype, uniform(-0.3, 0.3, 5));
  const Tensor b_ih = builder.weight("b_ih", {4 * hidden}, dtype, small(6));
  const LstmOutput out = lstm_cell(x, h, c, w_ih, w_hh, b_ih, builder.weight("b_hh", {4 * hidden}, dtype, small(7)));
  builder.add(concat("lstm_cell/", name_of(dtype), "/", rows, " rows, ", in, " to ", hidden), Tolerance::kBounded,
              {concat({out.h, out.c}, 1)});
}

/// Steps whose input halves are one product before the first of them.
void add_lstm_sequence(CaseBuilder& builder, int64_t steps, int64_t in, int64_t hidden) {
  const Tensor x = builder.input({steps, in}, DType::kF32, small(1));
  const Tensor w_hh = builder.weight("w_hh", {4 * hidden, hidden}, DType::kF32, uniform(-0.3, 0.3, 3));
  const Tensor gates = linear(x, builder.weight("w_ih", {4 * hidden, in}, DType::kF32, uniform(-0.3, 0.3, 2)),
                              builder.weight("bias", {4 * hidden}, DType::kF32, small(4)));
  LstmOutput state = {builder.input({1, hidden}, DType::kF32, small(5)),
                      builder.input({1, hidden}, DType::kF32, small(6))};
  std::vector<Tensor> outputs;
  for (int64_t i = 0; i < steps; i++) {
    state = lstm_cell(gates.slice(0, i, i + 1), state.h, state.c, w_hh);
    outputs.push_back(state.h);
  }
  outputs.push_back(state.c);
  builder.add(concat("lstm_cell/f32/", steps, " steps from gates, ", in, " to ", hidden), Tolerance::kBounded,
              {concat(outputs, 0)});
}

void add_blocks(CaseBuilder& builder) {
  const Tensor q = builder.input({2, 5, 8}, DType::kF32, small(1));
  const Tensor k = builder.input({2, 7, 8}, DType::kF32, small(2));
  const Tensor v = builder.input({2, 7, 3}, DType::kF32, small(3));
  builder.add("attention/f32/5 queries, 7 keys", Tolerance::kBounded,
              {matmul(softmax(matmul(q, k.transpose(1, 2)) * 0.35355338, 2), v)});
  const Tensor x = builder.input({1, 33}, DType::kF32, small(4));
  const Tensor w1 = builder.weight("w1", {66, 33}, DType::kF32, small(5));
  const Tensor w2 = builder.weight("w2", {33, 66}, DType::kF32, uniform(-0.2, 0.2, 6));
  builder.add("feed forward/f32/residual", Tolerance::kBounded, {linear(silu(linear(x, w1)), w2) * 0.5 + x});
  const Tensor frames = builder.input({1, 1, 160}, DType::kF32, small(7));
  const Tensor basis = builder.weight("basis", {34, 1, 32}, DType::kF32, small(8));
  const Tensor spectrum = conv1d(frames.reflect_pad({{0, 0}, {0, 0}, {0, 16}}), basis, {}, {16, 0, 1, 1});
  const Tensor real = spectrum.slice(1, 0, 17), imaginary = spectrum.slice(1, 17, 34);
  builder.add("spectrogram/f32/reflected end, magnitude", Tolerance::kBounded,
              {sqrt(real * real + imaginary * imaginary)});
  const Tensor y = builder.input({1, 4, 16}, DType::kF32, small(9));
  const Tensor a = relu(conv1d(y, builder.weight("a", {8, 4, 3}, DType::kF32, small(10)), {}, {1, 1, 1, 1}));
  const Tensor b =
      relu(conv1d(a, builder.weight("b", {8, 8, 3}, DType::kF32, uniform(-0.3, 0.3, 11)), {}, {2, 1, 1, 1}));
  builder.add("stack of convolutions/f32/head", Tolerance::kBounded, {sigmoid(b.mean({2}).sum({1}, true))});
}

/// Contractions with a reduction of rows between them, whose scores stay in strips where they can.
void add_attention(CaseBuilder& builder) {
  const auto input = [&](const Shape& shape, uint32_t seed) { return builder.input(shape, DType::kF32, small(seed)); };
  const auto scores = [](const Tensor& q, const Tensor& k) { return matmul(q, k.transpose(-2, -1)) * 0.3; };
  const auto shares = [&](const Tensor& q, const Tensor& k) { return softmax(scores(q, k), -1); };
  for (const auto& [queries, keys, width, columns] : {std::array<int64_t, 4>{1, 9, 4, 4},
                                                      {2, 2, 3, 1},
                                                      {4, 48, 16, 16},
                                                      {9, 49, 5, 48},
                                                      {23, 16, 8, 33},
                                                      {50, 130, 7, 50}}) {
    const Tensor q = input({queries, width}, 1), k = input({keys, width}, 2), v = input({keys, columns}, 3);
    builder.add(concat("attention/f32/", queries, " queries, ", keys, " keys, ", columns, " columns"),
                Tolerance::kBounded, {matmul(shares(q, k), v)});
  }
  using Make = std::function<std::vector<Tensor>(const Tensor& q, const Tensor& k, const Tensor& v)>;
  const auto add = [&](const std::string& what, const Make& make) {
    const Tensor q = input({2, 3, 13, 8}, 4), k = input({2, 3, 21, 8}, 5), v = input({2, 3, 21, 10}, 6);
    builder.add("attention/f32/" + what, Tolerance::kBounded, make(q, k, v));
  };
  using T = const Tensor&;
  add("batch and heads", [&](T q, T k, T v) { return std::vector{matmul(shares(q, k), v)}; });
  add("heads after queries",
      [&](T q, T k, T v) { return std::vector{matmul(shares(q, k), v).permute({0, 2, 1, 3}).reshape({2, 13, 30})}; });
  add("columns before queries",
      [&](T q, T k, T v) { return std::vector{matmul(shares(q, k), v).transpose(2, 3) + 1}; });
  add("keys and values shared by the heads",
      [&](T q, T k, T v) { return std::vector{matmul(shares(q, k.slice(1, 0, 1)), v.slice(1, 1, 2))}; });
  add("a bias and an epilogue", [&](T q, T k, T v) {
    return std::vector{sigmoid(matmul(softmax(scores(q, k) + input({3, 13, 21}, 7), -1), v) * 2)};
  });
  add("the bias is a product too", [&](T q, T k, T v) {
    const Tensor a = input({2, 3, 13, 4}, 7), b = input({2, 3, 4, 21}, 8);
    return std::vector{matmul(softmax(scores(q, k) + matmul(a, b), -1), v)};
  });
  add("the past only", [&](T q, T k, T v) {
    const Tensor key = arange(21, DType::kI32).reshape({1, 21}), query = arange(13, DType::kI32).reshape({13, 1});
    return std::vector{matmul(softmax(where(less_equal(key, query + 8), scores(q, k), -1e9), -1), v)};
  });
  add("scores less those beside them", [&](T q, T k, T v) {
    const Tensor own = scores(q, k);
    return std::vector{matmul(softmax(own - own.pad({{0, 0}, {0, 0}, {0, 0}, {1, 0}}).slice(3, 0, 21), -1), v)};
  });
  add("scores less those of the row above", [&](T q, T k, T v) {
    const Tensor own = scores(q, k);
    return std::vector{matmul(softmax(own - own.pad({{0, 0}, {0, 0}, {1, 0}, {0, 0}}).slice(2, 0, 13), -1), v)};
  });
  add("shares of a row of which few are used", [&](T q, T k, T v) {
    const Tensor own = exp(scores(q, k));
    return std::vector{matmul((own / own.sum({3}, true)).slice(3, 2, 7) + own.slice(3, 16, 21), v.slice(2, 0, 5))};
  });
  add("scores backwards", [&](T q, T k, T v) { return std::vector{matmul(softmax(scores(q, k).flip({3}), -1), v)}; });
  add("queries backwards", [&](T q, T k, T v) { return std::vector{matmul(softmax(scores(q, k).flip({2}), -1), v)}; });
  add("squares over their sum", [&](T q, T k, T v) {
    const Tensor square = scores(q, k) * scores(q, k);
    return std::vector{matmul(square / square.sum({-1}, true), v)};
  });
  add("centred twice", [&](T q, T k, T v) {
    const Tensor own = scores(q, k), centred = own - own.mean({-1}, true);
    return std::vector{matmul(centred / sqrt((centred * centred).mean({-1}, true) + 1e-5), v)};
  });
  add("shares of the largest of all heads", [&](T q, T k, T v) {
    const Tensor own = exp(scores(q, k));
    return std::vector{matmul(own / own.max({1, 2, 3}, true), v)};
  });
  add("shares of the largest of a head", [&](T q, T k, T v) {
    const Tensor own = exp(scores(q, k));
    return std::vector{matmul(own / own.max({2, 3}, true) + own / own.sum({3}, true), v)};
  });
  add("shares of a column", [&](T q, T k, T v) {
    const Tensor own = exp(scores(q, k));
    return std::vector{matmul(own / own.sum({2}, true), v)};
  });
  add("the weights are asked for", [&](T q, T k, T v) {
    const Tensor weights = shares(q, k);
    return std::vector{matmul(weights, v), weights};
  });
  add("the scores are asked for", [&](T q, T k, T v) {
    const Tensor own = scores(q, k);
    return std::vector{matmul(softmax(own, -1), v), own};
  });
  add("weights with two readers", [&](T q, T k, T v) {
    const Tensor weights = shares(q, k);
    return std::vector{matmul(weights, v), matmul(weights, v.slice(3, 0, 4) * 2)};
  });
  add("weights with themselves", [&](T q, T k, T) {
    const Tensor weights = shares(q, k);
    return std::vector{matmul(weights, weights.transpose(-2, -1))};
  });
  add("weights in the epilogue", [&](T q, T k, T) {
    const Tensor weights = shares(q, k);
    return std::vector{matmul(weights, input({2, 3, 21, 21}, 10)) + weights};
  });
  add("rows as columns",
      [&](T q, T k, T v) { return std::vector{matmul(v.transpose(-2, -1), shares(q, k).transpose(-2, -1))}; });
  add("two in a row", [&](T q, T k, T v) {
    const Tensor first = matmul(shares(q, k), v);
    return std::vector{matmul(shares(first, v), k)};
  });
  add("constant keys and values", [&](T q, T, T) {
    const Tensor k = builder.weight("k", {21, 8}, DType::kF32, small(13));
    return std::vector{matmul(shares(q, k), builder.weight("v", {21, 10}, DType::kF32, small(14)))};
  });
  const Tensor a = builder.input({3, 7, 5}, DType::kF64, small(15)),
               b = builder.input({3, 11, 5}, DType::kF64, small(16));
  builder.add("attention/f64/3 heads", Tolerance::kBounded, {matmul(shares(a, b), b)});
  const Tensor c = builder.input({7, 5}, DType::kF16, small(17)), d = builder.input({11, 5}, DType::kF16, small(18));
  builder.add("attention/f16/7 queries", Tolerance::kBounded, {matmul(shares(c, d), d)});
}

/// What products read is rounded to bf16: it is stored so, for whoever reads it.
void add_bfloat16_activations(CaseBuilder& builder) {
  const auto narrow = [](const Tensor& x) { return x.cast(DType::kBF16).cast(DType::kF32); };
  const auto weight = [&](const Shape& shape, uint32_t seed) {
    return builder.weight(concat("w", seed), shape, DType::kF32, uniform(-0.5, 0.5, seed));
  };
  const auto add = [&](const std::string& what, const std::vector<Tensor>& outputs) {
    builder.add("bf16 activations/f32/" + what, Tolerance::kBounded, outputs);
  };
  const auto rows = [&] { return builder.input({2, 9, 32}, DType::kF32, small(1)); };
  const auto norm = [&](const Tensor& x) { return narrow(layer_norm(x, weight({32}, 2), weight({32}, 3))); };
  Tensor x = rows(), y = norm(x);
  add("rows that two products and a sum share",
      {linear(y, weight({48, 32}, 4)), sigmoid(linear(y, weight({33, 32}, 5))), y.sum({1}), y * 3.0});
  x = rows();
  y = norm(x);
  add("hidden layer, residual", {x + linear(narrow(silu(linear(y, weight({65, 32}, 6)))), weight({32, 65}, 7)) * 0.5});
  y = norm(rows());
  add("bf16 weights", {linear(narrow(tanh(linear(y, narrow(weight({64, 32}, 8))))), narrow(weight({17, 64}, 9)))});
  y = norm(rows());
  add("an output that products read",
      {y.cast(DType::kBF16), linear(y, weight({16, 32}, 10)), matmul(y, y.transpose(1, 2))});

  const auto frames = [&] { return builder.input({2, 11, 12}, DType::kF32, small(11)); };
  const auto heads = [](const Tensor& tensor) { return tensor.reshape({2, 11, 3, 4}).permute({0, 2, 1, 3}); };
  for (const bool limited : {false, true}) {
    const Tensor seen = narrow(frames());
    const Tensor lengths = limited ? builder.input({2}, DType::kI32, values({"11", "7"})) : Tensor();
    const Tensor q = heads(narrow(linear(seen, weight({12, 12}, 12))));
    const Tensor k = heads(narrow(linear(seen, weight({12, 12}, 13))));
    Tensor v = narrow(linear(seen, weight({12, 12}, 14)));
    if (limited) v = v.limit(1, lengths);
    const Tensor scores = matmul(q, k.transpose(2, 3)) * 0.5;
    const Tensor shares = narrow(limited ? softmax(scores, 3, lengths) : softmax(scores, 3));
    const Tensor out = narrow(matmul(shares, heads(v))).permute({0, 2, 1, 3}).reshape({2, 11, 12});
    const Tensor result = linear(out, weight({12, 12}, 15));
    add(concat("attention", limited ? ", lengths" : ""), {limited ? result.limit(1, lengths) : result});
  }

  x = frames();
  const Tensor lengths = builder.input({2}, DType::kI32, values({"8", "11"}));
  const Tensor z = narrow(glu(x, -1)).limit(1, lengths).transpose(1, 2);
  const Tensor depthwise = conv1d(z, weight({6, 1, 5}, 16), {}, {1, 2, 1, 6}).transpose(1, 2);
  add("depthwise convolution, lengths", {linear(narrow(silu(depthwise)), weight({12, 6}, 17)).limit(1, lengths)});
  x = frames();
  const Tensor grown = concat({narrow(exp(x)), narrow(abs(x)).reflect_pad({{0, 0}, {2, 0}, {0, 0}})}, 1);
  add("parts, a mirrored end and a window",
      {conv1d(grown.transpose(1, 2), weight({5, 12, 3}, 18), {}, {2, 1, 1, 1}), linear(grown, weight({7, 12}, 19))});
  const auto state = [&](int64_t width, uint32_t seed) { return builder.input({3, width}, DType::kF32, small(seed)); };
  const LstmOutput next = lstm_cell(narrow(state(5, 20)), narrow(state(4, 21)), state(4, 22), weight({16, 5}, 23),
                                    weight({16, 4}, 24), {}, {});
  add("lstm_cell", {next.h, next.c});
}

}  // namespace

void add_contraction_cases(CaseBuilder& builder) {
  add_products(builder);
  add_convolutions(builder);
}

void add_network_cases(CaseBuilder& builder) {
  add_activations(builder);
  add_normalisation(builder);
  add_lstm(builder, 1, 128, 128, DType::kF32);
  add_lstm(builder, 3, 5, 7, DType::kF32);
  add_lstm(builder, 2, 9, 4, DType::kF64);
  add_lstm(builder, 2, 9, 4, DType::kF16);
  add_lstm_sequence(builder, 3, 5, 20);
  add_blocks(builder);
  add_attention(builder);
  add_bfloat16_activations(builder);
}

}  // namespace tandem::reference
