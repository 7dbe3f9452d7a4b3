#include "core/base/text.h"
#include "tests/reference/case_table.h"

namespace tandem::reference {

namespace {

const DType all[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI16,
                     DType::kI32, DType::kI64, DType::kU8,  DType::kBool};

Fill fill_for(DType dtype, uint32_t seed) {
  return dtype == DType::kBool ? uniform(0, 1, seed) : is_float(dtype) ? uniform(-4, 4, seed) : uniform(0, 100, seed);
}

/// Adds the same movement for two dtypes of different width.
template <typename Function>
void add_movement(CaseBuilder& builder, const char* name, const Shape& shape, Function function) {
  for (const DType dtype : {DType::kF32, DType::kU8})
    builder.add(concat(name, "/", name_of(dtype)), Tolerance::kExact,
                {function(builder.input(shape, dtype, fill_for(dtype, 7)))});
}

void add_views(CaseBuilder& builder) {
  add_movement(builder, "reshape/merge and split", {3, 4, 5}, [](const Tensor& x) { return x.reshape({2, -1, 3}); });
  add_movement(builder, "permute/three axes", {3, 5, 17}, [](const Tensor& x) { return x.permute({2, 0, 1}); });
  add_movement(builder, "permute/transpose", {17, 33}, [](const Tensor& x) { return x.transpose(0, 1); });
  add_movement(builder, "permute then reshape", {3, 4, 5},
               [](const Tensor& x) { return x.permute({1, 2, 0}).flatten(); });
  add_movement(builder, "expand/inner and outer", {3, 1}, [](const Tensor& x) { return x.expand({2, 3, 7}); });
  add_movement(builder, "pad/both sides", {3, 5}, [](const Tensor& x) { return x.pad({{1, 2}, {0, 3}}, 2); });
  add_movement(builder, "pad/zero, before only", {17}, [](const Tensor& x) { return x.pad({{4, 0}}); });
  add_movement(builder, "reflect_pad/one axis", {2, 9},
               [](const Tensor& x) { return x.reflect_pad({{0, 0}, {3, 4}}); });
  add_movement(builder, "reflect_pad/whole axis", {5}, [](const Tensor& x) { return x.reflect_pad({{4, 4}}); });
  add_movement(builder, "shrink/two axes", {7, 9}, [](const Tensor& x) { return x.shrink({{2, 5}, {1, 8}}); });
  add_movement(builder, "stride/step 3", {17, 2}, [](const Tensor& x) { return x.slice(0, 0, kEnd, 3); });
  add_movement(builder, "slice/begin, end, step", {3, 20}, [](const Tensor& x) { return x.slice(1, 3, -2, 4); });
  add_movement(builder, "flip/two axes", {3, 4, 5}, [](const Tensor& x) { return x.flip({0, 2}); });
  add_movement(builder, "flip/longer than a vector", {3, 70}, [](const Tensor& x) { return x.flip({1}); });
  add_movement(builder, "window/step and dilation", {2, 17}, [](const Tensor& x) { return x.window(1, 3, 2, 4); });
  add_movement(builder, "window/overlapping", {33}, [](const Tensor& x) { return x.window(0, 16, 5); });
  add_movement(builder, "pad, flip, window, stride", {3, 11}, [](const Tensor& x) {
    return x.pad({{0, 1}, {2, 2}}, 1).flip({1}).window(1, 4, 3).slice(0, 0, kEnd, 2).permute({2, 1, 0});
  });
  add_movement(builder, "split/three parts", {2, 9},
               [](const Tensor& x) { return concat(x.split(1, {2, 3, 4}), 0 + 1).flip({1}); });
  add_movement(builder, "cumulative windows", {6}, [](const Tensor& x) { return x.pad({{5, 0}}).window(0, 6); });
  const Tensor inner = builder.input({5, 6}, DType::kF32, uniform(-1, 1, 3));
  builder.add("pad/of a computed value", Tolerance::kBounded, {exp(inner).pad({{1, 1}, {2, 0}}, -1) * 2});
}

void add_joins(CaseBuilder& builder) {
  for (const DType dtype : all) {
    const Tensor x = builder.input({2, 3}, dtype, fill_for(dtype, 1));
    const Tensor y = builder.input({2, 16}, dtype, fill_for(dtype, 2));
    builder.add(concat("concat/", name_of(dtype), "/last axis"), Tolerance::kExact, {concat({x, y, x}, 1)});
    const Tensor table = builder.input({7, 5}, dtype, fill_for(dtype, 3));
    const Tensor indices = builder.input({2, 4}, DType::kI64, values({"0", "6", "-1", "3", "7", "5", "1", "100"}));
    builder.add(concat("gather/", name_of(dtype), "/indices outside"), Tolerance::kExact, {embedding(indices, table)});
  }
  const Tensor a = builder.input({3, 4, 5}, DType::kF32, uniform(-1, 1, 4));
  const Tensor i = builder.input({3}, DType::kI32, values({"2", "0", "4"}));
  builder.add("gather/f32/last axis, i32 indices", Tolerance::kExact, {a.gather(2, i)});
  const Tensor j = builder.input({}, DType::kU8, values({"1"}));
  const Tensor b = builder.input({3, 4, 5}, DType::kF32, uniform(-1, 1, 5));
  builder.add("gather/f32/one index", Tolerance::kExact, {b.gather(1, j)});
  const Tensor c = builder.input({3, 5}, DType::kF32, uniform(-1, 1, 6));
  builder.add("stack/f32/new middle axis", Tolerance::kExact, {stack({c, c.flip({0}), -c}, 1)});
  const Tensor d = builder.input({1, 2, 3}, DType::kF32, uniform(-1, 1, 7));
  const Tensor e = builder.input({4, 2, 3}, DType::kF32, uniform(-1, 1, 8));
  builder.add("concat/f32/first axis of computed values", Tolerance::kBounded, {concat({d * 2, tanh(e), d}, 0)});
}

void add_leaves(CaseBuilder& builder) {
  const Tensor x = builder.input({4, 7}, DType::kF32, uniform(-1, 1, 1));
  builder.add("iota/i64/position on an axis", Tolerance::kExact, {where(less(arange(7), 3), x, -1), arange(9)});
  const Dim t = Index::variable("t", 3, 20);
  for (const int64_t live : {3, 8, 20}) {
    const Tensor whole = builder.input({2, 20}, DType::kF32, uniform(-1, 1, 2));
    const Tensor part = whole.shrink({{0, 2}, {0, t}});
    builder.add(concat("symbolic/f32/shrink, t = ", live), Tolerance::kBounded,
                {part.sum({1}) / size_tensor(t, DType::kF32), part * 2}, false, {{"t", live}});
    const Tensor input = builder.input({2, t}, DType::kF32, uniform(-1, 1, 3));
    builder.add(concat("symbolic/f32/pad and window, t = ", live), Tolerance::kBounded,
                {input.pad({{0, 0}, {1, 1}}).window(1, 3, 2).mean({2})}, false, {{"t", live}});
  }
  const Tensor y = builder.input({3}, DType::kF32, uniform(-1, 1, 4));
  const Tensor small = Tensor::constant<float>({3}, {0.5f, -2.0f, 1.25f}, "small");
  builder.add("constant/f32/inline", Tolerance::kBounded, {y * small});
  const Tensor z = builder.input({5, 33}, DType::kF32, uniform(-1, 1, 5));
  builder.add("constant/f32/folded with arithmetic", Tolerance::kBounded,
              {z + exp(builder.weight("w", {33}, DType::kF32, uniform(-1, 1, 6))) * 2});
}

}  // namespace

void add_movement_cases(CaseBuilder& builder) {
  add_views(builder);
  add_joins(builder);
  add_leaves(builder);
}

void add_reduction_cases(CaseBuilder& builder) {
  for (const DType dtype : all) {
    const bool number = dtype != DType::kBool;
    const Tolerance sum_tolerance = is_float(dtype) ? Tolerance::kBounded : Tolerance::kExact;
    const Fill fill = is_float(dtype) ? uniform(-2, 2, 3) : number ? uniform(0, 9, 3) : uniform(0, 1, 3);
    const Tensor x = builder.input({5, 33}, dtype, fill);
    builder.add(concat("reduce_sum/", name_of(dtype), "/last axis of 33"), sum_tolerance, {x.sum({1})});
    const Tensor y = builder.input({17, 3}, dtype, fill);
    builder.add(concat("reduce_sum/", name_of(dtype), "/first axis of 17"), sum_tolerance, {y.sum({0}, true)});
    const Tensor z = builder.input({4, 17}, dtype, fill);
    builder.add(concat("reduce_max/", name_of(dtype), "/last axis"), Tolerance::kExact, {z.max({1}), z.min({1})});
    const Tensor w =
        builder.input({3, 4}, dtype, is_float(dtype) ? uniform(0.5, 1.5, 8) : uniform(0, number ? 3 : 1, 8));
    builder.add(concat("reduce_prod/", name_of(dtype), "/all axes"), sum_tolerance, {w.prod()});
  }
  for (const int64_t size : {1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1000}) {
    const Tensor x = builder.input({3, size}, DType::kF32, uniform(-1, 1, static_cast<uint32_t>(size)));
    builder.add(concat("reduce_sum/f32/size ", size), Tolerance::kBounded, {x.sum({1})});
  }
  const Tensor a = builder.input({3, 5, 7}, DType::kF32, uniform(-1, 1, 1));
  builder.add("reduce_sum/f32/outer and inner axes", Tolerance::kBounded, {a.sum({0, 2})});
  const Tensor b = builder.input({3, 5, 7}, DType::kF32, uniform(-1, 1, 2));
  builder.add("mean, var/f32/keepdims", Tolerance::kBounded, {b.mean({1}, true), b.var({2}), b.var({2}, false, 1)});
  const Tensor c = builder.input({2, 6}, DType::kF32,
                                 values({"1", "nan", "3", "-inf", "inf", "2", "-0", "0", "-0", "-1", "-2", "-3"}));
  builder.add("reduce_max/f32/NaN, infinities, zeros", Tolerance::kExact, {c.max({1}), c.min({1}), c.max({0})});
  // Long enough for whole vectors and a rest; by negation each also with the other signs, of NaN too.
  const std::vector<std::pair<const char*, Fill>> long_rows = {
      {"below zero", values({"-3", "-1", "-2.5"})}, {"zeros", values({"-0", "0", "-0", "-0"})},
      {"at most -0", values({"-0", "-2"})},         {"infinities", values({"inf", "-5", "-inf", "2"})},
      {"nothing but -infinity", values({"-inf"})},  {"NaN", values({"1", "nan", "-inf", "inf", "-2"})}};
  for (const auto& [name, fill] : long_rows) {
    const Tensor x = builder.input({2, 71}, DType::kF32, fill);
    builder.add(concat("reduce_max/f32/long rows, ", name), Tolerance::kExact,
                {x.max({1}), x.min({1}), (-x).max({1}), (-x).min({1})});
  }
  const Tensor d = builder.input({3, 8}, DType::kF32, values({"1", "5", "5", "2", "nan", "7", "nan", "0"}));
  builder.add("argmax/f32/ties and NaN", Tolerance::kExact,
              {d.argmax(1), d.argmax(0, true), d.slice(1, 0, 4).argmax(1)});
  const Tensor e = builder.input({4, 9}, DType::kI32, uniform(-5, 5, 3));
  builder.add("argmax/i32/ties", Tolerance::kExact, {e.argmax(1), e.cumsum(1), e.cumsum(0)});
  const Tensor f = builder.input({3, 7}, DType::kBool, values({"1", "1", "0"}));
  builder.add("any, all/bool/axes", Tolerance::kExact, {f.any({1}), f.all({1}), f.any(), f.all({0})});
  const Tensor g = builder.input({3, 7}, DType::kF32, values({"0", "0", "0", "0", "0", "0", "0", "1", "0", "nan"}));
  builder.add("any, all/f32/of numbers", Tolerance::kExact, {g.any({1}), g.all({1})});
  const Tensor h = builder.input({2, 300}, DType::kF16, uniform(0, 300, 4));
  builder.add("mean/f16/sum beyond the range", Tolerance::kBounded, {h.mean({1})});
  const Tensor i = builder.input({3, 0}, DType::kF32, values({"0"}));
  builder.add("reduce/f32/no elements", Tolerance::kExact, {i.sum({1}), i.prod({1}), i.max({1}), i.min({1})});
  const Tensor j = builder.input({33, 5}, DType::kF32, uniform(-1, 1, 5));
  builder.add("reduce_sum/f32/of a chain, into a chain", Tolerance::kBounded, {tanh((exp(j) * 2).sum({0})) + 1});
  const Tensor k = builder.input({7, 11}, DType::kF32, uniform(-1, 1, 6));
  builder.add("reduce_sum/f32/all axes", Tolerance::kBounded, {k.sum()});
  const Tensor l = builder.input({5, 16}, DType::kF32, uniform(-1, 1, 7));
  builder.add("cumsum/f32/last axis", Tolerance::kBounded, {l.cumsum(1)});
}

}  // namespace tandem::reference
