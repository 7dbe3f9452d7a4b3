#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/index/index.h"

namespace tandem {

/// What a value of a kernel is, per lane. Storage dtypes exist only in buffers: bool, i8, i16, u8, u16, i32 and u32 are
/// kI32 in registers (sign- or zero-extended when loaded), i64 and u64 kI64, f32 kF32, f64 kF64; f16 and bf16 load as
/// their raw bits in kI32 and are converted by explicit instructions. Comparisons give masks, whose lanes are as wide
/// as what was compared.
enum class Scalar : uint8_t { kI32, kI64, kF32, kF64, kMask32, kMask64 };

/// Bytes of one lane.
constexpr int size_of(Scalar scalar) {
  return scalar == Scalar::kI64 || scalar == Scalar::kF64 || scalar == Scalar::kMask64 ? 8 : 4;
}
constexpr bool is_float(Scalar scalar) { return scalar == Scalar::kF32 || scalar == Scalar::kF64; }
constexpr bool is_mask(Scalar scalar) { return scalar >= Scalar::kMask32; }

/// Type of a kernel value: 1, 2, 4, 8 or 16 lanes. Lanes may be more than the machine's vectors hold: code generators
/// split.
struct Type {
  Scalar scalar = Scalar::kF32;
  uint8_t lanes = 1;
  friend bool operator==(Type a, Type b) { return a.scalar == b.scalar && a.lanes == b.lanes; }
  friend bool operator!=(Type a, Type b) { return !(a == b); }
};
/// "f32", "f32x16", "mask32x4".
std::string text(Type type);

/// Every instruction of a kernel; the table with operands and meanings is core/kernel/instructions.def.
enum class Opcode : uint8_t {
#define TANDEM_INSTRUCTION(identifier, ...) identifier,
#include "core/kernel/instructions.def"
};

/// One row of the instruction table.
struct OpcodeInfo {
  const char* text;
  int8_t operands;  ///< Number of value operands.
  bool pure;        ///< No effect, and the same result for the same operands: may be shared and moved.
  const char* meaning;
};
const OpcodeInfo& info(Opcode opcode);
inline const char* name_of(Opcode opcode) { return info(opcode).text; }

/// Number of an instruction, and of the value that it makes.
using ValueId = uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;
/// Number of a block of instructions.
using BlockId = uint32_t;

/// One instruction. Which fields an opcode uses stands in instructions.def.
struct Instruction {
  Opcode opcode;
  Type type;  ///< Of the result; stores and control flow have the type of what they handle.
  ValueId operands[3] = {kNoValue, kNoValue, kNoValue};
  double number = 0;    ///< constant of a float type; fill of a partial load.
  int64_t integer = 0;  ///< constant of an integer or mask type; lane of extract and insert; level of prefetch.
  uint32_t buffer = 0;  ///< load, store, prefetch: number of the buffer.
  Index index = 0;      ///< load, store, prefetch: first element; index: the expression; loop: begin.
  Index end = 0;        ///< loop: end (exclusive).
  std::optional<Index> count = {};  ///< load, store: only the first `count` lanes touch memory (0 .. lanes).
  int64_t step = 1;                 ///< loop.
  uint32_t loop = 0;                ///< loop: number of its counter (Index kLoop id).
  BlockId body = 0;                 ///< loop, if: what is repeated or done when the mask is set.
  BlockId otherwise = 0;            ///< if: the other block; 0 means none.
};

/// Calls `visit` with every index expression of an instruction; those that its opcode doesn't use are 0. `instruction`:
/// an Instruction, const where visit only looks.
template <typename AnyInstruction, typename Visit>
void for_each_index(AnyInstruction& instruction, const Visit& visit) {
  visit(instruction.index);
  visit(instruction.end);
  if (instruction.count) visit(*instruction.count);
}

/// How a kernel touches a buffer. Of kLocal nothing is there at the beginning of a call and nothing after it: each
/// call, and so each piece of a range, may have its own, wherever the code generator likes (natively on the stack).
enum class Access : uint8_t { kRead, kWrite, kReadWrite, kLocal };

/// A buffer argument: base pointer of `elements` elements.
struct BufferParameter {
  DType dtype = DType::kF32;
  Access access = Access::kRead;
  Index elements;       ///< Over the kernel's variables; an access at or beyond it is an error. A number for kLocal.
  bool aligned = true;  ///< To 64 bytes. False: no more than an element of its dtype.
};

/// A kernel: what the scheduler hands to the code generators. It allocates nothing and calls nothing.
///
/// Arguments at run time: one base pointer per buffer, one integer per variable, and a half-open range [begin, end) of
/// its `range` loop: kernels whose outermost loop is parallel can be called in pieces. The order of every
/// floating-point operation is fixed by the instructions; code generators print them one to one and may neither
/// contract nor reassociate.
struct Kernel {
  std::string name;  ///< For people and profiles; not part of the identity.
  std::vector<BufferParameter> buffers;
  std::vector<Index> variables;  ///< kVariable leaves that occur, in argument order.
  Index range;                   ///< Extent of the range loop; 1 when there is none.
  uint32_t range_loop = 0;  ///< Counter number of the range loop: it runs from the argument begin to the argument end.
  std::vector<Instruction> instructions;
  std::vector<std::vector<ValueId>> blocks = {{}};  ///< Block 0 is the body of the range loop.
  uint32_t loop_count = 0;                          ///< Counter numbers are below this.
  int64_t flops = 0;                                ///< Estimate at the variables' upper bounds, for profiles.
};

/// The whole kernel as text that a person can follow and that `parse_kernel` reads back. Without the name it is the
/// kernel's identity: equal texts are compiled once.
std::string text(const Kernel& kernel, bool with_name = true);
/// Reads the text form; throws TensorError (kInvalidFormat) with the line of the mistake.
Kernel parse_kernel(const std::string& text);

/// One instruction as it stands in the kernel's text, without indentation.
std::string text(const Kernel& kernel, ValueId instruction);

/// Checks every rule of instructions.def: types, operand order and visibility, lanes, subscripts provably inside the
/// buffer where bounds allow, loops entered once. Throws InternalError naming the instruction.
void verify(const Kernel& kernel);

/// Do instructions of this opcode make a value that others may use?
bool makes_value(Opcode opcode);

/// Is there an instruction of this opcode?
bool uses(const Kernel& kernel, Opcode opcode);

struct Capabilities;
/// The same, and that nothing needs more than the machine has: half_to_float, float_to_half, fma and dot_bf16.
void verify(const Kernel& kernel, const Capabilities& capabilities);

}  // namespace tandem
