// Graphs with symbolic sizes. The table states one value of each variable; tests/cross/variables_test.cc runs one plan
// of each graph for many values.
#include <limits>

#include "core/base/text.h"
#include "core/tensor/nn.h"
#include "tests/reference/case_table.h"

namespace tandem::reference {

namespace {

constexpr DType kF32 = DType::kF32;

Fill numbers(uint32_t seed) { return uniform(-2, 2, seed); }

Index t_of(int64_t min = 1, int64_t max = 70, int64_t multiple = 1) { return Index::variable("t", min, max, multiple); }
Index b_of(int64_t min = 1, int64_t max = 5) { return Index::variable("b", min, max); }

/// Adds a case of one input of a shape and dtype, with t = 21 (20 when it is a multiple) and b = 3.
template <typename Function>
void add_one(CaseBuilder& builder, const std::string& name, const Shape& shape, Function function, DType dtype = kF32,
             int64_t t = 21) {
  const Fill fill = is_float(dtype) ? numbers(5) : dtype == DType::kBool ? uniform(0, 1, 5) : uniform(0, 60, 5);
  std::map<std::string, int64_t> values;
  const Tensor y = function(builder.input(shape, dtype, fill));
  const auto note = [&](const Index& leaf) { values[leaf.name()] = leaf.name() == "t" ? t : 3; };
  for (const Dim& dim : shape) dim.for_each_leaf(note);
  for (const Dim& dim : y.shape()) dim.for_each_leaf(note);
  if (values.empty()) values["t"] = t;
  builder.add("variables/" + name, is_float(y.dtype()) ? Tolerance::kBounded : Tolerance::kExact, {y}, false, values);
}

void add_shapes(CaseBuilder& builder) {
  const Index t = t_of(), b = b_of();
  add_one(builder, "elementwise chain", {b, t}, [](const Tensor& x) { return tanh(x * 2 + 1) - x; });
  add_one(builder, "elementwise, t innermost of three", {3, b, t}, [](const Tensor& x) { return x * x; });
  add_one(builder, "elementwise, t outermost", {t, 5}, [](const Tensor& x) { return exp(-x); });
  add_one(builder, "f16", {b, t}, [](const Tensor& x) { return x * 1.5 + 0.25; }, DType::kF16);
  add_one(builder, "f64", {t}, [](const Tensor& x) { return sqrt(abs(x)); }, DType::kF64);
  add_one(builder, "u8 wraps", {t, b}, [](const Tensor& x) { return x * 7 + 3; }, DType::kU8);
  add_one(builder, "bool", {t}, [](const Tensor& x) { return logical_not(x); }, DType::kBool);
  add_one(builder, "broadcast over t", {b, 1}, [&](const Tensor& x) { return x.expand({b, t}) * 3; });
  add_one(builder, "broadcast row against column", {t},
          [&](const Tensor& x) { return x.unsqueeze(1) + x.unsqueeze(0) * 2; });
  add_one(builder, "transpose", {t, b}, [](const Tensor& x) { return x.transpose(0, 1) + 1; });
  add_one(builder, "transpose both symbolic, kept", {b, t, 4},
          [](const Tensor& x) { return exp(x).permute({2, 1, 0}).sum({1}); });
  add_one(builder, "reshape splits heads", {b, t, 12}, [&](const Tensor& x) {
    return (x.reshape({b, t, 3, 4}).permute({0, 2, 1, 3}) * 2).permute({0, 2, 1, 3}).reshape({b, t, 12});
  });
  add_one(builder, "flatten symbolic axes", {b, t, 3}, [](const Tensor& x) { return x.flatten(0, 1) * 2; });
  add_one(builder, "flip", {b, t}, [](const Tensor& x) { return x.flip({1}) - x; });
  add_one(builder, "window of the maximum's strides", {4, 70},
          [&](const Tensor& x) { return x.shrink({{0, 4}, {0, t}}) * 2 + 1; });
  add_one(builder, "window in two axes", {5, 70},
          [&](const Tensor& x) { return x.shrink({{0, b}, {0, t}}).transpose(0, 1) * 2; });
  add_one(builder, "slice with a symbolic begin", {70, 3},
          [&](const Tensor& x) { return x.slice(0, Dim(70) - t, kEnd) * 2; });
  const Index wide = t_of(4);
  add_one(builder, "slice off the end", {b, wide},
          [](const Tensor& x) { return x.slice(1, 1, -2) + x.slice(1, 2, -1); });
  add_one(builder, "slice with a step", {b, t}, [](const Tensor& x) { return x.slice(1, 0, kEnd, 3) * 2; });
  add_one(
      builder, "multiple of 4 in groups", {t_of(4, 64, 4), 3},
      [](const Tensor& x) { return x.reshape({-1, 4, 3}).sum({1}); }, kF32, 20);
  add_one(builder, "halves of an even axis", {b, t_of(2, 64, 2)}, [](const Tensor& x) { return glu(x, 1); }, kF32, 20);
}

void add_positions(CaseBuilder& builder) {
  const Index t = t_of(), b = b_of();
  add_one(builder, "arange", {1}, [&](const Tensor& x) { return arange(t) * 3 + x.cast(DType::kI64) * 0; });
  add_one(builder, "arange in f32", {b, t},
          [&](const Tensor& x) { return x * arange(t, kF32) + size_tensor(t, kF32); });
  add_one(builder, "comparison of positions", {t}, [&](const Tensor& x) {
    const Tensor rows = arange(t).unsqueeze(1), columns = arange(t).unsqueeze(0);
    return where(less_equal(columns, rows), x.unsqueeze(0), -1);
  });
  add_one(builder, "positions from the end", {b, t},
          [&](const Tensor& x) { return where(less(size_tensor(t) - arange(t), 4), x, 0); });
  add_one(builder, "sinusoidal positions", {t, 6}, [&](const Tensor& x) {
    return x + sin(arange(t, kF32).unsqueeze(1) * (arange(6, kF32) + 1).unsqueeze(0) * 0.1);
  });
  add_one(
      builder, "embedding", {b, t},
      [&](const Tensor& x) { return embedding(x, builder.weight("table", {50, 9}, kF32, numbers(8))) * 2; },
      DType::kI64);
  add_one(builder, "gather along t", {t, 3},
          [&](const Tensor& x) { return x.gather(0, Tensor::constant<int64_t>({4}, {0, 40, 3, -1}, "rows")) + 1; });
}

void add_padding(CaseBuilder& builder) {
  const Index t = t_of(), b = b_of();
  add_one(builder, "pad both sides", {b, t}, [](const Tensor& x) { return (x * 2).pad({{0, 0}, {3, 2}}, 1) + 1; });
  add_one(builder, "pad outermost", {t, 3}, [](const Tensor& x) { return exp(x).pad({{2, 1}, {0, 0}}) * 2; });
  add_one(builder, "pad to the maximum", {b, t}, [&](const Tensor& x) { return x.pad({{0, 0}, {0, Dim(70) - t}}); });
  add_one(builder, "pad by a variable", {4, b}, [&](const Tensor& x) { return x.pad({{0, 0}, {t, t - 1}}, 2) * 3; });
  add_one(builder, "pad to whole blocks", {b, t}, [&](const Tensor& x) {
    const Dim whole = ceil_div(t, 8) * 8;
    return x.pad({{0, 0}, {0, whole - t}}).reshape({b, ceil_div(t, 8), 8}).sum({2});
  });
  add_one(builder, "reflect pad", {b, t_of(5)}, [](const Tensor& x) { return x.reflect_pad({{0, 0}, {4, 3}}) * 2; });
  add_one(builder, "reflect pad by a variable", {b, t_of(2)},
          [&](const Tensor& x) { return x.reflect_pad({{0, 0}, {x.dim(1) - 1, x.dim(1) - 1}}) + 1; });
  add_one(builder, "frames of a reflected signal", {b, t_of(9)},
          [](const Tensor& x) { return x.reflect_pad({{0, 0}, {4, 4}}).window(1, 8, 3) * 2; });
  add_one(builder, "concat along t", {b, t}, [](const Tensor& x) { return concat({x * 2, -x, x.slice(1, 0, 1)}, 1); });
  add_one(builder, "concat along another axis", {3, t},
          [](const Tensor& x) { return concat({tanh(x), x.slice(0, 0, 2)}, 0) * 2; });
  add_one(builder, "concat outermost, both symbolic", {t, b},
          [](const Tensor& x) { return concat({x, x + 1, x * 2}, 0); });
}

void add_sums(CaseBuilder& builder) {
  const Index t = t_of(), b = b_of();
  add_one(builder, "sum over t", {b, t}, [](const Tensor& x) { return x.sum({1}); });
  add_one(builder, "sum over outer t", {t, 5}, [](const Tensor& x) { return x.sum({0}); });
  add_one(builder, "sum over t, wide rows", {t, 40}, [](const Tensor& x) { return exp(x).sum({0}) * 2; });
  add_one(builder, "sum over both", {b, t}, [](const Tensor& x) { return x.sum(); });
  add_one(builder, "sum of f16", {b, t}, [](const Tensor& x) { return x.sum({1}); }, DType::kF16);
  add_one(builder, "mean and var", {b, t}, [](const Tensor& x) { return x.mean({1}, true) + x.var({1}, true); });
  add_one(builder, "mean over outer axes", {b, t, 6}, [](const Tensor& x) { return x.mean({0, 1}); });
  add_one(builder, "max over t", {3, t}, [](const Tensor& x) { return x.max({1}) - x.min({1}); });
  add_one(builder, "argmax over t", {b, t}, [](const Tensor& x) { return x.argmax(1); });
  add_one(builder, "argmax per t", {t, 7}, [](const Tensor& x) { return x.argmax(1); });
  add_one(builder, "cumsum over t", {2, t_of(1, 40)}, [](const Tensor& x) { return x.cumsum(1); });
  add_one(builder, "cumsum of integers", {t_of(1, 40), 3}, [](const Tensor& x) { return x.cumsum(0); }, DType::kI32);
  add_one(
      builder, "any and all", {b, t}, [](const Tensor& x) { return bitwise_and(x.any({1}), logical_not(x.all({1}))); },
      DType::kBool);
  add_one(builder, "softmax over t", {b, t}, [](const Tensor& x) { return softmax(x, 1); });
  add_one(builder, "statistics of long rows", {b, t * 7}, [](const Tensor& x) {
    return softmax(x, 1) * (x - x.mean({1}, true)) + (x * x).sum({1}, true) - x.max({1}, true);
  });
  add_one(builder, "softmax over outer t", {t, 6}, [](const Tensor& x) { return softmax(x, 0); });
  add_one(builder, "log softmax per t", {b, t, 9}, [](const Tensor& x) { return log_softmax(x, 2); });
  add_one(builder, "layer norm over t", {b, t}, [&](const Tensor& x) {
    const Tensor centred = x - x.mean({1}, true);
    return centred / sqrt((centred * centred).mean({1}, true) + 1e-5);
  });
  add_one(builder, "layer norm per t", {b, t, 18}, [&](const Tensor& x) {
    return layer_norm(x, builder.weight("g", {18}, kF32, numbers(2)), builder.weight("h", {18}, kF32, numbers(3)));
  });
}

void add_products(CaseBuilder& builder) {
  const Index t = t_of(), b = b_of();
  const auto weight = [&](const char* name, const Shape& shape) {
    return builder.weight(name, shape, kF32, numbers(9));
  };
  add_one(builder, "matmul, symbolic M", {t, 9}, [&](const Tensor& x) { return matmul(x, weight("w", {9, 21})); });
  add_one(builder, "matmul, symbolic M, wide N", {t, 5},
          [&](const Tensor& x) { return matmul(x, weight("w", {5, 70})); });
  add_one(builder, "matmul, symbolic N", {9, t}, [&](const Tensor& x) { return matmul(weight("w", {13, 9}), x); });
  add_one(builder, "matmul, symbolic K", {6, t}, [&](const Tensor& x) { return matmul(x, x.transpose(0, 1)); });
  add_one(builder, "matmul, all symbolic", {b, t},
          [&](const Tensor& x) { return matmul(matmul(x.transpose(0, 1), x), x.transpose(0, 1)); });
  add_one(builder, "linear with epilogue", {b, t, 7},
          [&](const Tensor& x) { return silu(linear(x, weight("w", {20, 7}), weight("bias", {20}))) + 1; });
  add_one(builder, "batched matmul", {b, t, 5}, [&](const Tensor& x) { return matmul(x, x.transpose(1, 2)); });
  add_one(builder, "attention", {b, t_of(1, 40), 12}, [&](const Tensor& x) {
    const Dim& n = x.dim(1);
    const auto heads = [&](const Tensor& y) { return y.reshape({b, n, 3, 4}).permute({0, 2, 1, 3}); };
    const Tensor q = heads(linear(x, weight("q", {12, 12}))), k = heads(linear(x, weight("k", {12, 12})));
    const Tensor p = softmax(matmul(q, k.transpose(2, 3)) * 0.5, 3);
    return matmul(p, heads(x)).permute({0, 2, 1, 3}).reshape({b, n, 12});
  });
  for (const bool many : {false, true})
    add_one(builder, many ? "attention to many keys" : "attention of many queries", {b, t_of(1, 40), 9},
            [&](const Tensor& x) {
              const Tensor q = linear(x, weight("q", {16, 9})), w = builder.weight("w", {1, 21, 16}, kF32, numbers(4));
              const Tensor few = tanh(w * x.sum({1, 2}, true));
              const Tensor& queries = many ? few : q;
              const Tensor& keys = many ? q : few;
              return matmul(softmax(matmul(queries, keys.transpose(1, 2)), 2), keys * 2);
            });
  add_one(builder, "conv1d", {b, 3, t},
          [&](const Tensor& x) { return conv1d(x, weight("w", {5, 3, 3}), weight("bias", {5}), {1, 1, 1, 1}); });
  add_one(builder, "conv1d, stride 2, twice", {b, 2, t}, [&](const Tensor& x) {
    const Tensor y = relu(conv1d(x, weight("w", {6, 2, 3}), {}, {2, 1, 1, 1}));
    return conv1d(y, weight("v", {4, 6, 3}), {}, {2, 1, 1, 1});
  });
  add_one(builder, "depthwise conv1d", {b, 6, t},
          [&](const Tensor& x) { return silu(conv1d(x, weight("w", {6, 1, 5}), {}, {1, 2, 1, 6})); });
  add_one(builder, "conv2d subsampling", {1, 1, t_of(3), 10}, [&](const Tensor& x) {
    const Tensor y = relu(conv2d(x, weight("w", {4, 1, 3, 3}), {}, {{2, 2}, {1, 1}, {1, 1}, 1}));
    return y.permute({0, 2, 1, 3}).flatten(2, 3);
  });
  add_one(
      builder, "matmul of integers", {t, 6}, [&](const Tensor& x) { return matmul(x, x.transpose(0, 1)); },
      DType::kI32);
  add_one(
      builder, "matmul of bf16", {t, 6}, [&](const Tensor& x) { return matmul(x, x.transpose(0, 1)); }, DType::kBF16);
  add_one(builder, "encoder layer", {b, t_of(1, 33), 16}, [&](const Tensor& x) {
    const Tensor y = layer_norm(x, weight("g", {16}), weight("h", {16}));
    const Tensor z = x + linear(silu(linear(y, weight("up", {32, 16}))), weight("down", {16, 32})) * 0.5;
    return z + z.mean({1}, true);
  });
  add_one(builder, "encoder layer, bf16 activations", {b, t_of(1, 33), 16}, [&](const Tensor& x) {
    const auto narrow = [](const Tensor& tensor) { return tensor.cast(DType::kBF16).cast(kF32); };
    const Tensor y = narrow(layer_norm(x, weight("g", {16}), weight("h", {16})));
    const Tensor z = x + linear(narrow(silu(linear(y, weight("up", {32, 16})))), weight("down", {16, 32})) * 0.5;
    return z + conv1d(y.transpose(1, 2), weight("w", {16, 1, 5}), {}, {1, 2, 1, 16}).transpose(1, 2) +
           matmul(narrow(matmul(y, y.transpose(1, 2))), y);
  });
}

/// Axes that may have no elements at all.
void add_empty(CaseBuilder& builder) {
  const Index t = t_of(0, 40), b = b_of(0, 3);
  add_one(builder, "may be empty, elementwise", {b, t}, [](const Tensor& x) { return x * 2 + 1; });
  add_one(builder, "may be empty, transpose", {3, t}, [](const Tensor& x) { return exp(x).transpose(0, 1); });
  add_one(builder, "may be empty, flatten", {b, t, 3}, [](const Tensor& x) { return x.permute({1, 0, 2}).flatten(); });
  add_one(builder, "may be empty, sum", {3, t}, [](const Tensor& x) { return x.sum({1}) + 1; });
  add_one(builder, "may be empty, max over outer", {t, 5}, [](const Tensor& x) { return x.max({0}); });
  add_one(builder, "may be empty, concat", {3, t},
          [](const Tensor& x) { return concat({x, x.pad({{0, 0}, {1, 2}})}, 1); });
  add_one(builder, "may be empty, matmul M", {t, 5},
          [&](const Tensor& x) { return matmul(x, builder.weight("w", {5, 9}, kF32, numbers(9))); });
  add_one(builder, "may be empty, matmul N and K", {5, t}, [&](const Tensor& x) {
    return matmul(matmul(builder.weight("w", {3, 5}, kF32, numbers(9)), x), x.transpose(0, 1));
  });
}

/// Axes that end early, at lengths that an input holds.
void add_ragged(CaseBuilder& builder) {
  const Index t = t_of(1, 40), b = b_of();
  const auto add = [&](const std::string& name, const Shape& shape, auto function, DType dtype = kF32) {
    const Tensor x = builder.input(shape, dtype, is_float(dtype) ? numbers(5) : uniform(0, 60, 5));
    const Tensor lengths = builder.input({shape[0]}, name.size() % 2 == 0 ? DType::kI64 : DType::kI32,
                                         values({"5", "17", "0", "33", "100"}));
    const Tensor y = function(x, lengths);
    builder.add("ragged/" + name, is_float(y.dtype()) ? Tolerance::kBounded : Tolerance::kExact, {y}, false,
                {{"b", 3}, {"t", 21}});
  };
  const auto weight = [&](const char* name, const Shape& shape) {
    return builder.weight(name, shape, kF32, numbers(9));
  };
  add("innermost", {b, t}, [](const Tensor& x, const Tensor& n) { return (exp(x) * 2).limit(1, n) + 1; });
  add("time before channels", {b, t, 6}, [](const Tensor& x, const Tensor& n) { return tanh(x).limit(1, n); });
  add("channels before time", {b, 6, t}, [](const Tensor& x, const Tensor& n) { return (x * 3).limit(2, n, 7); });
  add("transposed", {b, t, 6},
      [](const Tensor& x, const Tensor& n) { return (x.limit(1, n) * 2).permute({2, 1, 0}) - 1; });
  add("integers", {b, t}, [](const Tensor& x, const Tensor& n) { return x.limit(1, n, 9) * 2; }, DType::kI32);
  add("bool", {b, t}, [](const Tensor& x, const Tensor& n) { return less(x, 0).limit(1, n, 1); });
  add("f16", {b, t}, [](const Tensor& x, const Tensor& n) { return (x * 2).limit(1, n).sum({1}); }, DType::kF16);
  add("sum", {b, t}, [](const Tensor& x, const Tensor& n) { return (x * x).limit(1, n).sum({1}); });
  add("sum, time outside", {b, t, 20}, [](const Tensor& x, const Tensor& n) { return x.limit(1, n).sum({1}); });
  add("sum of time and channels", {b, t, 3},
      [](const Tensor& x, const Tensor& n) { return x.limit(1, n).sum({1, 2}); });
  add("mean over what exists", {b, t},
      [](const Tensor& x, const Tensor& n) { return x.limit(1, n).sum({1}) / maximum(n, 1).cast(kF32); });
  add("max and min", {b, t}, [](const Tensor& x, const Tensor& n) {
    return x.limit(1, n, -std::numeric_limits<double>::infinity()).max({1}) + x.limit(1, n).min({1});
  });
  add("max and min, filled", {b, t}, [](const Tensor& x, const Tensor& n) {
    return x.limit(1, n, std::numeric_limits<double>::infinity()).min({1}) + x.limit(1, n, 9).max({1});
  });
  add("sum, filled", {b, t}, [](const Tensor& x, const Tensor& n) { return x.limit(1, n, 0.5).sum({1}); });
  add("product", {b, t}, [](const Tensor& x, const Tensor& n) { return (x * 0.1 + 1).limit(1, n, 1).prod({1}); });
  add("product, filled", {b, t}, [](const Tensor& x, const Tensor& n) {
    return (x * 0.1 + 1).limit(1, n, 1.125).prod({1}) + (x * 0.1 + 1).limit(1, n, 2).prod({1});
  });
  const auto of_integers = [](const Tensor& x, const Tensor& n) {
    const Tensor ones = x.limit(1, n, 1), twos = x.limit(1, n, 2);
    return concat({ones.prod({1}), twos.prod({1}), ones.sum({1}), x.limit(1, n).sum({1}), twos.max({1})}, 0);
  };
  add("reductions of integers", {b, t}, of_integers, DType::kI32);
  add("softmax", {b, t}, [](const Tensor& x, const Tensor& n) { return softmax(x, 1, n); });
  add("softmax over keys", {b, 2, t, t}, [](const Tensor& x, const Tensor& n) { return softmax(x * 0.5, 3, n); });
  add("matmul over a limited axis", {b, t, 7}, [](const Tensor& x, const Tensor& n) {
    const Tensor y = x.limit(1, n);
    return matmul(y.transpose(1, 2), y);
  });
  add("linear, then limited", {b, t, 7}, [&](const Tensor& x, const Tensor& n) {
    return silu(linear(x, weight("w", {9, 7}), weight("bias", {9}))).limit(1, n);
  });
  add("attention", {b, t, 8}, [&](const Tensor& x, const Tensor& n) {
    const auto heads = [&](const Tensor& y) { return y.reshape({b, t, 2, 4}).permute({0, 2, 1, 3}); };
    const Tensor q = heads(linear(x, weight("q", {8, 8}))), k = heads(linear(x, weight("k", {8, 8})));
    const Tensor v = heads(linear(x, weight("v", {8, 8})).limit(1, n));
    const Tensor out = matmul(softmax(matmul(q, k.transpose(2, 3)) * 0.5, 3, n), v);
    return out.permute({0, 2, 1, 3}).reshape({b, t, 8}).limit(1, n);
  });
  add("attention without an end of what it attends to", {b, t, 8}, [&](const Tensor& x, const Tensor& n) {
    const Tensor q = linear(x, weight("q", {8, 8})), k = linear(x, weight("k", {8, 8}));
    return matmul(softmax(matmul(q, k.transpose(1, 2)) * 0.5, 2), x).limit(1, n);
  });
  add("attention, queries end first", {b, t, 8}, [&](const Tensor& x, const Tensor& n) {
    const Tensor q = linear(x, weight("q", {8, 8})).limit(1, n, 0.5), k = linear(x, weight("k", {8, 8}));
    const Tensor scores = (matmul(q, k.transpose(1, 2)) * 0.5).limit(1, n / 2, 3);
    return matmul(softmax(scores, 2, n), linear(x, weight("v", {8, 8})).limit(1, n)).limit(1, n);
  });
  add("attention, weights end with the queries", {b, t, 8}, [&](const Tensor& x, const Tensor& n) {
    const Tensor shares = softmax(matmul(x, x.transpose(1, 2)) * 0.1, 2).limit(1, n, 1);
    return matmul(shares, linear(x, weight("v", {8, 8})));
  });
  add("layer norm, then limited", {b, t, 9}, [&](const Tensor& x, const Tensor& n) {
    return layer_norm(x, weight("g", {9}), weight("h", {9})).limit(1, n) * 2;
  });
  const auto layer = [&](const Tensor& x, int64_t inputs, int64_t outputs) {
    return linear(x, weight(concat("w", outputs).c_str(), {outputs, inputs}));
  };
  const auto along_time = [&](const Tensor& x, int64_t stride) {
    return conv1d(x.transpose(1, 2), weight("kernel", {6, 1, 5}), {}, {stride, 2, 1, 6}).transpose(1, 2);
  };
  add("layers that a limit ends", {b, t, 6},
      [&](const Tensor& x, const Tensor& n) { return layer(silu(layer(x, 6, 9)), 9, 5).limit(1, n); });
  add("convolution between layers", {b, t, 6}, [&](const Tensor& x, const Tensor& n) {
    return layer(along_time(silu(layer(x, 6, 6)).limit(1, n), 1), 6, 4).limit(1, n);
  });
  add("neighbours of a length", {b, t, 6},
      [&](const Tensor& x, const Tensor& n) { return layer(along_time(layer(x, 6, 6) * 0.5, 1), 6, 4).limit(1, n); });
  add("halved twice", {b, t, 6}, [&](const Tensor& x, const Tensor& n) {
    const Tensor half = (n + 1) / 2;
    const Tensor y = along_time(layer(x, 6, 6).limit(1, n), 2).limit(1, half);
    return exp(along_time(y, 2)).limit(1, (half + 1) / 2);
  });
  add("padded behind a limit", {b, t, 6}, [&](const Tensor& x, const Tensor& n) {
    return exp(layer(x, 6, 5).limit(1, n)).pad({{0, 0}, {2, 3}, {1, 0}}) * 2;
  });
  add("concatenation of layers", {b, t, 6}, [&](const Tensor& x, const Tensor& n) {
    const Tensor y = layer(x, 6, 5);
    return concat({y, exp(y * 0.5)}, 1).limit(1, n + 3);
  });
  add("two lengths", {b, t, 6}, [&](const Tensor& x, const Tensor& n) {
    const Tensor y = layer(x, 6, 5);
    return exp(y).limit(1, n) + y.limit(1, n / 2, 1);
  });
  add("lanes innermost", {b, t, 6}, [&](const Tensor& x, const Tensor& n) {
    return exp(exp(layer(x, 6, 5) * 0.1).limit(1, n).permute({2, 1, 0}).sum({0}) * 0.1);
  });
  add("gathered rows", {b, t, 6}, [&](const Tensor& x, const Tensor& n) {
    return layer(x, 6, 5).gather(1, (n - 3).cast(DType::kI64)).limit(1, n);
  });
  add("conv1d of a limited signal", {b, 4, t}, [&](const Tensor& x, const Tensor& n) {
    return conv1d(x.limit(2, n), weight("w", {6, 4, 3}), {}, {2, 1, 1, 1}).limit(2, (n + 1) / 2);
  });
}

}  // namespace

void add_variable_cases(CaseBuilder& builder) {
  add_shapes(builder);
  add_positions(builder);
  add_padding(builder);
  add_sums(builder);
  add_products(builder);
  add_empty(builder);
  add_ragged(builder);
}

}  // namespace tandem::reference
