#pragma once

#include <string>
#include <vector>

#include "backends/wasm/addresses.h"
#include "backends/wasm/code.h"
#include "core/kernel/capabilities.h"
#include "core/kernel/kernel.h"

namespace tandem::wasm_emitter {

/// One expression per part of a value. A value of one lane is one WebAssembly scalar (a mask is an i32, 0 or 1); more
/// lanes are parts of 128 bits, a two-lane value of 4 bytes the low half of one. `same` when all parts are equal and
/// only one is held.
struct Parts {
  std::vector<Expression*> list;
  bool same = false;
};

/// Number of 128-bit parts of a vector type; 1 for one lane.
int part_count(Type type);
/// Lanes in one part: 4 or 2, fewer when the type has fewer.
int lanes_per_part(Type type);
/// What holds one part.
wasm::Type register_type(Type type);

/// Makes one WebAssembly function of a kernel: parameters are the base pointers, the variables, begin and end, all i32.
class KernelEmitter {
 public:
  KernelEmitter(wasm::Module& module, const Kernel& kernel, const Capabilities& capabilities);

  /// Adds the function to the module. Throws TensorError (kUnsupported) for what WebAssembly can't hold.
  void emit(const std::string& name);

 private:
  /// A value that is made: in locals, as a constant, or as expressions that wait for their only use.
  struct Value {
    bool waiting = false;
    bool same = false;
    int depth = 0;              ///< Height of the waiting expressions.
    std::vector<Local> locals;  ///< One per part, or one when `same`.
    std::vector<Expression*> waiting_parts;
    std::vector<ValueId> reads;  ///< Registers that the waiting expressions read.
    bool reads_memory = false;   ///< They load from a buffer that is written.
    int level = 0;               ///< In whose body it is made.
    bool nestable = false;       ///< Used once, in its own block.
  };

  // kernel_emitter.cc: order, locals and waiting expressions.
  void count_uses();
  void emit_block(BlockId block, Statements& out);
  void emit_instruction(ValueId id);
  void emit_loop(const Instruction& instruction);
  void emit_if(const Instruction& instruction);
  void emit_variable(ValueId id);
  void emit_set(const Instruction& instruction);
  void finish(ValueId id, Parts parts);
  /// The part of an operand. What waits can be taken once per part.
  Expression* take(ValueId id, int part = 0);
  /// Puts a waiting value into locals, so that its parts can be taken any number of times.
  void settle(ValueId id);
  /// Drops what waits for a use that will not come.
  void forget_unused(ValueId id);
  void settle_all();
  void settle_readers(ValueId variable);
  void settle_memory_readers();
  void hold(ValueId id, const std::vector<Expression*>& parts);
  void statement(Expression* expression) { statements_->push_back(expression); }
  /// A new local with the value, in the present block.
  Local keep(Expression* value);
  const Instruction& at(ValueId id) const { return kernel_.instructions[id]; }
  Type type_of(ValueId id) const { return kernel_.instructions[id].type; }
  bool is_constant(ValueId id) const { return at(id).opcode == Opcode::kConstant; }
  int leaf_level(const Index& leaf) const;
  Expression* leaf_value(const Index& leaf);

  // kernel_values.cc: constants, lanes, conversions.
  Parts constant(const Instruction& instruction);
  Parts lane_numbers(const Instruction& instruction);
  Parts splat(const Instruction& instruction);
  Parts extract(const Instruction& instruction);
  Parts insert(const Instruction& instruction);
  Parts half(const Instruction& instruction);
  Parts convert(const Instruction& instruction);
  Parts convert_lanes(const Instruction& instruction);
  Expression* convert_scalar(Opcode opcode, Scalar from, Scalar to, Expression* value);
  Expression* extract_lane(Scalar scalar, Expression* vector, int lane);
  Expression* replace_lane(Scalar scalar, Expression* vector, int lane, Expression* value);
  Expression* splat_lane(Scalar scalar, Expression* value);
  /// The upper half of a part moved to the front; the operand is settled.
  Expression* upper_half(ValueId id, int part);

  // kernel_arithmetic.cc: everything that works on each lane alone.
  Parts element_wise(const Instruction& instruction);
  Scalar lane_scalar(const Instruction& instruction) const;
  Expression* lane_wise(const Instruction& instruction, int part);
  Expression* vector_operation(const Instruction& instruction, Expression* a, Expression* b, Expression* c);
  Expression* scalar_operation(Opcode opcode, Scalar scalar, Expression* a, Expression* b, Expression* c);
  Expression* scalar_division(Opcode opcode, bool wide, Expression* a, Expression* b);
  Expression* scalar_shift(Opcode opcode, bool wide, Expression* a, Expression* b);
  Expression* scalar_extremum(Opcode opcode, bool wide, Expression* a, Expression* b);
  Expression* flip_sign(Expression* vector);
  Expression* wide_extremum(const Instruction& instruction, int part);
  Parts splat_shift(const Instruction& instruction);
  bool has_vector_form(const Instruction& instruction) const;
  bool selects_lesser_or_greater(const Instruction& select) const;
  Parts pseudo_extremum(const Instruction& select);

  // kernel_memory.cc
  Parts load(const Instruction& instruction);
  Expression* load_part(const Instruction& instruction, Place place, int part);
  Expression* load_scalar(const Instruction& instruction, Place place, int lane);
  void partial_load(ValueId id);
  void store(const Instruction& instruction);
  void store_parts(const Instruction& instruction, const Place& place);
  void store_narrow(const Instruction& instruction, const Place& place, int bytes);
  Expression* store_lane(const Instruction& instruction, const Place& place, int lane);
  void partial_store(const Instruction& instruction);
  template <typename LaneCode>
  Expression* while_lanes(Local count, int first, int last, LaneCode lane_code);
  Place again(const Place& place, uint32_t more_bytes = 0);
  Place repeatable(const Place& place);

  wasm::Module& module_;
  const Kernel& kernel_;
  const Capabilities& capabilities_;
  Code code_;
  std::vector<Local> variables_;
  Local begin_ = kNoLocal;
  Local end_ = kNoLocal;
  bool uses_range_counter_ = false;
  Addresses addresses_;
  std::vector<Value> values_;
  std::vector<ValueId> waiting_;  ///< In the order in which they were made.
  // Of the instruction being made: what its operands read, for the value that waits with them inside.
  std::vector<ValueId> taken_reads_;
  bool taken_memory_ = false;
  int taken_depth_ = 0;
  Statements* statements_ = nullptr;
  std::vector<Local> block_locals_;  ///< Of the open block; dead when it ends.
};

}  // namespace tandem::wasm_emitter
