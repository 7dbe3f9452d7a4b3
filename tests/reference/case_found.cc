// Graphs on which random search found an engine wrong, made small.

#include "core/tensor/nn.h"
#include "tests/reference/case_table.h"

namespace tandem::reference {

namespace {

constexpr DType kF32 = DType::kF32, kF64 = DType::kF64;

Fill numbers() { return uniform(-2, 2, 3); }

/// Lengths were looked up at subscripts that a walk had made up.
void add_lengths(CaseBuilder& builder) {
  {
    const Tensor x = builder.input({2, 2}, kF32, numbers());
    const Tensor lengths = builder.weight("lengths", {2}, DType::kI32, values({"-15", "12"}));
    const Tensor rows = builder.weight("rows", {1, 1}, DType::kI64, values({"14"}));
    builder.add("found/limit, its lengths gathered", Tolerance::kBounded,
                {x.limit(1, lengths, 2).transpose(0, 1).gather(1, rows)});
  }
  {
    const Tensor x = builder.input({1, 6, 5}, kF32, numbers());
    const Tensor lengths = builder.weight("lengths", {1, 6}, DType::kI32, values({"3", "0", "9", "5", "-1", "4"}));
    const Tensor y = builder.input({1, 6, 5}, kF32, uniform(-2, 2, 4));
    builder.add("found/limit in one part of a concatenation", Tolerance::kBounded,
                {concat({x.limit(2, lengths), y}, 0)});
  }
  const Index t = Index::variable("t", 4, 9);
  const Tensor x = builder.input({1, t, t, t}, DType::kBF16, numbers());
  const Tensor lengths = builder.input({1, t}, DType::kI32, values({"5", "2", "0", "30", "-3"}));
  const Tensor first = builder.input({1, 1, t, t}, DType::kBF16, uniform(-2, 2, 4));
  const Tensor y = x.limit(2, lengths) * 2;
  builder.add("found/limit behind the first part", Tolerance::kBounded, {concat({first, y, y}, 1)}, false, {{"t", 7}});
}

/// A tile's second vector lay beyond the end as a whole, and its lanes were loaded one by one.
void add_gathered_lanes(CaseBuilder& builder) {
  const Index b = Index::variable("b", 1, 21);
  const Tensor x = builder.input({1, 1, b + 6}, kF64, numbers());
  const Tensor y = builder.input({1, b + 5, 2, 1}, kF64, uniform(-2, 2, 4));
  const Tensor windows = x.window(2, 2).reshape({1, 1, 1, b + 5, 2}).permute({0, 3, 1, 4, 2});
  builder.add("found/contraction whose second vector of a tile lies beyond the end, gathered", Tolerance::kBounded,
              {matmul(windows.reshape({1, b + 5, 1, 2}), y)}, false, {{"b", 1}});
}

/// A vector lay beyond a length as a whole, where all of its lanes took the same element of a row that nothing wrote.
void add_lanes_beyond_length(CaseBuilder& builder) {
  const Tensor x = builder.input({17, 16}, kF32, numbers());
  const Tensor rows = builder.weight("rows", {}, DType::kI64, values({"9"}));
  const Tensor sums = erf(x).limit(0, rows, -9).max({0}).limit(0, rows).cumsum(0);
  const Tensor first = builder.weight("first", {1}, kF32, values({"1.0729184"}));
  const Tensor two = builder.weight("two", {}, DType::kI64, values({"2"}));
  builder.add("found/sum of a limited concatenation of sums", Tolerance::kBounded,
              {concat({first, sums, sums}, 0).limit(0, two, 3).sum()});
}

/// The rows of a softmax were computed for rows of the padding as well, from what lies around the buffer.
void add_moved_rows(CaseBuilder& builder) {
  const auto rows = [&] { return softmax(builder.input({7, 5}, kF32, numbers()), 1); };
  builder.add("found/softmax of rows that are reflected", Tolerance::kBounded, {rows().reflect_pad({{6, 6}, {0, 0}})});
  builder.add("found/softmax of rows between padding", Tolerance::kBounded, {rows().pad({{6, 6}, {0, 0}})});
  const Tensor first = builder.weight("first", {9, 5}, kF32, uniform(-2, 2, 4));
  builder.add("found/softmax of rows behind other rows", Tolerance::kBounded, {concat({first, rows()}, 0)});
}

/// The lengths belong to a lane of one place, which a packed operand does not have among its axes: it was packed whole,
/// with rows that nothing had written.
void add_packed_rows_of_one_lane(CaseBuilder& builder) {
  const Tensor x = builder.input({1, 31, 8, 5}, kF32, numbers());
  const Tensor y = builder.input({1, 31, 8, 3, 5}, kF32, uniform(-2, 2, 4));
  const Tensor lengths = builder.input({1}, DType::kI64, values({"3"}));
  const Tensor products = (abs(x).unsqueeze(3) * y).sum({4}).limit(2, lengths);
  const Tensor places = builder.input({3, 1}, DType::kI64, values({"0", "7", "2"}));
  builder.add("found/rows of a product that one length ends, gathered", Tolerance::kBounded,
              {products.gather(2, places)});
}

}  // namespace

void add_found_cases(CaseBuilder& builder) {
  add_lengths(builder);
  add_lanes_beyond_length(builder);
  add_gathered_lanes(builder);
  add_moved_rows(builder);
  add_packed_rows_of_one_lane(builder);
}

}  // namespace tandem::reference
