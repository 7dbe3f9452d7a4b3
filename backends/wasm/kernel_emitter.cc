#include "backends/wasm/kernel_emitter.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem::wasm_emitter {

namespace {

/// Expressions are nested up to this height; a deep tree costs the writer and V8 stack.
constexpr int kDepthLimit = 12;
/// Leaves that stand for the arguments begin and end.
constexpr uint32_t kBegin = UINT32_MAX - 1;
constexpr uint32_t kEnd = UINT32_MAX - 2;

bool names_register(Opcode opcode) { return opcode == Opcode::kGet || opcode == Opcode::kSet; }

}  // namespace

int part_count(Type type) {
  if (type.lanes == 1) return 1;
  return std::max(1, type.lanes * size_of(type.scalar) / 16);
}

int lanes_per_part(Type type) { return std::min<int>(type.lanes, 16 / size_of(type.scalar)); }

wasm::Type register_type(Type type) {
  if (type.lanes > 1) return wasm::Type::v128;
  switch (type.scalar) {
    case Scalar::kI64:
      return wasm::Type::i64;
    case Scalar::kF32:
      return wasm::Type::f32;
    case Scalar::kF64:
      return wasm::Type::f64;
    default:
      return wasm::Type::i32;
  }
}

KernelEmitter::KernelEmitter(wasm::Module& module, const Kernel& kernel, const Capabilities& capabilities)
    : module_(module),
      kernel_(kernel),
      capabilities_(capabilities),
      code_(module),
      addresses_(code_, Addresses::Leaf{[this](const Index& leaf) { return leaf_value(leaf); },
                                        [this](const Index& leaf) { return leaf_level(leaf); }}),
      values_(kernel.instructions.size()) {}

void KernelEmitter::emit(const std::string& name) {
  count_uses();
  for (const BufferParameter& buffer : kernel_.buffers) {
    addresses_.add_buffer(code_.add_parameter(wasm::Type::i32), size_of(buffer.dtype));
  }
  for (size_t i = 0; i < kernel_.variables.size(); i++) variables_.push_back(code_.add_parameter(wasm::Type::i32));
  begin_ = code_.add_parameter(wasm::Type::i32);
  end_ = code_.add_parameter(wasm::Type::i32);

  const bool has_loop = uses_range_counter_ || !kernel_.range.is(1);
  if (has_loop) {
    const int64_t extent = kernel_.range.upper();
    addresses_.open_loop(kernel_.range_loop, Index::value(kBegin, 0, extent), Index::value(kEnd, 0, extent), 1);
  }
  Statements body;
  emit_block(0, body);
  addresses_.current().body = std::move(body);
  if (has_loop) {
    Expression* loop = addresses_.close_loop();
    addresses_.current().body.push_back(loop);
  }
  code_.finish(module_, name, addresses_.close_function());
}

void KernelEmitter::count_uses() {
  std::vector<BlockId> block_of(kernel_.instructions.size(), 0);
  std::vector<BlockId> user(kernel_.instructions.size(), 0);
  std::vector<int> uses(kernel_.instructions.size(), 0);
  for (BlockId block = 0; block < kernel_.blocks.size(); block++)
    for (ValueId id : kernel_.blocks[block]) block_of[id] = block;
  for (BlockId block = 0; block < kernel_.blocks.size(); block++) {
    for (ValueId id : kernel_.blocks[block]) {
      const Instruction& instruction = at(id);
      for (int i = names_register(instruction.opcode) ? 1 : 0; i < info(instruction.opcode).operands; i++) {
        uses[instruction.operands[i]]++;
        user[instruction.operands[i]] = block;
      }
      // An index may be computed anywhere and any number of times: what it names must lie in a local.
      for_each_index(instruction, [&](const Index& index) {
        index.for_each_leaf([&](const Index& leaf) {
          if (leaf.kind() == IndexKind::kValue) uses[leaf.id()] += 2;
          if (leaf.kind() == IndexKind::kLoop && leaf.id() == kernel_.range_loop) uses_range_counter_ = true;
        });
      });
    }
  }
  for (ValueId id = 0; id < values_.size(); id++) values_[id].nestable = uses[id] == 1 && user[id] == block_of[id];
}

int KernelEmitter::leaf_level(const Index& leaf) const {
  if (leaf.kind() != IndexKind::kValue || leaf.id() == kBegin || leaf.id() == kEnd) return -1;
  return is_constant(leaf.id()) ? -1 : values_[leaf.id()].level;
}

Expression* KernelEmitter::leaf_value(const Index& leaf) {
  if (leaf.kind() == IndexKind::kVariable) {
    for (size_t i = 0; i < variables_.size(); i++)
      if (kernel_.variables[i].name() == leaf.name()) return code_.get(variables_[i]);
    TANDEM_CHECK(false, concat("variable ", leaf.name(), " is not an argument of kernel ", kernel_.name));
  }
  TANDEM_CHECK(leaf.kind() == IndexKind::kValue, concat("index leaf ", leaf.text(), " in kernel ", kernel_.name));
  if (leaf.id() == kBegin) return code_.get(begin_);
  if (leaf.id() == kEnd) return code_.get(end_);
  settle(leaf.id());
  Expression* value = take(leaf.id());
  return type_of(leaf.id()).scalar == Scalar::kI64 ? code_.unary(wasm::WrapInt64, value) : value;
}

void KernelEmitter::emit_block(BlockId block, Statements& out) {
  Statements* outer = statements_;
  std::vector<Local> outer_locals = std::move(block_locals_);
  block_locals_.clear();
  statements_ = &out;
  for (ValueId id : kernel_.blocks[block]) emit_instruction(id);
  settle_all();
  for (Local local : block_locals_) code_.give_back(local);
  block_locals_ = std::move(outer_locals);
  statements_ = outer;
}

void KernelEmitter::emit_instruction(ValueId id) {
  const Instruction& instruction = at(id);
  values_[id].level = addresses_.depth();
  taken_reads_.clear();
  taken_memory_ = false;
  taken_depth_ = 0;
  switch (instruction.opcode) {
    case Opcode::kLoop:
      return emit_loop(instruction);
    case Opcode::kIf:
      return emit_if(instruction);
    case Opcode::kVariable:
      return emit_variable(id);
    case Opcode::kSet:
      return emit_set(instruction);
    case Opcode::kPrefetch:
      return;  // WebAssembly has no such hint.
    case Opcode::kStore:
      return instruction.count ? partial_store(instruction) : store(instruction);
    case Opcode::kLoad:
      if (instruction.count) return partial_load(id);
      return finish(id, load(instruction));
    case Opcode::kGet: {
      Parts parts;
      for (Local local : values_[instruction.operands[0]].locals) parts.list.push_back(code_.get(local));
      taken_reads_.push_back(instruction.operands[0]);
      return finish(id, std::move(parts));
    }
    case Opcode::kConstant:
    case Opcode::kLanes: {
      if (instruction.type.lanes == 1 && instruction.opcode == Opcode::kConstant) return;
      // Once per call, before everything: V8 makes a vector constant out of several instructions.
      Parts parts = instruction.opcode == Opcode::kConstant ? constant(instruction) : lane_numbers(instruction);
      Value& value = values_[id];
      value.same = parts.same;
      for (Expression* part : parts.list) {
        const Local local = code_.take_new(register_type(instruction.type));
        addresses_.function_header().push_back(code_.set(local, part));
        value.locals.push_back(local);
      }
      return;
    }
    case Opcode::kIndex: {
      Parts parts;
      Expression* value = addresses_.value(instruction.index);
      if (instruction.type.scalar == Scalar::kI64) value = code_.unary(wasm::ExtendSInt32, value);
      parts.list.push_back(value);
      return finish(id, std::move(parts));
    }
    case Opcode::kSplat:
      return finish(id, splat(instruction));
    case Opcode::kExtract:
      return finish(id, extract(instruction));
    case Opcode::kInsert:
      return finish(id, insert(instruction));
    case Opcode::kLow:
    case Opcode::kHigh:
      return finish(id, half(instruction));
    case Opcode::kHalfToFloat:
    case Opcode::kFloatToHalf:
      throw TensorError(
          concat("kernel ", kernel_.name, " uses ", name_of(instruction.opcode),
                 ", which WebAssembly does not have; schedule it for capabilities without f16 conversion"),
          ErrorCode::kUnsupported);
    case Opcode::kDotBFloat16:
      throw TensorError(concat("kernel ", kernel_.name, " uses ", name_of(instruction.opcode),
                               ", which WebAssembly does not have; schedule it for capabilities without it"),
                        ErrorCode::kUnsupported);
    case Opcode::kConvertMask:
    case Opcode::kToFloat:
    case Opcode::kToFloatU:
    case Opcode::kToInt:
    case Opcode::kToIntU:
    case Opcode::kToIntExact:
    case Opcode::kConvertFloat:
    case Opcode::kExtend:
    case Opcode::kExtendU:
    case Opcode::kWrap:
    case Opcode::kBitcast:
      return finish(id, convert(instruction));
    default:
      return finish(id, element_wise(instruction));
  }
}

void KernelEmitter::emit_loop(const Instruction& instruction) {
  settle_all();
  addresses_.open_loop(instruction.loop, instruction.index, instruction.end, instruction.step);
  Statements body;
  emit_block(instruction.body, body);
  addresses_.current().body = std::move(body);
  statement(addresses_.close_loop());
}

void KernelEmitter::emit_if(const Instruction& instruction) {
  Expression* condition = take(instruction.operands[0]);
  settle_all();
  Statements then_part;
  Statements else_part;
  emit_block(instruction.body, then_part);
  if (instruction.otherwise != 0) emit_block(instruction.otherwise, else_part);
  statement(
      code_.builder().makeIf(condition, code_.block(then_part), else_part.empty() ? nullptr : code_.block(else_part)));
}

void KernelEmitter::emit_variable(ValueId id) {
  const Instruction& instruction = at(id);
  std::vector<Expression*> parts;
  for (int part = 0; part < part_count(instruction.type); part++) parts.push_back(take(instruction.operands[0], part));
  hold(id, parts);
}

void KernelEmitter::emit_set(const Instruction& instruction) {
  const ValueId variable = instruction.operands[0];
  std::vector<Expression*> parts;
  for (int part = 0; part < part_count(instruction.type); part++) parts.push_back(take(instruction.operands[1], part));
  settle_readers(variable);
  for (size_t part = 0; part < parts.size(); part++) {
    statement(code_.set(values_[variable].locals[part], parts[part]));
  }
}

void KernelEmitter::finish(ValueId id, Parts parts) {
  Value& value = values_[id];
  value.same = parts.same;
  if (!value.nestable || taken_depth_ >= kDepthLimit) return hold(id, parts.list);
  value.waiting = true;
  value.waiting_parts = std::move(parts.list);
  value.depth = taken_depth_ + 1;
  value.reads = taken_reads_;
  value.reads_memory = taken_memory_;
  waiting_.push_back(id);
}

void KernelEmitter::hold(ValueId id, const std::vector<Expression*>& parts) {
  Value& value = values_[id];
  for (Expression* part : parts) value.locals.push_back(keep(part));
}

Local KernelEmitter::keep(Expression* value) {
  const Local local = code_.take(value->type);
  block_locals_.push_back(local);
  statement(code_.set(local, value));
  return local;
}

Expression* KernelEmitter::take(ValueId id, int part) {
  const Instruction& instruction = at(id);
  if (instruction.opcode == Opcode::kConstant && instruction.type.lanes == 1) return constant(instruction).list[0];
  Value& value = values_[id];
  // One expression for several parts can't be taken several times.
  if (value.waiting && value.same && part_count(instruction.type) > 1) settle(id);
  const size_t place = value.same ? 0 : static_cast<size_t>(part);
  if (!value.waiting) {
    TANDEM_CHECK(place < value.locals.size(), concat("value ", id, " of kernel ", kernel_.name, " is not made yet"));
    return code_.get(value.locals[place]);
  }
  Expression* expression = value.waiting_parts[place];
  TANDEM_CHECK(expression != nullptr, concat("value ", id, " of kernel ", kernel_.name, " is taken twice"));
  value.waiting_parts[place] = nullptr;
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), id), waiting_.end());
  taken_reads_.insert(taken_reads_.end(), value.reads.begin(), value.reads.end());
  taken_memory_ = taken_memory_ || value.reads_memory;
  taken_depth_ = std::max(taken_depth_, value.depth);
  return expression;
}

void KernelEmitter::settle(ValueId id) {
  Value& value = values_[id];
  if (!value.waiting) return;
  value.waiting = false;
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), id), waiting_.end());
  hold(id, value.waiting_parts);
}

void KernelEmitter::forget_unused(ValueId id) {
  if (!values_[id].waiting) return;
  values_[id].waiting = false;
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), id), waiting_.end());
}

void KernelEmitter::settle_all() {
  const std::vector<ValueId> all = waiting_;
  for (ValueId id : all) settle(id);
}

void KernelEmitter::settle_readers(ValueId variable) {
  const std::vector<ValueId> all = waiting_;
  for (ValueId id : all) {
    const auto& reads = values_[id].reads;
    if (std::find(reads.begin(), reads.end(), variable) != reads.end()) settle(id);
  }
}

void KernelEmitter::settle_memory_readers() {
  const std::vector<ValueId> all = waiting_;
  for (ValueId id : all)
    if (values_[id].reads_memory) settle(id);
}

}  // namespace tandem::wasm_emitter
