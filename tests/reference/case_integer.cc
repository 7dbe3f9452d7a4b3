#include "core/base/text.h"
#include "tests/reference/case_table.h"

namespace tandem::reference {

namespace {

const DType integers[] = {DType::kI16, DType::kI32, DType::kI64, DType::kU8};
const DType rare[] = {DType::kI8, DType::kU16, DType::kU32, DType::kU64};

/// Numbers at the ends of the dtype's range; the list has 11 of them.
Fill ends(DType dtype, bool reversed) {
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const uint64_t all = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  const bool is_signed = !is_unsigned(dtype);
  const std::string high = std::to_string(is_signed ? all >> 1 : all);
  const std::string low = is_signed ? "-" + std::to_string((all >> 1) + 1) : "0";
  std::vector<std::string> list = {low, high, "0",  "1",  is_signed ? "-1" : "2", "7", is_signed ? "-7" : "9",
                                   "3", low,  high, "100"};
  if (reversed) list = {is_signed ? "-1" : high, "1", "0", "0", low, "2", "3", is_signed ? "-2" : "5", "0", high, "7"};
  return values(list);
}

void add_arithmetic(CaseBuilder& builder, DType dtype) {
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMod, Op::kMin, Op::kMax, Op::kAnd, Op::kOr, Op::kXor,
                      Op::kLess, Op::kLessEqual, Op::kEqual, Op::kNotEqual}) {
    const Tensor x = builder.input({3, 11}, dtype, ends(dtype, false));
    const Tensor y = builder.input({3, 11}, dtype, ends(dtype, true));
    builder.add(concat(name_of(op), "/", name_of(dtype), "/ends of the range"), Tolerance::kExact, {binary(op, x, y)});
  }
  const int64_t bits = static_cast<int64_t>(size_of(dtype)) * 8;
  std::vector<std::string> amounts = {
      "0", "1", std::to_string(bits - 1), std::to_string(bits), std::to_string(bits + 5), "3", "2"};
  if (!is_unsigned(dtype)) amounts[5] = "-1";
  for (const Op op : {Op::kShl, Op::kShr}) {
    const Tensor x = builder.input({33}, dtype, ends(dtype, false));
    const Tensor y = builder.input({33}, dtype, values(amounts));
    builder.add(concat(name_of(op), "/", name_of(dtype), "/beyond the width"), Tolerance::kExact, {binary(op, x, y)});
  }
  for (const Op op : {Op::kNeg, Op::kAbs, Op::kNot})
    builder.add(concat(name_of(op), "/", name_of(dtype), "/ends of the range"), Tolerance::kExact,
                {unary(op, builder.input({11}, dtype, ends(dtype, false)))});
  const Tensor condition = builder.input({5, 1}, DType::kBool, values({"1", "0", "0", "1"}));
  const Tensor x = builder.input({5, 7}, dtype, ends(dtype, false));
  builder.add(concat("where/", name_of(dtype), "/scalar"), Tolerance::kExact, {where(condition, x, 5)});
}

void add_bool(CaseBuilder& builder) {
  for (const Op op : {Op::kAdd, Op::kMul, Op::kMin, Op::kMax, Op::kAnd, Op::kOr, Op::kXor, Op::kLess, Op::kLessEqual,
                      Op::kEqual, Op::kNotEqual}) {
    const Tensor x = builder.input({17}, DType::kBool, values({"0", "0", "1", "1"}));
    const Tensor y = builder.input({17}, DType::kBool, values({"0", "1"}));
    builder.add(concat(name_of(op), "/bool/truth table"), Tolerance::kExact, {binary(op, x, y)});
  }
  builder.add("not/bool/truth table", Tolerance::kExact,
              {logical_not(builder.input({3}, DType::kBool, values({"0", "1"})))});
  const Tensor a = builder.input({9}, DType::kBool, values({"1", "0"}));
  const Tensor b = builder.input({9}, DType::kBool, values({"1", "1", "0"}));
  builder.add("where/bool/bool", Tolerance::kExact, {where(a, b, logical_not(b))});
}

void add_rare(CaseBuilder& builder, DType dtype) {
  const Tensor x = builder.input({11}, dtype, ends(dtype, false));
  const Tensor y = builder.input({11}, dtype, ends(dtype, true));
  builder.add(concat("arithmetic/", name_of(dtype), "/ends of the range"), Tolerance::kExact,
              {x + y, x * y, x / y, x % y, minimum(x, y), less(x, y), shift_right(x, bitwise_and(y, 7))});
}

}  // namespace

void add_integer_cases(CaseBuilder& builder) {
  for (const DType dtype : integers) add_arithmetic(builder, dtype);
  for (const DType dtype : rare) add_rare(builder, dtype);
  add_bool(builder);
}

void add_cast_cases(CaseBuilder& builder) {
  const DType all[] = {DType::kBool, DType::kI16, DType::kI32, DType::kI64, DType::kU8,  DType::kF16, DType::kBF16,
                       DType::kF32,  DType::kF64, DType::kI8,  DType::kU16, DType::kU32, DType::kU64};
  const Fill wide = values({"0",      "-0",         "1",           "-1",         "0.5",    "-0.5",    "0.99",   "2.5",
                            "3.5",    "-2.5",       "127.6",       "255.5",      "256",    "-300",    "65519",  "65520",
                            "-65536", "2147483647", "-2147483648", "4294967296", "9.3e18", "-9.3e18", "1.9e19", "1e30",
                            "inf",    "-inf",       "nan",         "2049",       "1.001",  "-40000.5"});
  for (const DType from : all)
    for (const DType to : all) {
      if (from == to) continue;
      Fill fill = is_float(from) ? wide : ends(from, false);
      if (from == DType::kBool) fill = values({"0", "1", "1"});
      builder.add(concat("cast/", name_of(from), "/to ", name_of(to)), Tolerance::kExact,
                  {builder.input({30}, from, fill).cast(to)});
    }
  const std::pair<DType, DType> pairs[] = {{DType::kF32, DType::kI32}, {DType::kI32, DType::kF32},
                                           {DType::kF16, DType::kI16}, {DType::kI16, DType::kBF16},
                                           {DType::kF64, DType::kI64}, {DType::kU8, DType::kI8}};
  for (const auto& [from, to] : pairs) {
    const Fill fill = is_float(from) ? uniform(-100, 100, 5) : uniform(0, 120, 5);
    builder.add(concat("bitcast/", name_of(from), "/to ", name_of(to)), Tolerance::kExact,
                {builder.input({3, 11}, from, fill).bitcast(to)}, from == DType::kI32 || to == DType::kBF16);
  }
}

}  // namespace tandem::reference
