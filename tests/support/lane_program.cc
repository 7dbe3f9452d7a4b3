#include "tests/support/lane_program.h"

#include <stdexcept>

#include "core/base/text.h"

namespace tandem::test {
namespace {

void fill(Lanes& lanes, const Instruction& constant) {
  for (int i = 0; i < constant.type.lanes; ++i) {
    switch (constant.type.scalar) {
      case Scalar::kF32:
        lanes.f32[i] = static_cast<float>(constant.number);
        break;
      case Scalar::kF64:
        lanes.f64[i] = constant.number;
        break;
      case Scalar::kI32:
        lanes.i32[i] = static_cast<int32_t>(constant.integer);
        break;
      case Scalar::kI64:
        lanes.i64[i] = constant.integer;
        break;
      case Scalar::kMask32:
        lanes.i32[i] = constant.integer != 0 ? -1 : 0;
        break;
      case Scalar::kMask64:
        lanes.i64[i] = constant.integer != 0 ? -1 : 0;
        break;
    }
  }
}

}  // namespace

LaneProgram::LaneProgram(const std::vector<DType>& arguments, DType result, const Make& make) {
  KernelBuilder builder;
  std::vector<ValueId> values;
  for (DType dtype : arguments)
    values.push_back(builder.load(builder.add_buffer(dtype, Access::kRead, kLanes), 0, kLanes));
  const uint32_t output = builder.add_buffer(result, Access::kWrite, kLanes);
  builder.store(output, 0, make(builder, values));
  kernel_ = builder.finish("function");
  registers_.resize(kernel_.instructions.size());
  for (ValueId id : kernel_.blocks[0]) {
    const Instruction& instruction = kernel_.instructions[id];
    const ValueId first = instruction.operands[0];
    if (instruction.opcode == Opcode::kConstant) {
      fill(registers_[id], instruction);
    } else if (instruction.opcode == Opcode::kLoad) {
      loads_.emplace_back(id, instruction.buffer);
    } else if (instruction.opcode == Opcode::kStore) {
      result_ = first;
    } else if (instruction.opcode == Opcode::kSplat) {
      Instruction constant = kernel_.instructions[first];
      if (constant.opcode != Opcode::kConstant) throw std::logic_error("only constants are splat here");
      constant.type = instruction.type;
      fill(registers_[id], constant);
    } else {
      const Scalar operand =
          kernel_.instructions[instruction.opcode == Opcode::kSelect ? instruction.operands[1] : first].type.scalar;
      Step step{lane_function(instruction.opcode, operand, instruction.type.scalar), id, {}, instruction.type.lanes};
      if (step.function == nullptr)
        throw std::logic_error(concat("no lane function for ", name_of(instruction.opcode)));
      for (int i = 0; i < 3; ++i)
        step.operands[i] = instruction.operands[i] == kNoValue ? first : instruction.operands[i];
      steps_.push_back(step);
    }
  }
}

const Lanes& LaneProgram::run(const std::vector<Lanes>& arguments) {
  for (const auto& [id, argument] : loads_) registers_[id] = arguments[argument];
  for (const Step& step : steps_) {
    step.function(registers_[step.result], registers_[step.operands[0]], registers_[step.operands[1]],
                  registers_[step.operands[2]], step.lanes);
  }
  return registers_[result_];
}

int LaneProgram::cost() const {
  int cost = 0;
  for (ValueId id : kernel_.blocks[0]) {
    const Opcode opcode = kernel_.instructions[id].opcode;
    cost += opcode != Opcode::kConstant && opcode != Opcode::kSplat && opcode != Opcode::kLoad &&
            opcode != Opcode::kStore && opcode != Opcode::kBitcast;
  }
  return cost;
}

}  // namespace tandem::test
