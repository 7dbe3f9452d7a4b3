#include "core/schedule/value_lowerer.h"

#include <algorithm>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

ValueLowerer::ValueLowerer(const Graph& graph, const BufferTable& buffers, const std::vector<int64_t>& slot_elements,
                           KernelBuilder& builder, const Capabilities& capabilities, Numerics numerics)
    : graph_(graph),
      buffers_(buffers),
      slot_elements_(slot_elements),
      builder_(builder),
      capabilities_(capabilities),
      numerics_(numerics),
      fused_(capabilities.fma && numerics == Numerics::kFast) {}

size_t ValueLowerer::KeyHash::operator()(const Key& key) const {
  uint64_t hash = hash_mix(0, key.node);
  for (const Index& index : key.index) hash = hash_mix(hash, index.hash());
  return static_cast<size_t>(hash);
}

Index ValueLowerer::enter_vector(int lanes, std::optional<Index> count) {
  leave_vector();
  if (lanes == 1) return 0;
  lane_ = Index::lane(lanes);
  lanes_ = lanes;
  count_ = std::move(count);
  return *lane_;
}

void ValueLowerer::leave_vector() {
  lane_.reset();
  lanes_ = 1;
  count_.reset();
  memo_.clear();
}

void ValueLowerer::set_anchor(NodeId node, ValueId value) {
  anchor_ = node;
  anchor_value_ = value;
  memo_.clear();
}

uint32_t ValueLowerer::buffer_number(uint32_t slot, DType dtype, Access access) {
  for (size_t i = 0; i < slots_.size(); i++)
    if (slots_[i] == slot && !in_pairs_[i]) return static_cast<uint32_t>(i);
  slots_.push_back(slot);
  in_pairs_.push_back(false);
  return builder_.add_buffer(dtype, access, slot_elements_[slot]);
}

uint32_t ValueLowerer::buffer_number(const BufferRef& buffer, Access access) {
  return buffer_number(buffer.slot, buffer.dtype, buffer.strip ? Access::kLocal : access);
}

Index ValueLowerer::offset_in(const BufferRef& buffer, const std::vector<Index>& index) const {
  if (!buffer.strip) return flat_offset(index, buffer.strides);
  std::vector<Index> at = index;
  Index& row = at[buffer.strip->row_axis];
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const auto& known) { return known.first == row; });
  TANDEM_CHECK(found != rows_.end(), concat("row ", row.text(), " does not lie in the strip"));
  row = found->second;
  return flat_offset(at, buffer.strip->strides);
}

uint32_t ValueLowerer::pair_buffer_number(uint32_t slot) {
  for (size_t i = 0; i < slots_.size(); i++)
    if (slots_[i] == slot && in_pairs_[i]) return static_cast<uint32_t>(i);
  slots_.push_back(slot);
  in_pairs_.push_back(true);
  return builder_.add_buffer(DType::kI32, Access::kRead, slot_elements_[slot] / 2);
}

ValueId ValueLowerer::lower(NodeId id, const std::vector<Index>& index) {
  if (id == anchor_) return anchor_value_;
  const auto buffer = buffers_.find(id);
  if (buffer != buffers_.end()) return load(buffer->second, index);
  const Node& node = graph_.node(id);
  // Rearrangements cost nothing and their operands are remembered themselves.
  if (is_rearrangement(node.op)) return lower(node.operands[0], operand_index(graph_, node, index));
  Key key{id, index};
  const auto known = memo_.find(key);
  if (known != memo_.end()) return known->second;
  const auto pinned = pinned_.find(key);
  if (pinned != pinned_.end()) return pinned->second;
  const ValueId value = is_kept(id, index) ? kept_or_keep(index) : compute(id, node, index);
  memo_.emplace(std::move(key), value);
  return value;
}

void ValueLowerer::pin(NodeId reduction, const std::vector<Index>& index) {
  fills_kept_ = kept_ && !kept_end_;
  pinned_[Key{reduction, index}] = reduce(reduction, index);
  fills_kept_ = false;
}

void ValueLowerer::keep(std::optional<KeptValue> kept) {
  kept_ = std::move(kept);
  kept_end_.reset();
  // Its first use says how a kernel touches a buffer.
  if (kept_) buffer_number(kept_->result, Access::kReadWrite);
}

bool ValueLowerer::is_kept(NodeId id, const std::vector<Index>& index) const {
  if (!kept_ || !kept_place_ || id != kept_->node) return false;
  for (size_t axis = 0; axis < index.size(); axis++)
    if (index[axis] != kept_->index[axis].substitute(kept_->counter, *kept_place_)) return false;
  return true;
}

ValueId ValueLowerer::kept_or_keep(const std::vector<Index>& index) {
  std::vector<Index> place = kept_->place;
  for (Index& expression : place) expression = expression.substitute(kept_->counter, *kept_place_);
  if (kept_end_) return load(kept_->result, place);
  const ValueId value = compute(kept_->node, graph_.node(kept_->node), index);
  store(kept_->result, place, value);
  met_kept_ = true;
  return value;
}

bool ValueLowerer::spend(NodeId id, const Index& elements, int& left) const {
  const Node& node = graph_.node(id);
  const OpClass op_class = info(node.op).op_class;
  if (buffers_.count(id) > 0 || op_class == OpClass::kReduce || op_class == OpClass::kContract) return true;
  if (element_count(node.shape).upper() < elements.upper()) return true;
  left -= cost_of(node);
  if (left < 0) return false;
  for (NodeId operand : node.operands)
    if (!spend(operand, elements, left)) return false;
  return true;
}

ValueId ValueLowerer::compute(NodeId id, const Node& node, const std::vector<Index>& index) {
  switch (node.op) {
    case Op::kScalar:
      return scalar(node.dtype, node.attributes.value, node.attributes.integer);
    case Op::kSize:
      return index_as_value(node.attributes.size[0], Scalar::kI64);
    case Op::kIota:
      return index_as_value(index[node.attributes.axis], Scalar::kI64);
    case Op::kPad:
      return pad(node, index);
    case Op::kReflectPad:
      return reflect(node, index);
    case Op::kConcat:
      return concat_parts(node, index);
    case Op::kGather:
      return gather(node, index);
    case Op::kLimit:
      return limit(id, index);
    default:
      break;
  }
  switch (info(node.op).op_class) {
    case OpClass::kReduce:
      return reduce(id, index);
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kTernary:
      return elementwise(node, index);
    default:
      break;
  }
  throw InternalError(concat("node %", id, " (", name_of(node.op), ") has no buffer and can't be computed in place"));
}

Index ValueLowerer::lane_at(const Index& expression, int lane) const {
  // Lanes beyond the count must not touch memory: they repeat the last one that may.
  if (!count_) return expression.substitute(*lane_, lane);
  const Index at = expression.substitute(*lane_, max(min(Index(lane), *count_ - 1), 0));
  // A vector may lie beyond the end as a whole; its lanes read the buffer's first element.
  return count_->lower() > 0 ? at : at * min(*count_, 1);
}

ValueId ValueLowerer::index_as_value(const Index& expression, Scalar scalar) {
  if (!varies(expression)) return builder_.index_value(scalar, expression);
  const std::optional<Index> step = expression.coefficient(*lane_);
  if (step && step->is_constant()) {
    const ValueId first = builder_.splat(builder_.index_value(scalar, expression.substitute(*lane_, 0)), lanes_);
    ValueId numbers = builder_.lane_numbers(scalar, lanes_);
    if (!step->is(1))
      numbers = builder_.binary(Opcode::kMul, numbers,
                                builder_.integer({scalar, static_cast<uint8_t>(lanes_)}, step->constant()));
    return builder_.binary(Opcode::kAdd, first, numbers);
  }
  ValueId vector = builder_.splat(builder_.index_value(scalar, expression.substitute(*lane_, 0)), lanes_);
  for (int lane = 1; lane < lanes_; lane++)
    vector = builder_.insert(vector, builder_.index_value(scalar, expression.substitute(*lane_, lane)), lane);
  return vector;
}

ValueId ValueLowerer::load(const BufferRef& source, const std::vector<Index>& index) {
  const Index offset = offset_in(source, index);
  const uint32_t buffer = buffer_number(source, Access::kRead);
  ValueId value;
  if (!varies(offset)) {
    value = builder_.load(buffer, offset, 1);
  } else {
    const std::optional<Index> step = offset.coefficient(*lane_);
    if (step && step->is(1))
      value = builder_.load(buffer, offset.substitute(*lane_, 0), lanes_, count_);
    else if (step && step->is(-1) && !count_ && !capabilities_.wasm)
      value = load_backwards(buffer, offset);
    else
      value = load_lanes_apart(buffer, offset);
  }
  return from_storage(value, source.dtype);
}

ValueId ValueLowerer::load_pair(const BufferRef& source, const std::vector<Index>& index) {
  TANDEM_CHECK(!source.strip, "strips are not read in pairs");
  const Index offset = flat_offset(index, source.strides);
  TANDEM_CHECK(size_of(source.dtype) == 2 && floor_mod(offset, 2).is(0) && !varies(offset),
               concat("no pair of ", name_of(source.dtype), " lies at ", offset.text()));
  return builder_.load(pair_buffer_number(source.slot), floor_div(offset, 2), 1);
}

/// One load whose lanes change places; a compiler makes one shuffle of it.
ValueId ValueLowerer::load_backwards(uint32_t buffer, const Index& offset) {
  const ValueId forwards = builder_.load(buffer, offset.substitute(*lane_, lanes_ - 1), lanes_);
  ValueId vector = builder_.splat(builder_.extract(forwards, lanes_ - 1), lanes_);
  for (int lane = 1; lane < lanes_; lane++)
    vector = builder_.insert(vector, builder_.extract(forwards, lanes_ - 1 - lane), lane);
  return vector;
}

ValueId ValueLowerer::load_lanes_apart(uint32_t buffer, const Index& offset) {
  ValueId vector = builder_.splat(builder_.load(buffer, lane_at(offset, 0), 1), lanes_);
  const int lanes = count_ && count_->is_constant() ? static_cast<int>(count_->constant()) : lanes_;
  for (int lane = 1; lane < lanes; lane++)
    vector = builder_.insert(vector, builder_.load(buffer, lane_at(offset, lane), 1), lane);
  return vector;
}

void ValueLowerer::store(const BufferRef& target, const std::vector<Index>& index, ValueId value) {
  const uint32_t buffer = buffer_number(target, Access::kWrite);
  const Index offset = offset_in(target, index);
  value = to_storage(value, target.dtype);
  if (!lane_) return builder_.store(buffer, offset, value);
  const std::optional<Index> step = offset.coefficient(*lane_);
  if (builder_.type(value).lanes == 1) value = builder_.splat(value, lanes_);
  if (step && step->is(1)) return builder_.store(buffer, offset.substitute(*lane_, 0), value, count_);
  const bool known_count = !count_ || count_->is_constant();
  const int lanes = count_ && known_count ? static_cast<int>(count_->constant()) : lanes_;
  for (int lane = 0; lane < lanes; lane++) {
    const Index place = offset.substitute(*lane_, lane);
    std::optional<Index> one;
    // A store of one lane with a count of 0 or 1 writes nothing when the lane lies beyond the end.
    if (!known_count) one = max(min(*count_ - lane, 1), 0);
    builder_.store(buffer, place, builder_.extract(value, lane), one);
  }
}

std::optional<ValueId> ValueLowerer::at_least(const Index& expression, const Index& bound, Truth& known) {
  known = less_equal(bound, expression);
  // Lanes beyond the count touch no memory: what they would find doesn't matter.
  if (known == Truth::kUnknown && count_ && varies(expression)) {
    const std::optional<Index> step = expression.coefficient(*lane_);
    if (step && step->lower() >= 0 && less(expression.substitute(*lane_, *count_ - 1), bound) == Truth::kAlways)
      known = Truth::kNever;
  }
  if (known != Truth::kUnknown) return std::nullopt;
  const ValueId left = index_as_value(expression, Scalar::kI32);
  const ValueId right = index_as_value(bound, Scalar::kI32);
  return builder_.binary(Opcode::kLessEqual, right, left);
}

ValueId ValueLowerer::pad(const Node& node, const std::vector<Index>& index) {
  const Shape& inner = graph_.node(node.operands[0]).shape;
  std::vector<Index> below = index, unclamped = index;
  std::optional<ValueId> inside;
  const auto require = [&](std::optional<ValueId> mask) {
    if (mask) inside = inside ? builder_.binary(Opcode::kAnd, *inside, *mask) : *mask;
  };
  for (size_t axis = 0; axis < index.size(); axis++) {
    const Index& before = node.attributes.begin[axis];
    if (before.is(0) && node.attributes.size[axis].is(0)) continue;
    below[axis] = unclamped[axis] = index[axis] - before;
    Truth known_low, known_high;
    const std::optional<ValueId> low = at_least(below[axis], 0, known_low);
    const std::optional<ValueId> beyond = at_least(below[axis], inner[axis], known_high);
    if (known_low == Truth::kNever || known_high == Truth::kAlways) return lower(node.operands[1], {});
    require(low);
    if (beyond) require(builder_.unary(Opcode::kNot, *beyond));
    if (known_low == Truth::kUnknown) below[axis] = max(below[axis], 0);
    if (known_high == Truth::kUnknown) below[axis] = min(below[axis], inner[axis] - 1);
  }
  const std::optional<NodeId> beyond = beyond_limit(node.operands[0], unclamped);
  const ValueId value = beyond ? lower(*beyond, {}) : lower(node.operands[0], below);
  return inside ? choose(*inside, value, lower(node.operands[1], {})) : value;
}

ValueId ValueLowerer::reflect(const Node& node, const std::vector<Index>& index) {
  const Shape& inner = graph_.node(node.operands[0]).shape;
  std::vector<Index> below = index;
  for (size_t axis = 0; axis < index.size(); axis++) {
    const Index& before = node.attributes.begin[axis];
    if (before.is(0) && node.attributes.size[axis].is(0)) continue;
    Index place = index[axis] - before;
    place = max(place, 0 - place);
    below[axis] = min(place, (inner[axis] - 1) * 2 - place);
  }
  return lower(node.operands[0], below);
}

ValueId ValueLowerer::concat_parts(const Node& node, const std::vector<Index>& index) {
  const size_t axis = static_cast<size_t>(node.attributes.axis);
  std::optional<ValueId> result;
  Index end = 0;
  std::vector<Index> begins;
  for (NodeId operand : node.operands) {
    begins.push_back(end);
    end += graph_.node(operand).shape[axis];
  }
  // From the last part to the first: each select takes the elements before the part's end away from what follows.
  for (size_t part = node.operands.size(); part-- > 0;) {
    const Index size = graph_.node(node.operands[part]).shape[axis];
    std::vector<Index> below = index;
    below[axis] = index[axis] - begins[part];
    if (less(below[axis], 0) == Truth::kAlways || less_equal(size, below[axis]) == Truth::kAlways) continue;
    Truth known = Truth::kNever;
    const std::optional<ValueId> later = result ? at_least(below[axis], size, known) : std::nullopt;
    if (less(below[axis], 0) != Truth::kNever) below[axis] = max(below[axis], 0);
    if (less(below[axis], size) != Truth::kAlways) below[axis] = min(below[axis], max(size - 1, 0));
    const ValueId value = lower(node.operands[part], below);
    result = later ? choose(*later, *result, value) : value;
  }
  TANDEM_CHECK(result.has_value(), "a concatenation without a part for its subscript");
  return *result;
}

ValueId ValueLowerer::gather(const Node& node, const std::vector<Index>& index) {
  const size_t axis = static_cast<size_t>(node.attributes.axis);
  const Node& data = graph_.node(node.operands[0]);
  const Node& indices = graph_.node(node.operands[1]);
  const size_t rank = indices.shape.size();
  const std::vector<Index> at(index.begin() + axis, index.begin() + axis + rank);
  const ValueId numbers = lower(node.operands[1], at);
  const Scalar scalar = register_scalar(indices.dtype);
  const auto one_lane = [&](ValueId number, const std::function<Index(const Index&)>& place) {
    const ValueId zero = builder_.integer({scalar, 1}, 0);
    const ValueId last = builder_.index_value(scalar, data.shape[axis] - 1);
    const ValueId inside = builder_.binary(Opcode::kAnd, builder_.binary(Opcode::kLessEqual, zero, number),
                                           builder_.binary(Opcode::kLessEqual, number, last));
    const ValueId clamped = builder_.binary(Opcode::kMax, builder_.binary(Opcode::kMin, number, last), zero);
    std::vector<Index> below;
    for (size_t i = 0; i < axis; i++) below.push_back(place(index[i]));
    below.push_back(builder_.as_index(clamped, 0, data.shape[axis].upper() - 1));
    for (size_t i = axis + rank; i < index.size(); i++) below.push_back(place(index[i]));
    const ValueId value = lower(node.operands[0], below);
    return choose(inside, value, this->scalar(data.dtype, 0, 0));
  };
  if (builder_.type(numbers).lanes == 1) return one_lane(numbers, [](const Index& i) { return i; });
  // Lanes gather from different rows: each is a scalar load of its own.
  const Index lane = *lane_;
  return lane_by_lane(data.dtype, [&](int i, const Index& number) {
    return one_lane(builder_.extract(numbers, i), [&](const Index& e) { return e.substitute(lane, number); });
  });
}

/// A vector of values that are computed on their own, as if there were no lanes. `number` is the lane's; lanes beyond
/// the count repeat the last one that may touch memory.
ValueId ValueLowerer::lane_by_lane(DType dtype, const std::function<ValueId(int lane, const Index& number)>& element) {
  const std::optional<Index> count = count_;
  const int lanes = lanes_;
  std::vector<ValueId> elements = without_lanes([&] {
    std::vector<ValueId> all;
    for (int i = 0; i < lanes; i++) all.push_back(element(i, count ? max(min(Index(i), *count - 1), 0) : Index(i)));
    return all;
  });
  if (dtype == DType::kBool)  // Masks can't be assembled lane by lane; numbers can.
    for (ValueId& value : elements) value = cast(value, DType::kBool, DType::kI32);
  ValueId vector = builder_.splat(elements[0], lanes);
  for (int i = 1; i < lanes; i++) vector = builder_.insert(vector, elements[i], i);
  return dtype == DType::kBool ? cast(vector, DType::kI32, DType::kBool) : vector;
}

}  // namespace tandem
