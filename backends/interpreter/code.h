#pragma once

#include <cstdint>
#include <vector>

#include "backends/interpreter/index_code.h"
#include "core/kernel/evaluate.h"
#include "core/kernel/kernel.h"

namespace tandem {

/// What an operation of the interpreter does.
enum class Operation : uint8_t {
  kCompute,     ///< A lane function.
  kToIntExact,  ///< A lane function whose operand is checked first.
  kIndex,       ///< The value of an index expression.
  kNote,        ///< Copies a register to a number of the index code.
  kLoad,
  kStore,
  kSplat,
  kExtract,
  kInsert,
  kLow,
  kHigh,
  kCopy,
  kLoop,     ///< Sets the counter, or jumps over the loop.
  kEndLoop,  ///< Advances the counter and jumps back, or goes on.
  kIf,       ///< Jumps to `target` when the mask isn't set.
  kJump,
};

/// Copies `lanes` elements between a buffer and a register, widening or keeping the low bits.
using LoadFunction = void (*)(Lanes& result, const unsigned char* memory, int lanes);
using StoreFunction = void (*)(unsigned char* memory, const Lanes& value, int lanes);
LoadFunction load_function(DType dtype);
StoreFunction store_function(DType dtype);

/// One operation, ready to run.
struct Step {
  Operation operation;
  uint8_t lanes = 1;
  uint8_t bytes = 4;                 ///< Of one lane; memory: of one element.
  bool has_count = false;            ///< kLoad, kStore.
  uint32_t instruction = 0;          ///< For messages.
  uint32_t result = 0;               ///< Register; kNote, kLoop, kEndLoop: number.
  uint32_t operands[3] = {0, 0, 0};  ///< Registers.
  uint32_t buffer = 0;
  uint32_t lane = 0;
  uint32_t target = 0;      ///< Step to jump to.
  uint32_t end_number = 0;  ///< kLoop, kEndLoop: where the loop's end is kept.
  int64_t stride = 1;       ///< kEndLoop.
  LaneFunction function = nullptr;
  LoadFunction load = nullptr;
  StoreFunction store = nullptr;
  IndexExpression index, end, count;
};

/// A kernel made ready: steps, registers (constants filled in) and the numbers of its index expressions.
struct Code {
  const Kernel* kernel = nullptr;
  std::vector<Step> steps;
  std::vector<Lanes> registers;
  IndexCode indices;
  std::vector<uint32_t> variables;        ///< Number of each kernel variable.
  uint32_t range_counter = 0;             ///< Number of the range loop's counter.
  IndexExpression range;                  ///< The extent that the kernel states.
  std::vector<IndexExpression> elements;  ///< Of each buffer.
  uint64_t executed = 0;                  ///< Steps so far.
};

/// Makes a verified kernel ready. The kernel must outlive the code.
Code assemble(const Kernel& kernel);

}  // namespace tandem
