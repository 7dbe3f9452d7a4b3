#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backends/wasm/code.h"
#include "core/index/index.h"

namespace tandem::wasm_emitter {

/// Where an access goes: a pointer and a constant that the instruction adds without wrapping.
struct Place {
  Expression* pointer;
  uint32_t offset;
};

/// One loop that is open, or level 0: the function itself. Its code is collected in parts, because what the body turns
/// out to need is computed before it.
struct Level {
  std::optional<uint32_t> counter;
  Index begin;
  Index end;
  int64_t step = 1;
  Statements before;  ///< Right before the loop, inside the check that it runs at all.
  Statements header;  ///< First in each iteration; at level 0 first in the function.
  Statements body;
  Statements latch;  ///< Last in each iteration: what moves on.
  Local counter_local = kNoLocal;
  Local moving_pointer = kNoLocal;  ///< An induction pointer whose stride is a known number.
  int64_t moving_bytes = 0;
  std::vector<Local> owned;  ///< Locals that are dead once the loop is left.

  struct Key {
    uint32_t buffer;
    Index index;
    friend bool operator==(const Key& a, const Key& b) { return a.buffer == b.buffer && a.index == b.index; }
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return static_cast<size_t>(key.index.hash() * 31 + key.buffer); }
  };
  std::unordered_map<Key, Local, KeyHash> memo;  ///< Looked up, never walked: its order is not the same everywhere.
};

/// Turns index expressions into code. An address or number is computed at the outermost loop where all that it is made
/// of is known, once however often it is used; an address that is linear in a loop's counter becomes a pointer that
/// moves by a fixed amount per iteration, so that inner loops neither multiply nor keep counters.
class Addresses {
 public:
  /// What a leaf other than a loop counter is: its value as an i32 expression, and the level whose body it is made in
  /// (-1: an argument).
  struct Leaf {
    std::function<Expression*(const Index&)> value;
    std::function<int(const Index&)> level;
  };

  Addresses(Code& code, Leaf leaf);

  void add_buffer(Local pointer, size_t element_bytes);

  /// The level that code is being made for.
  Level& current() { return levels_.back(); }
  /// What is computed once, first in the function.
  Statements& function_header() { return levels_[0].header; }
  int depth() const { return static_cast<int>(levels_.size()) - 1; }

  void open_loop(uint32_t counter, const Index& begin, const Index& end, int64_t step);
  /// The finished loop with all that precedes it.
  Expression* close_loop();
  /// The finished function body.
  Statements close_function();

  /// The value of an expression here, as i32. Throws TensorError (kUnsupported) if it may not fit.
  Expression* value(const Index& index);
  /// Where element `index` of a buffer is.
  Place place(uint32_t buffer, const Index& index);

 private:
  struct Buffer {
    Local pointer;
    int64_t element_bytes;
  };
  struct Needs {
    int counter = -1;  ///< Deepest level whose counter occurs.
    int value = -1;    ///< Deepest level in whose body something that occurs is made.
  };

  Needs needs(const Index& index) const;
  int counter_level(uint32_t counter) const;
  Index leaf_of(const Index& index, int level) const;
  Expression* value_at(int level, const Index& index);
  Expression* compute(int level, const Index& index);
  Expression* compute_sum(int level, const Index& index);
  Expression* divisor_at(int level, const Index& index);
  Expression* compute_division(int level, const Index& index);
  Expression* address_at(int level, uint32_t buffer, const Index& index);
  Expression* moving_address(int level, uint32_t buffer, const Index& index, const Index& coefficient);
  Expression* keep(int level, Statements& where, const Level::Key& key, Expression* value);
  Expression* counter_value(int level);
  Expression* end_test(int level);
  Expression* iterations(int level, std::optional<int64_t>& constant);
  void require_i32(const Index& index) const;

  Code& code_;
  Leaf leaf_;
  std::vector<Buffer> buffers_;
  std::vector<Level> levels_;
};

/// The constant part of a sum, or the number of a constant.
int64_t constant_part(const Index& index);

}  // namespace tandem::wasm_emitter
