#include "core/kernel/builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/index/open_division.h"
#include "core/kernel/builder_state.h"
#include "core/kernel/compact.h"
#include "core/kernel/type_rules.h"

namespace tandem {
namespace {

constexpr size_t kClosed = SIZE_MAX;

bool commutes(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kMul:
    case Opcode::kMin:
    case Opcode::kMax:
    case Opcode::kMinU:
    case Opcode::kMaxU:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kEqual:
    case Opcode::kNotEqual:
      return true;
    default:
      return false;
  }
}

uint64_t hash_of(const Instruction& instruction) {
  uint64_t hash = hash_mix(static_cast<uint64_t>(instruction.opcode) << 16 |
                               static_cast<uint64_t>(instruction.type.scalar) << 8 | instruction.type.lanes,
                           instruction.buffer);
  ValueId a = instruction.operands[0], b = instruction.operands[1];
  if (commutes(instruction.opcode) && b < a) std::swap(a, b);
  hash = hash_mix(hash, static_cast<uint64_t>(a) << 32 | b);
  hash = hash_mix(hash, instruction.operands[2]);
  hash = hash_mix(hash, bit_cast<uint64_t>(instruction.number));
  hash = hash_mix(hash, static_cast<uint64_t>(instruction.integer));
  hash = hash_mix(hash, instruction.index.hash());
  if (instruction.count) hash = hash_mix(hash, instruction.count->hash());
  return hash == 0 ? 1 : hash;
}

bool equal(const Instruction& a, const Instruction& b) {
  if (a.opcode != b.opcode || a.type != b.type || a.operands[2] != b.operands[2] || a.buffer != b.buffer) return false;
  const bool straight = a.operands[0] == b.operands[0] && a.operands[1] == b.operands[1];
  const bool swapped = a.operands[0] == b.operands[1] && a.operands[1] == b.operands[0] && commutes(a.opcode);
  if (!straight && !swapped) return false;
  return bit_cast<uint64_t>(a.number) == bit_cast<uint64_t>(b.number) && a.integer == b.integer && a.index == b.index &&
         a.count.has_value() == b.count.has_value() && (!a.count || *a.count == *b.count);
}

}  // namespace

KernelBuilder::KernelBuilder() {
  kernel_.range = 1;
  kernel_.loop_count = 1;
  depth_of_block_ = {0};
  block_of_loop_ = {0};
  open_.push_back(OpenBlock{BlockKind::kRange, 0, kNoValue, true});
}

KernelBuilder::~KernelBuilder() = default;

uint32_t KernelBuilder::add_buffer(DType dtype, Access access, const Index& elements) {
  kernel_.buffers.push_back(BufferParameter{dtype, access, elements});
  return static_cast<uint32_t>(kernel_.buffers.size() - 1);
}

Index KernelBuilder::open_range(const Index& extent) {
  TANDEM_CHECK(kernel_.instructions.empty() && kernel_.range.is(1), "open_range comes first, and once");
  kernel_.range = extent;
  return extent.is(1) ? Index(0) : Index::loop(kernel_.range_loop, extent);
}

BlockId KernelBuilder::new_block() {
  kernel_.blocks.emplace_back();
  depth_of_block_.push_back(kClosed);
  return static_cast<BlockId>(kernel_.blocks.size() - 1);
}

void KernelBuilder::enter(BlockId block) {
  if (depth_of_block_[block] == kClosed) depth_of_block_[block] = open_.size() - 1;
}

void KernelBuilder::leave(BlockId block) {
  depth_of_block_[block] = kClosed;
  for (ValueId value : kernel_.blocks[block]) {
    if (hash_of_[value] == 0) continue;
    const auto [first, last] = shared_.equal_range(hash_of_[value]);
    for (auto it = first; it != last; ++it) {
      if (it->second != value) continue;
      shared_.erase(it);
      break;
    }
  }
}

Index KernelBuilder::open_loop(const Index& begin, const Index& end, int64_t step) {
  TANDEM_CHECK(step > 0, concat("a loop's step must be positive, not ", step));
  const bool runs = less(begin, end) == Truth::kAlways || less_equal(1, end - begin) == Truth::kAlways;
  if (runs && less_equal(end - begin, step) == Truth::kAlways) {
    open_.push_back(OpenBlock{BlockKind::kOnceLoop, open_.back().block, kNoValue, true});
    return begin;
  }
  Instruction loop = new_instruction(Opcode::kLoop, Type{Scalar::kI64, 1});
  loop.index = begin;
  loop.end = end;
  loop.step = step;
  loop.loop = kernel_.loop_count++;
  loop.body = new_block();
  const ValueId number = static_cast<ValueId>(kernel_.instructions.size());
  const Index counter = loop_counter(loop);
  for (const Index& bound : {begin, end}) {
    for (ValueId value : facts(bound).values) depth_of(value);
    for (uint32_t other : facts(bound).loops)
      TANDEM_CHECK(depth_of_block_[block_of_loop_[other]] != kClosed, "a loop bound uses a closed loop's counter");
  }
  const BlockId body = loop.body;
  block_of_loop_.push_back(body);
  kernel_.instructions.push_back(std::move(loop));
  block_of_.push_back(open_.back().block);
  hash_of_.push_back(0);
  open_.push_back(OpenBlock{BlockKind::kLoop, body, number, runs});
  enter(body);
  return counter;
}

KernelBuilder::OpenBlock& KernelBuilder::innermost_open(bool loop) {
  const BlockKind kind = open_.back().kind;
  const bool is_loop = kind == BlockKind::kLoop || kind == BlockKind::kOnceLoop;
  TANDEM_CHECK(kind != BlockKind::kRange && is_loop == loop,
               concat("the innermost open block isn't ", loop ? "a loop" : "a branch"));
  return open_.back();
}

void KernelBuilder::close_loop() {
  const OpenBlock closed = innermost_open(true);
  open_.pop_back();
  if (closed.kind == BlockKind::kOnceLoop) return;
  leave(closed.block);
  kernel_.blocks[open_.back().block].push_back(closed.control);
}

void KernelBuilder::open_if(ValueId mask) {
  Instruction branch = new_instruction(Opcode::kIf, type(mask), mask);
  depth_of(mask);
  if (is_constant(mask)) {
    // What can't run goes to a block that belongs to nothing.
    const bool taken = instruction(mask).integer != 0;
    const BlockId block = taken ? open_.back().block : new_block();
    open_.push_back(OpenBlock{taken ? BlockKind::kTaken : BlockKind::kNotTaken, block, kNoValue, taken});
    enter(block);
    return;
  }
  check_types(branch);
  branch.body = new_block();
  const BlockId body = branch.body;
  const ValueId number = static_cast<ValueId>(kernel_.instructions.size());
  kernel_.instructions.push_back(std::move(branch));
  block_of_.push_back(open_.back().block);
  hash_of_.push_back(0);
  open_.push_back(OpenBlock{BlockKind::kIf, body, number, false});
  enter(body);
}

void KernelBuilder::open_else() {
  const OpenBlock closed = innermost_open(false);
  open_.pop_back();
  if (closed.kind != BlockKind::kTaken) leave(closed.block);
  const bool taken = closed.kind == BlockKind::kNotTaken;
  const BlockId block = taken ? open_.back().block : new_block();
  const bool constant_mask = closed.control == kNoValue;
  BlockKind kind = BlockKind::kIf;
  if (constant_mask) kind = taken ? BlockKind::kTaken : BlockKind::kNotTaken;
  if (!constant_mask) {
    TANDEM_CHECK(instruction(closed.control).otherwise == 0, "a branch has at most one else");
    kernel_.instructions[closed.control].otherwise = block;
  }
  open_.push_back(OpenBlock{kind, block, closed.control, taken});
  enter(block);
}

void KernelBuilder::close_if() {
  const OpenBlock closed = innermost_open(false);
  open_.pop_back();
  if (closed.kind == BlockKind::kTaken) return;
  leave(closed.block);
  if (closed.control != kNoValue) kernel_.blocks[open_.back().block].push_back(closed.control);
}

size_t KernelBuilder::depth_of(ValueId value) const {
  TANDEM_CHECK(value < kernel_.instructions.size(), concat("there is no value ", value));
  const size_t depth = depth_of_block_[block_of_[value]];
  TANDEM_CHECK(depth != kClosed, concat("value ", value, " (", name_of(instruction(value).opcode),
                                        ") was made in a block that is closed"));
  return depth;
}

const KernelBuilder::IndexFacts& KernelBuilder::facts(const Index& index) {
  const auto [place, added] = facts_.try_emplace(&index.node());
  IndexFacts& result = place->second;
  if (!added) return result;
  result.index = index;
  index.for_each_leaf([&](const Index& leaf) {
    if (leaf.kind() == IndexKind::kValue) result.values.push_back(leaf.id());
    if (leaf.kind() == IndexKind::kLoop) result.loops.push_back(leaf.id());
    TANDEM_CHECK(leaf.kind() != IndexKind::kLane, "lane numbers in kernels are values, not index leaves");
  });
  result.pinned = has_open_division(index);
  return result;
}

size_t KernelBuilder::visible_depth(const Instruction& instruction, bool& pinned) {
  size_t depth = 0;
  for (int i = 0; i < info(instruction.opcode).operands; i++)
    depth = std::max(depth, depth_of(instruction.operands[i]));
  const auto include = [&](const Index& index) {
    const IndexFacts& found = facts(index);
    pinned = pinned || found.pinned;
    for (ValueId value : found.values) depth = std::max(depth, depth_of(value));
    for (uint32_t loop : found.loops) {
      TANDEM_CHECK(loop < block_of_loop_.size(), concat("there is no loop i", loop));
      const size_t loop_depth = depth_of_block_[block_of_loop_[loop]];
      TANDEM_CHECK(loop_depth != kClosed, concat("the counter i", loop, " is used after its loop"));
      depth = std::max(depth, loop_depth);
    }
  };
  if (!instruction.index.is_constant()) include(instruction.index);
  if (instruction.count && !instruction.count->is_constant()) include(*instruction.count);
  return depth;
}

size_t KernelBuilder::outermost_depth(const Instruction& instruction) {
  // Moving must not make anything happen that wouldn't: a read that isn't allowed, a conversion that isn't exact, a
  // division by what is only positive here.
  bool pinned = instruction.opcode == Opcode::kLoad || instruction.opcode == Opcode::kToIntExact;
  const size_t visible = visible_depth(instruction, pinned);
  if (!pinned) return visible;
  size_t depth = open_.size() - 1;
  while (depth > visible && open_[depth].surely_runs) depth--;
  return depth;
}

void KernelBuilder::check_types(const Instruction& instruction) const {
  Type operands[3];
  for (int i = 0; i < info(instruction.opcode).operands; i++) operands[i] = type(instruction.operands[i]);
  const char* mistake = type_mistake(instruction, operands, kernel_.buffers);
  if (mistake == nullptr) return;
  std::string types;
  for (int i = 0; i < info(instruction.opcode).operands; i++) types += " " + text(operands[i]);
  throw InternalError(concat(name_of(instruction.opcode), " ", text(instruction.type), " <-", types, " ", mistake));
}

ValueId KernelBuilder::find_equal(const Instruction& instruction, uint64_t hash) const {
  const auto [first, last] = shared_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (equal(kernel_.instructions[it->second], instruction)) return it->second;
  return kNoValue;
}

ValueId KernelBuilder::append(Instruction&& instruction, size_t depth) {
  const ValueId value = static_cast<ValueId>(kernel_.instructions.size());
  const BlockId block = open_[depth].block;
  kernel_.instructions.push_back(std::move(instruction));
  kernel_.blocks[block].push_back(value);
  block_of_.push_back(block);
  hash_of_.push_back(0);
  return value;
}

ValueId KernelBuilder::make(Instruction&& instruction) {
  check_types(instruction);
  const bool pure = info(instruction.opcode).pure && (instruction.opcode != Opcode::kLoad ||
                                                      kernel_.buffers[instruction.buffer].access == Access::kRead);
  if (!pure) {
    bool pinned = false;
    visible_depth(instruction, pinned);
    return append(std::move(instruction), open_.size() - 1);
  }
  const uint64_t hash = hash_of(instruction);
  const ValueId known = find_equal(instruction, hash);
  if (known != kNoValue) return known;
  const size_t depth = outermost_depth(instruction);
  const ValueId value = append(std::move(instruction), depth);
  hash_of_[value] = hash;
  shared_.emplace(hash, value);
  return value;
}

ValueId KernelBuilder::load(uint32_t buffer, const Index& index, int lanes, std::optional<Index> count, double fill) {
  TANDEM_CHECK(buffer < kernel_.buffers.size(), concat("there is no buffer ", buffer));
  const Type result{register_scalar(kernel_.buffers[buffer].dtype), static_cast<uint8_t>(lanes)};
  if (count && less_equal(lanes, *count) == Truth::kAlways) count.reset();
  if (count && less_equal(*count, 0) == Truth::kAlways) return constant(result, fill);
  Instruction instruction = new_instruction(Opcode::kLoad, result);
  instruction.buffer = buffer;
  instruction.index = index;
  if (count && result.scalar == Scalar::kF32) instruction.number = static_cast<double>(static_cast<float>(fill));
  if (count && result.scalar == Scalar::kF64) instruction.number = fill;
  if (count && !is_float(result.scalar)) instruction.integer = static_cast<int64_t>(fill);
  instruction.count = std::move(count);
  return make(std::move(instruction));
}

void KernelBuilder::store(uint32_t buffer, const Index& index, ValueId value, std::optional<Index> count) {
  TANDEM_CHECK(buffer < kernel_.buffers.size(), concat("there is no buffer ", buffer));
  if (count && less_equal(type(value).lanes, *count) == Truth::kAlways) count.reset();
  if (count && less_equal(*count, 0) == Truth::kAlways) return;
  Instruction instruction = new_instruction(Opcode::kStore, type(value), value);
  instruction.buffer = buffer;
  instruction.index = index;
  instruction.count = std::move(count);
  make(std::move(instruction));
}

void KernelBuilder::prefetch(uint32_t buffer, const Index& index, int level) {
  TANDEM_CHECK(buffer < kernel_.buffers.size(), concat("there is no buffer ", buffer));
  Instruction instruction = new_instruction(Opcode::kPrefetch, Type{register_scalar(kernel_.buffers[buffer].dtype), 1});
  instruction.buffer = buffer;
  instruction.index = index;
  instruction.integer = level;
  make(std::move(instruction));
}

ValueId KernelBuilder::variable(ValueId initial) {
  return make(new_instruction(Opcode::kVariable, type(initial), initial));
}

ValueId KernelBuilder::get(ValueId variable) {
  TANDEM_CHECK(instruction(variable).opcode == Opcode::kVariable, "get needs a variable");
  return make(new_instruction(Opcode::kGet, type(variable), variable));
}

void KernelBuilder::set(ValueId variable, ValueId value) {
  TANDEM_CHECK(instruction(variable).opcode == Opcode::kVariable, "set needs a variable");
  if (type(value).lanes == 1) value = splat(value, type(variable).lanes);
  make(new_instruction(Opcode::kSet, type(variable), variable, value));
}

Kernel KernelBuilder::finish(std::string name, int64_t flops) {
  TANDEM_CHECK(open_.size() == 1, concat("kernel ", name, " is finished with ", open_.size() - 1, " open blocks"));
  kernel_.name = std::move(name);
  kernel_.flops = flops;
  Kernel result = compact(std::move(kernel_));
  verify(result);
  return result;
}

Scalar register_scalar(DType dtype) {
  switch (dtype) {
    case DType::kI64:
    case DType::kU64:
      return Scalar::kI64;
    case DType::kF32:
      return Scalar::kF32;
    case DType::kF64:
      return Scalar::kF64;
    default:
      return Scalar::kI32;
  }
}

}  // namespace tandem
