// Loads and stores.

#include "backends/wasm/kernel_emitter.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem::wasm_emitter {

namespace {

bool extends_sign(DType dtype) { return is_signed_integer(dtype); }

}  // namespace

Place KernelEmitter::repeatable(const Place& place) {
  if (place.pointer->is<wasm::LocalGet>()) return place;
  return {code_.get(keep(place.pointer)), place.offset};
}

Place KernelEmitter::again(const Place& place, uint32_t more_bytes) {
  return {code_.get(place.pointer->cast<wasm::LocalGet>()->index), place.offset + more_bytes};
}

Parts KernelEmitter::load(const Instruction& instruction) {
  const BufferParameter& buffer = kernel_.buffers[instruction.buffer];
  taken_memory_ = buffer.access != Access::kRead;
  Place place = addresses_.place(instruction.buffer, instruction.index);
  if (instruction.type.lanes == 1) return {{load_scalar(instruction, place, 0)}, false};
  const int parts = part_count(instruction.type);
  if (parts > 1) place = repeatable(place);
  Parts result;
  for (int part = 0; part < parts; part++) {
    result.list.push_back(load_part(instruction, parts > 1 ? again(place) : place, part));
  }
  return result;
}

Expression* KernelEmitter::load_part(const Instruction& instruction, Place place, int part) {
  const DType dtype = kernel_.buffers[instruction.buffer].dtype;
  const int bytes = static_cast<int>(size_of(dtype));
  const bool is_pair = instruction.type.lanes == 2;
  const bool with_sign = extends_sign(dtype);
  const uint32_t offset = place.offset + static_cast<uint32_t>(part * lanes_per_part(instruction.type) * bytes);
  auto vector_load = [&](wasm::SIMDLoadOp op, int align) -> Expression* {
    return code_.builder().makeSIMDLoad(op, offset, align, place.pointer, kMemory);
  };
  if (bytes == 8 || (bytes == 4 && !is_pair)) {
    return code_.load(16, false, offset, place.pointer, wasm::Type::v128, bytes);
  }
  if (bytes == 4) return vector_load(wasm::Load64ZeroVec128, 4);
  const auto extend_words = with_sign ? wasm::ExtendLowSVecI16x8ToVecI32x4 : wasm::ExtendLowUVecI16x8ToVecI32x4;
  if (bytes == 2) {
    if (!is_pair) return vector_load(with_sign ? wasm::Load16x4SVec128 : wasm::Load16x4UVec128, 2);
    return code_.unary(extend_words, vector_load(wasm::Load32ZeroVec128, 2));
  }
  Expression* raw = vector_load(is_pair ? wasm::Load16SplatVec128 : wasm::Load32ZeroVec128, 1);
  const auto extend_bytes = with_sign ? wasm::ExtendLowSVecI8x16ToVecI16x8 : wasm::ExtendLowUVecI8x16ToVecI16x8;
  return code_.unary(extend_words, code_.unary(extend_bytes, raw));
}

Expression* KernelEmitter::load_scalar(const Instruction& instruction, Place place, int lane) {
  const DType dtype = kernel_.buffers[instruction.buffer].dtype;
  const int bytes = static_cast<int>(size_of(dtype));
  return code_.load(bytes, extends_sign(dtype), place.offset + static_cast<uint32_t>(lane * bytes), place.pointer,
                    register_type(Type{instruction.type.scalar, 1}), bytes);
}

// if (count > first) { lane first; if (count > first + 1) { ... } }
template <typename LaneCode>
Expression* KernelEmitter::while_lanes(Local count, int first, int last, LaneCode lane_code) {
  Expression* rest = nullptr;
  for (int lane = last - 1; lane >= first; lane--) {
    Statements statements{lane_code(lane)};
    if (rest) statements.push_back(rest);
    Expression* reached = code_.binary(wasm::GtSInt32, code_.get(count), code_.i32(lane));
    rest = code_.builder().makeIf(reached, code_.block(statements));
  }
  return rest;
}

void KernelEmitter::partial_load(ValueId id) {
  const Instruction& instruction = at(id);
  const Type type = instruction.type;
  Instruction fill = instruction;
  fill.opcode = Opcode::kConstant;
  const Place place = repeatable(addresses_.place(instruction.buffer, instruction.index));
  const Local count = keep(addresses_.value(*instruction.count));
  std::vector<Expression*> initial;
  for (int part = 0; part < part_count(type); part++) initial.push_back(constant(fill).list[0]);
  hold(id, initial);
  const std::vector<Local>& locals = values_[id].locals;
  if (type.lanes == 1) {
    Expression* element = load_scalar(instruction, again(place), 0);
    statement(while_lanes(count, 0, 1, [&](int) { return code_.set(locals[0], element); }));
    return;
  }
  const int per_part = lanes_per_part(type);
  Statements whole;
  for (int part = 0; part < part_count(type); part++) {
    whole.push_back(code_.set(locals[part], load_part(instruction, again(place), part)));
  }
  Expression* pieces = while_lanes(count, 0, type.lanes - 1, [&](int lane) {
    const Local local = locals[lane / per_part];
    Expression* element = load_scalar(instruction, again(place), lane);
    return code_.set(local, replace_lane(type.scalar, code_.get(local), lane % per_part, element));
  });
  Expression* is_whole = code_.binary(wasm::GeSInt32, code_.get(count), code_.i32(type.lanes));
  statement(code_.builder().makeIf(is_whole, code_.block(whole), pieces));
}

void KernelEmitter::store(const Instruction& instruction) {
  const ValueId value = instruction.operands[0];
  // What waits and loads from a written buffer must have loaded before; the value itself too when it is stored in
  // several steps.
  if (part_count(instruction.type) > 1 && values_[value].reads_memory) settle(value);
  Place place = addresses_.place(instruction.buffer, instruction.index);
  if (type_of(value).lanes > 1) place = repeatable(place);
  store_parts(instruction, place);
}

void KernelEmitter::store_parts(const Instruction& instruction, const Place& place) {
  const ValueId value = instruction.operands[0];
  const Type type = type_of(value);
  const int bytes = static_cast<int>(size_of(kernel_.buffers[instruction.buffer].dtype));
  TANDEM_CHECK(!is_mask(type.scalar), concat("kernel ", kernel_.name, " stores a mask"));
  if (type.lanes == 1) {
    Expression* element = take(value);
    settle_memory_readers();
    statement(code_.store(bytes, place.offset, place.pointer, element, register_type(type), bytes));
    return;
  }
  if (bytes < 4) return store_narrow(instruction, place, bytes);
  std::vector<Expression*> parts;
  for (int part = 0; part < part_count(type); part++) parts.push_back(take(value, part));
  settle_memory_readers();
  if (bytes == 4 && type.lanes == 2) {
    const Place to = again(place);
    statement(
        code_.builder().makeSIMDLoadStoreLane(wasm::Store64LaneVec128, to.offset, 4, 0, to.pointer, parts[0], kMemory));
    return;
  }
  for (size_t part = 0; part < parts.size(); part++) {
    const Place to = again(place, static_cast<uint32_t>(16 * part));
    statement(code_.store(16, to.offset, to.pointer, parts[part], wasm::Type::v128, bytes));
  }
}

// Elements of one or two bytes: the low bytes of the lanes, moved together.
void KernelEmitter::store_narrow(const Instruction& instruction, const Place& place, int bytes) {
  const ValueId value = instruction.operands[0];
  settle(value);
  settle_memory_readers();
  const int lanes = type_of(value).lanes;
  auto pack = [&](Expression* a, Expression* b, int from_bytes, int to_bytes) {
    uint8_t mask[16];
    // Bytes beyond the live lanes repeat: they are not stored.
    for (int i = 0; i < 16; i++) mask[i] = static_cast<uint8_t>((i / to_bytes * from_bytes + i % to_bytes) % 32);
    return code_.shuffle(a, b, mask);
  };
  std::vector<Expression*> packed;
  const int parts = part_count(type_of(value));
  for (int part = 0; part < parts; part += 2) {
    const int other = std::min(part + 1, parts - 1);
    packed.push_back(pack(take(value, part), take(value, other), 4, bytes == 2 ? 2 : (lanes > 8 ? 2 : 1)));
  }
  if (bytes == 1 && lanes == 16) packed = {pack(packed[0], packed[1], 2, 1)};
  const int step = std::min(16, lanes * bytes);
  for (size_t i = 0; i < packed.size(); i++) {
    const Place to = again(place, static_cast<uint32_t>(16 * i));
    if (step == 16) {
      statement(code_.store(16, to.offset, to.pointer, packed[i], wasm::Type::v128, bytes));
      continue;
    }
    auto op = wasm::Store64LaneVec128;
    if (step == 4) op = wasm::Store32LaneVec128;
    if (step == 2) op = wasm::Store16LaneVec128;
    statement(code_.builder().makeSIMDLoadStoreLane(op, to.offset, bytes, 0, to.pointer, packed[i], kMemory));
  }
}

Expression* KernelEmitter::store_lane(const Instruction& instruction, const Place& place, int lane) {
  const ValueId value = instruction.operands[0];
  const Type type = type_of(value);
  const int bytes = static_cast<int>(size_of(kernel_.buffers[instruction.buffer].dtype));
  const Place to = again(place, static_cast<uint32_t>(lane * bytes));
  if (type.lanes == 1) return code_.store(bytes, to.offset, to.pointer, take(value), register_type(type), bytes);
  const int per_part = lanes_per_part(type);
  Expression* vector = take(value, lane / per_part);
  if (bytes < 4) {
    Expression* element = extract_lane(type.scalar, vector, lane % per_part);
    return code_.store(bytes, to.offset, to.pointer, element, wasm::Type::i32, bytes);
  }
  const auto op = bytes == 8 ? wasm::Store64LaneVec128 : wasm::Store32LaneVec128;
  return code_.builder().makeSIMDLoadStoreLane(op, to.offset, bytes, static_cast<uint8_t>(lane % per_part), to.pointer,
                                               vector, kMemory);
}

void KernelEmitter::partial_store(const Instruction& instruction) {
  const ValueId value = instruction.operands[0];
  settle(value);
  settle_memory_readers();
  const int lanes = type_of(value).lanes;
  const Place place = repeatable(addresses_.place(instruction.buffer, instruction.index));
  const Local count = keep(addresses_.value(*instruction.count));
  if (lanes == 1) {
    statement(while_lanes(count, 0, 1, [&](int lane) { return store_lane(instruction, place, lane); }));
    return;
  }
  Statements whole;
  Statements* outer = statements_;
  statements_ = &whole;
  store_parts(instruction, place);
  statements_ = outer;
  Expression* pieces = while_lanes(count, 0, lanes - 1, [&](int lane) { return store_lane(instruction, place, lane); });
  Expression* is_whole = code_.binary(wasm::GeSInt32, code_.get(count), code_.i32(lanes));
  statement(code_.builder().makeIf(is_whole, code_.block(whole), pieces));
}

}  // namespace tandem::wasm_emitter
