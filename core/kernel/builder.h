#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/kernel/kernel.h"

namespace tandem {

/// Makes a kernel instruction by instruction, and optimises while it does, so that no later pass is needed: constants
/// fold (with the meanings of instructions.def), equal pure instructions are shared, identities vanish (x * 1, select
/// with a known mask; never an identity that changes a bit, such as x + 0), and pure instructions are placed in the
/// outermost open block in which all that they use is visible: loop-invariant code never enters a loop. Loads from
/// read-only buffers move too, but never out of an `if` and out of a loop only when it runs at least once.
class KernelBuilder {
 public:
  KernelBuilder();
  ~KernelBuilder();
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  /// Adds a buffer argument and returns its number.
  uint32_t add_buffer(DType dtype, Access access, const Index& elements);

  /// Sets the extent of the range loop (block 0) and returns its counter. At most once, before anything else is made.
  Index open_range(const Index& extent);
  /// Opens a loop and returns its counter. An extent that is provably 0 is allowed; a loop that provably runs once is
  /// not made: its body goes where the loop would be, and the counter returned is its begin.
  Index open_loop(const Index& begin, const Index& end, int64_t step = 1);
  void close_loop();
  void open_if(ValueId mask);
  void open_else();
  void close_if();

  ValueId constant(Type type, double number);
  ValueId integer(Type type, int64_t number);
  /// An index expression as an integer value (Scalar::kI32 or kI64), one lane.
  ValueId index_value(Scalar scalar, const Index& index);
  /// 0, 1, .. lanes - 1.
  ValueId lane_numbers(Scalar scalar, int lanes);
  /// An integer value as a leaf of index expressions, with the bounds that it is known to keep.
  Index as_index(ValueId value, int64_t min, int64_t max);

  /// The register type of a buffer's elements is `register_scalar(dtype)`; f16 and bf16 give raw bits.
  ValueId load(uint32_t buffer, const Index& index, int lanes, std::optional<Index> count = std::nullopt,
               double fill = 0);
  void store(uint32_t buffer, const Index& index, ValueId value, std::optional<Index> count = std::nullopt);

  ValueId splat(ValueId value, int lanes);
  ValueId extract(ValueId value, int lane);
  ValueId insert(ValueId vector, ValueId element, int lane);
  ValueId low(ValueId value);
  ValueId high(ValueId value);
  /// One operand, result of the operand's type, or of `result` for conversions.
  ValueId unary(Opcode opcode, ValueId a);
  ValueId convert(Opcode opcode, ValueId a, Scalar result);
  /// Two operands of one type; comparisons give masks. A one-lane operand beside a vector is splat.
  ValueId binary(Opcode opcode, ValueId a, ValueId b);
  ValueId fma(ValueId a, ValueId b, ValueId c);
  /// c plus the products of the pairs of bf16 in a and b; one-lane operands beside a vector are splat.
  ValueId dot_bfloat16(ValueId a, ValueId b, ValueId c);
  /// Converts the mask to the width of the values when needed.
  ValueId select(ValueId mask, ValueId a, ValueId b);

  /// A hint, where the builder stands, that an element of a buffer that is read is soon wanted in the cache of a level,
  /// 1 or 2.
  void prefetch(uint32_t buffer, const Index& index, int level);

  ValueId variable(ValueId initial);
  ValueId get(ValueId variable);
  void set(ValueId variable, ValueId value);

  Type type(ValueId value) const { return kernel_.instructions[value].type; }
  const Instruction& instruction(ValueId value) const { return kernel_.instructions[value]; }
  bool is_constant(ValueId value) const;

  /// Drops what nothing uses, collects the variables, verifies, and returns the kernel. The builder is spent.
  Kernel finish(std::string name, int64_t flops = 0);

 private:
  struct OpenBlock;
  struct IndexFacts;

  ValueId make(Instruction&& instruction);
  ValueId append(Instruction&& instruction, size_t depth);
  ValueId find_equal(const Instruction& instruction, uint64_t hash) const;
  size_t visible_depth(const Instruction& instruction, bool& pinned);
  size_t outermost_depth(const Instruction& instruction);
  size_t depth_of(ValueId value) const;
  const IndexFacts& facts(const Index& index);
  void check_types(const Instruction& instruction) const;

  BlockId new_block();
  void enter(BlockId block);
  void leave(BlockId block);
  OpenBlock& innermost_open(bool loop);

  bool is_number(ValueId value, double number) const;
  bool all_bits_set(ValueId value) const;
  ValueId fold(Opcode opcode, Type result, const ValueId* operands, int count);
  ValueId simplify_unary(Opcode opcode, ValueId a, Type result) const;
  ValueId simplify_binary(Opcode opcode, ValueId a, ValueId b);
  ValueId simplify_float(Opcode opcode, ValueId a, ValueId b) const;
  ValueId simplify_integer(Opcode opcode, ValueId a, ValueId b);
  void match_lanes(ValueId& a, ValueId& b);
  ValueId half_of(Opcode opcode, ValueId value);

  Kernel kernel_;
  std::vector<OpenBlock> open_;                        // From the outermost to the innermost.
  std::vector<BlockId> block_of_;                      // By value.
  std::vector<uint64_t> hash_of_;                      // By value; 0 for those that are never shared.
  std::vector<size_t> depth_of_block_;                 // By block: position in open_.
  std::vector<BlockId> block_of_loop_;                 // By counter number.
  std::unordered_multimap<uint64_t, ValueId> shared_;  // Pure instructions of the open blocks, by hash.
  std::unordered_map<const IndexNode*, IndexFacts> facts_;
};

/// How a dtype is held in registers.
Scalar register_scalar(DType dtype);

}  // namespace tandem
