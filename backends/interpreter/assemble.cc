#include <string>
#include <unordered_map>
#include <utility>

#include "backends/interpreter/code.h"
#include "core/base/error.h"

namespace tandem {
namespace {

class Assembler {
 public:
  explicit Assembler(const Kernel& kernel) : kernel_(kernel) { code_.kernel = &kernel; }

  Code run() {
    // One register per instruction: a value never lies where another one is.
    code_.registers.resize(kernel_.instructions.size());
    for (const Index& variable : kernel_.variables) {
      code_.variables.push_back(code_.indices.add_number());
      variable_numbers_.emplace(variable.name(), code_.variables.back());
    }
    for (uint32_t i = 0; i < kernel_.loop_count; i++) counters_.push_back(code_.indices.add_number());
    code_.range_counter = counters_[kernel_.range_loop];
    code_.range = expression(kernel_.range);
    for (const BufferParameter& buffer : kernel_.buffers) code_.elements.push_back(expression(buffer.elements));
    find_index_values();
    block(0);
    return std::move(code_);
  }

 private:
  void find_index_values() {
    const auto note = [&](const Index& leaf) {
      if (leaf.kind() == IndexKind::kValue && value_numbers_.count(leaf.id()) == 0)
        value_numbers_.emplace(leaf.id(), code_.indices.add_number());
    };
    for (const Instruction& instruction : kernel_.instructions)
      for_each_index(instruction, [&](const Index& index) { index.for_each_leaf(note); });
  }

  IndexExpression expression(const Index& index, bool check_values = false) {
    return code_.indices.add(
        index,
        [this](const Index& leaf) {
          if (leaf.kind() == IndexKind::kLoop) return counters_.at(leaf.id());
          if (leaf.kind() == IndexKind::kValue) return value_numbers_.at(leaf.id());
          return variable_numbers_.at(leaf.name());
        },
        check_values);
  }

  Step new_step(Operation operation, ValueId value) {
    const Instruction& instruction = kernel_.instructions[value];
    Step step;
    step.operation = operation;
    step.lanes = instruction.type.lanes;
    step.bytes = static_cast<uint8_t>(size_of(instruction.type.scalar));
    step.instruction = step.result = value;
    for (int i = 0; i < info(instruction.opcode).operands; i++) step.operands[i] = instruction.operands[i];
    step.lane = static_cast<uint32_t>(instruction.integer);
    step.buffer = instruction.buffer;
    return step;
  }
  uint32_t here() const { return static_cast<uint32_t>(code_.steps.size()); }

  void block(BlockId number) {
    for (ValueId value : kernel_.blocks[number]) {
      instruction(value, kernel_.instructions[value]);
      const auto noted = value_numbers_.find(value);
      if (noted == value_numbers_.end()) continue;
      Step step = new_step(Operation::kNote, value);
      step.result = noted->second;
      step.operands[0] = value;
      code_.steps.push_back(step);
    }
  }

  void instruction(ValueId value, const Instruction& made) {
    switch (made.opcode) {
      case Opcode::kConstant:
        fill(code_.registers[value], made, made.integer, made.number);
        return;
      case Opcode::kLanes:
        for (int i = 0; i < made.type.lanes; i++) set_lane(code_.registers[value], made.type.scalar, i, i);
        return;
      case Opcode::kIndex: {
        Step step = new_step(Operation::kIndex, value);
        step.index = expression(made.index);
        code_.steps.push_back(step);
        return;
      }
      case Opcode::kPrefetch:
        return;
      case Opcode::kLoad:
      case Opcode::kStore:
        memory(value, made);
        return;
      case Opcode::kSplat:
        code_.steps.push_back(new_step(Operation::kSplat, value));
        return;
      case Opcode::kExtract:
        code_.steps.push_back(new_step(Operation::kExtract, value));
        return;
      case Opcode::kInsert:
        code_.steps.push_back(new_step(Operation::kInsert, value));
        return;
      case Opcode::kLow:
        code_.steps.push_back(new_step(Operation::kLow, value));
        return;
      case Opcode::kHigh:
        code_.steps.push_back(new_step(Operation::kHigh, value));
        return;
      case Opcode::kVariable:
      case Opcode::kGet:
        code_.steps.push_back(new_step(Operation::kCopy, value));
        return;
      case Opcode::kSet: {
        Step step = new_step(Operation::kCopy, value);
        step.result = made.operands[0];
        step.operands[0] = made.operands[1];
        code_.steps.push_back(step);
        return;
      }
      case Opcode::kLoop:
        loop(value, made);
        return;
      case Opcode::kIf:
        branch(value, made);
        return;
      default:
        compute(value, made);
    }
  }

  void compute(ValueId value, const Instruction& made) {
    const bool exact = made.opcode == Opcode::kToIntExact;
    Step step = new_step(exact ? Operation::kToIntExact : Operation::kCompute, value);
    const ValueId typed = made.operands[made.opcode == Opcode::kSelect ? 1 : 0];
    step.function = lane_function(made.opcode, kernel_.instructions[typed].type.scalar, made.type.scalar);
    TANDEM_CHECK(step.function != nullptr, name_of(made.opcode));
    code_.steps.push_back(step);
  }

  void memory(ValueId value, const Instruction& made) {
    const DType dtype = kernel_.buffers[made.buffer].dtype;
    Step step = new_step(made.opcode == Opcode::kLoad ? Operation::kLoad : Operation::kStore, value);
    step.bytes = static_cast<uint8_t>(size_of(dtype));
    step.load = load_function(dtype);
    step.store = store_function(dtype);
    step.index = expression(made.index, true);
    step.has_count = made.count.has_value();
    if (made.count) step.count = expression(*made.count, true);
    if (made.count && made.opcode == Opcode::kLoad) {
      // The fill waits in a register of its own.
      step.operands[0] = static_cast<uint32_t>(code_.registers.size());
      code_.registers.emplace_back();
      fill(code_.registers.back(), made, made.integer, made.number);
    }
    code_.steps.push_back(step);
  }

  static void set_lane(Lanes& lanes, Scalar scalar, int lane, int64_t integer) {
    if (size_of(scalar) == 8)
      lanes.i64[lane] = integer;
    else
      lanes.i32[lane] = static_cast<int32_t>(integer);
  }
  static void fill(Lanes& lanes, const Instruction& made, int64_t integer, double number) {
    for (int i = 0; i < made.type.lanes; i++) {
      if (made.type.scalar == Scalar::kF32)
        lanes.f32[i] = static_cast<float>(number);
      else if (made.type.scalar == Scalar::kF64)
        lanes.f64[i] = number;
      else
        set_lane(lanes, made.type.scalar, i, is_mask(made.type.scalar) ? -integer : integer);
    }
  }

  void loop(ValueId value, const Instruction& made) {
    Step begin = new_step(Operation::kLoop, value);
    begin.result = counters_[made.loop];
    begin.end_number = code_.indices.add_number();
    begin.index = expression(made.index, true);
    begin.end = expression(made.end, true);
    const uint32_t place = here();
    code_.steps.push_back(begin);
    block(made.body);
    Step end = begin;
    end.operation = Operation::kEndLoop;
    end.stride = made.step;
    end.target = place + 1;
    code_.steps.push_back(end);
    code_.steps[place].target = here();
  }

  void branch(ValueId value, const Instruction& made) {
    const uint32_t place = here();
    code_.steps.push_back(new_step(Operation::kIf, value));
    block(made.body);
    if (made.otherwise == 0) {
      code_.steps[place].target = here();
      return;
    }
    const uint32_t jump = here();
    code_.steps.push_back(new_step(Operation::kJump, value));
    code_.steps[place].target = here();
    block(made.otherwise);
    code_.steps[jump].target = here();
  }

  const Kernel& kernel_;
  Code code_;
  std::unordered_map<std::string, uint32_t> variable_numbers_;
  std::unordered_map<ValueId, uint32_t> value_numbers_;
  std::vector<uint32_t> counters_;
};

}  // namespace

Code assemble(const Kernel& kernel) { return Assembler(kernel).run(); }

}  // namespace tandem
