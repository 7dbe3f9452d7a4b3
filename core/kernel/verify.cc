#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/kernel/capabilities.h"
#include "core/kernel/type_rules.h"

namespace tandem {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  void run() {
    for (const Index& variable : kernel_.variables)
      if (variable.kind() != IndexKind::kVariable) fail(concat("'", variable.text(), "' is listed as a variable"));
    size_parameters();
    if (kernel_.blocks.empty()) fail("there is no block 0");
    if (kernel_.range_loop >= kernel_.loop_count) fail("the range loop's number isn't below loop_count");
    visible_.assign(kernel_.instructions.size(), false);
    open_loop_.assign(kernel_.loop_count, false);
    loop_seen_.assign(kernel_.loop_count, false);
    block_seen_.assign(kernel_.blocks.size(), false);
    open_loop_[kernel_.range_loop] = loop_seen_[kernel_.range_loop] = true;
    block(0, false);
    if (next_ != kernel_.instructions.size()) fail(concat("instruction ", next_, " is in no block"));
    for (size_t i = 0; i < block_seen_.size(); i++)
      if (!block_seen_[i]) fail(concat("block ", i, " belongs to nothing"));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InternalError(concat("kernel '", kernel_.name, "': ", what));
  }
  [[noreturn]] void fail(ValueId value, const std::string& what) const {
    const Instruction& shown = kernel_.instructions[value];
    std::string where = concat("instruction ", value, " ", name_of(shown.opcode));
    if (printable(shown)) where = concat("instruction ", value, " '", text(kernel_, value), "'");
    fail(concat(where, " ", what));
  }
  bool printable(const Instruction& instruction) const { return lanes_allowed(instruction.type.lanes); }

  bool known_variable(const Index& leaf) const {
    return std::find(kernel_.variables.begin(), kernel_.variables.end(), leaf) != kernel_.variables.end();
  }

  void size_parameters() {
    const auto check = [&](const Index& size, const std::string& what) {
      size.for_each_leaf([&](const Index& leaf) {
        if (leaf.kind() != IndexKind::kVariable || !known_variable(leaf))
          fail(concat(what, " depends on '", leaf.text(), "', which isn't a variable of the kernel"));
      });
      if (size.upper() < 0) fail(concat(what, " is negative: ", size.text()));
    };
    check(kernel_.range, "the range");
    for (size_t i = 0; i < kernel_.buffers.size(); i++) {
      check(kernel_.buffers[i].elements, concat("the size of buffer b", i));
      if (kernel_.buffers[i].access == Access::kLocal && !kernel_.buffers[i].elements.is_constant())
        fail(concat("the size of local buffer b", i, " is no number: ", kernel_.buffers[i].elements.text()));
    }
  }

  void block(BlockId number, bool guarded) {
    if (number >= kernel_.blocks.size()) fail(concat("there is no block ", number));
    if (block_seen_[number]) fail(concat("block ", number, " is used twice"));
    block_seen_[number] = true;
    for (ValueId value : kernel_.blocks[number]) {
      if (value != next_) fail(concat("instruction ", value, " stands where instruction ", next_, " should be"));
      if (value >= kernel_.instructions.size()) fail(concat("there is no instruction ", value));
      next_++;
      instruction(value, guarded);
    }
    for (ValueId value : kernel_.blocks[number]) visible_[value] = false;
  }

  void instruction(ValueId value, bool guarded) {
    const Instruction& checked = kernel_.instructions[value];
    operands(value, checked);
    expressions(value, checked);
    const char* mistake = type_mistake(checked, types_, kernel_.buffers);
    if (mistake != nullptr) fail(value, mistake);
    visible_[value] = true;
    if (touches_memory(checked.opcode)) memory(value, checked, guarded);
    if (checked.opcode == Opcode::kLoop) loop(value, checked, guarded);
    if (checked.opcode == Opcode::kIf) {
      block(checked.body, true);
      if (checked.otherwise != 0) block(checked.otherwise, true);
    }
  }

  void operands(ValueId value, const Instruction& checked) {
    const int count = info(checked.opcode).operands;
    for (int i = 0; i < 3; i++) {
      const ValueId operand = checked.operands[i];
      if (i >= count) {
        if (operand != kNoValue) fail(value, "has more operands than its opcode takes");
        continue;
      }
      if (operand >= kernel_.instructions.size()) fail(value, concat("has no operand ", i));
      if (!visible_[operand]) fail(value, concat("uses v", operand, ", which isn't visible there"));
      const Opcode source = kernel_.instructions[operand].opcode;
      const bool names_variable = i == 0 && (checked.opcode == Opcode::kGet || checked.opcode == Opcode::kSet);
      if (names_variable != (source == Opcode::kVariable))
        fail(value, names_variable ? concat("needs a variable, and v", operand, " is none")
                                   : concat("uses the variable v", operand, " without get"));
      if (!makes_value(source)) fail(value, concat("uses v", operand, ", which makes no value"));
      types_[i] = kernel_.instructions[operand].type;
    }
  }

  void expressions(ValueId value, const Instruction& checked) {
    const bool memory = touches_memory(checked.opcode);
    const bool loops = checked.opcode == Opcode::kLoop;
    if (memory || loops || checked.opcode == Opcode::kIndex) leaves(value, checked.index);
    if (loops) leaves(value, checked.end);
    if (checked.count && (!memory || checked.opcode == Opcode::kPrefetch)) fail(value, "has a count");
    if (checked.count) leaves(value, *checked.count);
  }

  void leaves(ValueId value, const Index& index) {
    if (index.is_constant()) return;
    index.for_each_leaf([&](const Index& leaf) {
      switch (leaf.kind()) {
        case IndexKind::kVariable:
          if (!known_variable(leaf))
            fail(value, concat("uses variable ", leaf.text(), ", which the kernel doesn't list"));
          break;
        case IndexKind::kLoop:
          if (leaf.id() >= kernel_.loop_count || !open_loop_[leaf.id()])
            fail(value, concat("uses counter ", leaf.text(), " outside its loop"));
          break;
        case IndexKind::kValue:
          value_leaf(value, leaf.id());
          break;
        default:
          fail(value, concat("has '", leaf.text(), "' in an index expression"));
      }
    });
  }

  void value_leaf(ValueId value, ValueId used) const {
    if (used >= kernel_.instructions.size() || !visible_[used])
      fail(value, concat("uses v", used, ", which isn't visible there"));
    const Instruction& made = kernel_.instructions[used];
    if (!makes_value(made.opcode) || made.opcode == Opcode::kVariable || !is_integer(made.type.scalar) ||
        made.type.lanes != 1)
      fail(value, concat("uses v", used, " as an index, and it isn't one integer"));
  }

  // A subscript in a branch may be wrong where the branch is never taken, so only the others are checked.
  void memory(ValueId value, const Instruction& checked, bool guarded) const {
    const Index& elements = kernel_.buffers[checked.buffer].elements;
    const int lanes = checked.type.lanes;
    if (checked.count && (checked.count->upper() < 0 || checked.count->lower() > lanes))
      fail(value, concat("has a count that is never in 0 .. ", lanes));
    if (guarded) return;
    const int64_t touched = checked.count ? std::max<int64_t>(0, checked.count->lower()) : lanes;
    if (touched == 0) return;
    if (checked.index.upper() < 0) fail(value, "starts before the buffer");
    if (checked.index.lower() >= 0 && checked.index.upper() <= elements.lower() - touched) return;
    if (less(elements, checked.index + touched) == Truth::kAlways)
      fail(value, concat("reaches past the buffer's ", elements.text(), " elements"));
  }

  void loop(ValueId value, const Instruction& checked, bool guarded) {
    if (checked.loop >= kernel_.loop_count) fail(value, "has a counter number that isn't below loop_count");
    if (loop_seen_[checked.loop]) fail(value, concat("uses the counter i", checked.loop, " of another loop"));
    loop_seen_[checked.loop] = open_loop_[checked.loop] = true;
    const bool may_not_run = less(checked.index, checked.end) != Truth::kAlways;
    block(checked.body, guarded || may_not_run);
    open_loop_[checked.loop] = false;
  }

  const Kernel& kernel_;
  ValueId next_ = 0;
  Type types_[3];
  std::vector<bool> visible_, open_loop_, loop_seen_, block_seen_;
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

void verify(const Kernel& kernel, const Capabilities& capabilities) {
  verify(kernel);
  for (size_t i = 0; i < kernel.instructions.size(); i++) {
    const Instruction& checked = kernel.instructions[i];
    const bool halves = checked.opcode == Opcode::kHalfToFloat || checked.opcode == Opcode::kFloatToHalf;
    const bool fused = checked.opcode == Opcode::kFma;
    const bool dot = checked.opcode == Opcode::kDotBFloat16;
    const bool scalar_in_wasm = capabilities.wasm && checked.type.lanes == 1;
    if ((halves && !capabilities.half_conversion) || (fused && (!capabilities.fma || scalar_in_wasm)) ||
        (dot && !capabilities.bfloat16_dot))
      throw InternalError(concat("kernel '", kernel.name, "': ", name_of(checked.opcode), " ", text(checked.type),
                                 " isn't available with ", capabilities.text()));
  }
}

}  // namespace tandem
