#include "tests/support/random_kernel.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/kernel/builder.h"
#include "tests/reference/random.h"

namespace tandem::test {

namespace {

constexpr int64_t kElements = 512;
constexpr int64_t kLargestLoaded = 7;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Kernel make(const std::string& name) {
    for (DType dtype : {DType::kF32, DType::kI32, DType::kU8, DType::kI16, DType::kF64, DType::kI64, DType::kI8})
      reads_.push_back(builder_.add_buffer(dtype, Access::kRead, kElements));
    changed_ = builder_.add_buffer(DType::kF32, Access::kReadWrite, kElements);
    for (DType dtype : {DType::kF32, DType::kI32, DType::kU8, DType::kI16, DType::kF64, DType::kI64})
      writes_.push_back(builder_.add_buffer(dtype, Access::kWrite, kElements));
    leaves_ = {Index::variable("n", 1, 9), Index::variable("m", 1, 5)};
    leaves_.push_back(builder_.open_range(random_.chance(0.3) ? Index(3) : leaves_[0]));
    values_.push_back(builder_.constant(Type{Scalar::kF32, 4}, 0.75));
    body(0);
    return builder_.finish(name);
  }

 private:
  int lanes() { return 1 << random_.below(5); }

  Index small() { return random_.chance(0.4) ? Index(random_.between(-3, 9)) : random_.pick(leaves_); }

  Index expression(int depth) {
    if (depth == 0) return small();
    const Index a = expression(depth - 1);
    switch (random_.below(9)) {
      case 0:
        return a + small();
      case 1:
        return a - small();
      case 2:
        return a * Index(random_.between(1, 5));
      case 3:
        return a * random_.pick(leaves_);
      case 4:
        return floor_div(a, Index(random_.between(1, 9)));
      case 5:
        return floor_mod(a, Index(random_.between(1, 9)));
      case 6:
        return min(a, small());
      case 7:
        return random_.chance(0.5) ? floor_div(a, leaves_[1]) : floor_mod(a, leaves_[0]);
      default:
        return a + random_.pick(leaves_) * Index(random_.between(1, 17));
    }
  }

  /// A subscript at which 16 elements fit.
  Index subscript() {
    const Index index = expression(static_cast<int>(random_.between(1, 3)));
    const int64_t room = kElements - 16;
    if (index.lower() > -1000000 && index.upper() < 1000000 && index.upper() - index.lower() <= room) {
      return index - Index(std::min<int64_t>(index.lower(), 0)) - Index(std::max<int64_t>(index.upper() - room, 0));
    }
    return floor_mod(index, Index(room));
  }

  std::optional<Index> count(int lane_count) {
    if (random_.chance(0.7)) return std::nullopt;
    if (random_.chance(0.2)) return Index(random_.between(0, lane_count));
    return min(max(expression(1), 0), lane_count);
  }

  /// The value with another number of lanes.
  ValueId with_lanes(ValueId value, int lane_count) {
    while (builder_.type(value).lanes > lane_count) {
      value = random_.chance(0.5) ? builder_.low(value) : builder_.high(value);
    }
    if (builder_.type(value).lanes == lane_count) return value;
    if (builder_.type(value).lanes > 1) {
      value = builder_.extract(value, static_cast<int>(random_.below(builder_.type(value).lanes)));
    }
    return builder_.splat(value, lane_count);
  }

  ValueId to_f32(ValueId value) {
    switch (builder_.type(value).scalar) {
      case Scalar::kI32:
        return builder_.convert(Opcode::kToFloat, value, Scalar::kF32);
      case Scalar::kI64:
        return builder_.convert(Opcode::kToFloat, value, Scalar::kF32);
      case Scalar::kF64:
        return builder_.convert(Opcode::kConvertFloat, value, Scalar::kF32);
      default:
        return value;
    }
  }

  ValueId to_scalar(ValueId value, Scalar scalar) {
    if (scalar == Scalar::kF32) return value;
    if (scalar == Scalar::kF64) return builder_.convert(Opcode::kConvertFloat, value, scalar);
    return builder_.convert(Opcode::kToInt, value, scalar);
  }

  void load() {
    const bool is_changed = random_.chance(0.2);
    const int lane_count = lanes();
    const uint32_t buffer = is_changed ? changed_ : random_.pick(reads_);
    values_.push_back(to_f32(builder_.load(buffer, subscript(), lane_count, count(lane_count), 3)));
  }

  void store() {
    const bool is_changed = random_.chance(0.3);
    const int lane_count = lanes();
    const ValueId value = with_lanes(random_.pick(values_), lane_count);
    static constexpr Scalar kScalars[] = {Scalar::kF32, Scalar::kI32, Scalar::kI32,
                                          Scalar::kI32, Scalar::kF64, Scalar::kI64};
    const size_t to = static_cast<size_t>(random_.below(static_cast<int64_t>(writes_.size())));
    if (is_changed) {
      builder_.store(changed_, subscript(), value, count(lane_count));
    } else {
      builder_.store(writes_[to], subscript(), to_scalar(value, kScalars[to]), count(lane_count));
    }
  }

  void compute() {
    const ValueId a = random_.pick(values_);
    const ValueId b = with_lanes(random_.pick(values_), builder_.type(a).lanes);
    switch (random_.below(6)) {
      case 0:
        values_.push_back(builder_.binary(Opcode::kAdd, a, b));
        break;
      case 1:
        values_.push_back(builder_.binary(Opcode::kMul, a, b));
        break;
      case 2:
        values_.push_back(builder_.binary(Opcode::kMax, a, b));
        break;
      case 3:
        values_.push_back(builder_.select(builder_.binary(Opcode::kLess, a, b), b, a));
        break;
      case 4:
        values_.push_back(builder_.unary(Opcode::kFloor, a));
        break;
      default:
        values_.push_back(builder_.unary(Opcode::kNeg, a));
        break;
    }
  }

  void read_number() {
    const ValueId number = builder_.load(reads_[1], subscript(), 1);
    leaves_.push_back(builder_.as_index(number, 0, kLargestLoaded));
  }

  void loop(int depth) {
    const Index begin = random_.chance(0.7) ? Index(0) : max(min(small(), 4), -4);
    const Index end = random_.chance(0.5) ? begin + Index(random_.between(1, 6)) : max(min(expression(1), 9), -4);
    const int64_t step = random_.chance(0.7) ? 1 : random_.between(2, 4);
    const ValueId total = builder_.variable(with_lanes(random_.pick(values_), lanes()));
    const size_t leaf_count = leaves_.size();
    const size_t value_count = values_.size();
    leaves_.push_back(builder_.open_loop(begin, end, step));
    body(depth + 1);
    const ValueId more = with_lanes(random_.pick(values_), builder_.type(total).lanes);
    builder_.set(total, builder_.binary(Opcode::kAdd, builder_.get(total), more));
    builder_.close_loop();
    leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(leaf_count), leaves_.end());
    values_.resize(value_count);
    values_.push_back(builder_.get(total));
  }

  void condition(int depth) {
    const ValueId a = with_lanes(random_.pick(values_), 1);
    const ValueId b = with_lanes(random_.pick(values_), 1);
    const size_t leaf_count = leaves_.size();
    const size_t value_count = values_.size();
    builder_.open_if(builder_.binary(Opcode::kLessEqual, a, b));
    body(depth + 1);
    leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(leaf_count), leaves_.end());
    values_.resize(value_count);
    if (random_.chance(0.5)) {
      builder_.open_else();
      body(depth + 1);
      leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(leaf_count), leaves_.end());
      values_.resize(value_count);
    }
    builder_.close_if();
  }

  void body(int depth) {
    for (int64_t steps = random_.between(3, 8); steps > 0; steps--) {
      const int64_t what = random_.below(14);
      if (what < 4)
        load();
      else if (what < 6)
        compute();
      else if (what < 8)
        store();
      else if (what == 8)
        read_number();
      else if (what == 9)
        values_.push_back(to_f32(builder_.index_value(Scalar::kI32, subscript())));
      else if (what == 10 && depth < 3)
        condition(depth);
      else if (depth < 3)
        loop(depth);
    }
    store();
  }

  reference::Random random_;
  KernelBuilder builder_;
  std::vector<uint32_t> reads_;
  std::vector<uint32_t> writes_;
  uint32_t changed_ = 0;
  std::vector<Index> leaves_;
  std::vector<ValueId> values_;
};

}  // namespace

Kernel random_kernel(uint32_t seed) { return Generator(seed).make(concat("random ", seed)); }

}  // namespace tandem::test
