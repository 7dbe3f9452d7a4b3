#include "backends/wasm/addresses.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem::wasm_emitter {

namespace {

/// Memo keys of plain numbers have this in place of a buffer.
constexpr uint32_t kNumber = UINT32_MAX;
/// Constants up to here go into the instruction.
constexpr int64_t kLargestOffset = int64_t{1} << 30;

bool is_simple(Expression* expression) { return expression->is<wasm::LocalGet>() || expression->is<wasm::Const>(); }

bool is_power_of_two(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace

int64_t constant_part(const Index& index) {
  if (index.is_constant()) return index.constant();
  return index.kind() == IndexKind::kSum ? index.offset() : 0;
}

Addresses::Addresses(Code& code, Leaf leaf) : code_(code), leaf_(std::move(leaf)) { levels_.emplace_back(); }

void Addresses::add_buffer(Local pointer, size_t element_bytes) {
  buffers_.push_back(Buffer{pointer, static_cast<int64_t>(element_bytes)});
}

int Addresses::counter_level(uint32_t counter) const {
  for (int level = depth(); level > 0; level--)
    if (levels_[level].counter == counter) return level;
  TANDEM_CHECK(false, concat("loop counter ", counter, " is used outside its loop"));
  return 0;
}

Addresses::Needs Addresses::needs(const Index& index) const {
  Needs result;
  index.for_each_leaf([&](const Index& leaf) {
    if (leaf.kind() == IndexKind::kLoop) {
      result.counter = std::max(result.counter, counter_level(leaf.id()));
    } else {
      result.value = std::max(result.value, leaf_.level(leaf));
    }
  });
  return result;
}

Index Addresses::leaf_of(const Index& index, int level) const {
  Index found;
  index.for_each_leaf([&](const Index& leaf) {
    if (leaf.kind() == IndexKind::kLoop && counter_level(leaf.id()) == level) found = leaf;
  });
  return found;
}

void Addresses::require_i32(const Index& index) const {
  if (index.lower() >= INT32_MIN && index.upper() <= INT32_MAX) return;
  throw TensorError(
      concat("the index expression ", index.text(), " may reach from ", index.lower(), " to ", index.upper(),
             ", and WebAssembly kernels compute indices in 32 bits; lower the bounds of "
             "the variables or the sizes of the tensors"),
      ErrorCode::kUnsupported);
}

Expression* Addresses::keep(int level, Statements& where, const Level::Key& key, Expression* value) {
  const Local local = code_.take_new(wasm::Type::i32);
  where.push_back(code_.set(local, value));
  levels_[level].memo.emplace(key, local);
  levels_[level].owned.push_back(local);
  return code_.get(local);
}

Expression* Addresses::value(const Index& index) {
  require_i32(index);
  return value_at(depth(), index);
}

Expression* Addresses::value_at(int level, const Index& index) {
  switch (index.kind()) {
    case IndexKind::kConstant:
      return code_.i32(index.constant());
    case IndexKind::kVariable:
    case IndexKind::kValue:
      return leaf_.value(index);
    case IndexKind::kLoop:
      return counter_value(counter_level(index.id()));
    default:
      break;
  }
  const Level::Key key{kNumber, index};
  auto found = levels_[level].memo.find(key);
  if (found != levels_[level].memo.end()) return code_.get(found->second);
  const Needs deepest = needs(index);
  if (deepest.value >= level) return compute(level, index);
  if (level > 0 && deepest.counter < level) {
    Expression* outer = value_at(level - 1, index);
    return is_simple(outer) ? outer : keep(level, levels_[level].before, key, outer);
  }
  Expression* here = compute(level, index);
  return keep(level, levels_[level].header, key, here);
}

Expression* Addresses::compute(int level, const Index& index) {
  switch (index.kind()) {
    case IndexKind::kSum:
      return compute_sum(level, index);
    case IndexKind::kProduct: {
      Expression* product = nullptr;
      for (const Index& factor : index.operands()) {
        Expression* value = value_at(level, factor);
        product = product ? code_.binary(wasm::MulInt32, product, value) : value;
      }
      return product;
    }
    case IndexKind::kFloorDiv:
    case IndexKind::kMod:
      return compute_division(level, index);
    case IndexKind::kMin:
    case IndexKind::kMax: {
      const auto op = index.kind() == IndexKind::kMin ? wasm::LtSInt32 : wasm::GtSInt32;
      Expression* best = nullptr;
      for (const Index& operand : index.operands()) {
        require_i32(operand);
        Expression* value = value_at(level, operand);
        if (best) {
          const Local a = code_.take_new(wasm::Type::i32);
          const Local b = code_.take_new(wasm::Type::i32);
          value = code_.tee(b, value);
          best = code_.builder().makeSelect(code_.binary(op, code_.get(a), code_.get(b)), code_.tee(a, best), value);
          levels_[level].owned.push_back(a);
          levels_[level].owned.push_back(b);
        } else {
          best = value;
        }
      }
      return best;
    }
    default:
      break;
  }
  TANDEM_CHECK(false, concat("the index expression ", index.text(), " has no code"));
  return nullptr;
}

Expression* Addresses::compute_sum(int level, const Index& index) {
  // What the innermost counter does not change is one sum of its own, so that it is computed outside.
  Index outside = 0;
  std::vector<Index::Term> inside;
  for (const Index::Term& term : index.terms()) {
    const Needs deepest = needs(term.factor);
    if (level > 0 && deepest.counter < level && deepest.value < level) {
      outside += term.factor * Index(term.coefficient);
    } else {
      inside.push_back(term);
    }
  }
  Expression* sum = outside.is(0) ? nullptr : value_at(level, outside);
  for (const Index::Term& term : inside) {
    Expression* factor = value_at(level, term.factor);
    if (sum && term.coefficient == -1) {
      sum = code_.binary(wasm::SubInt32, sum, factor);
    } else {
      Expression* product = code_.multiply(factor, term.coefficient);
      sum = sum ? code_.add(sum, product) : product;
    }
  }
  return sum ? code_.add(sum, index.offset()) : code_.i32(index.offset());
}

// A number from a buffer may keep its bounds only inside an `if` that this code is moved out of; there nothing uses the
// quotient, and it must not trap.
Expression* Addresses::divisor_at(int level, const Index& index) {
  bool is_loaded = false;
  index.for_each_leaf([&](const Index& leaf) { is_loaded = is_loaded || leaf.kind() == IndexKind::kValue; });
  if (!is_loaded) return value_at(level, index);
  const Local divisor = code_.take_new(wasm::Type::i32);
  levels_[level].owned.push_back(divisor);
  Expression* is_positive = code_.binary(wasm::GtSInt32, code_.get(divisor), code_.i32(0));
  return code_.builder().makeSelect(is_positive, code_.tee(divisor, value_at(level, index)), code_.i32(1));
}

Expression* Addresses::compute_division(int level, const Index& index) {
  const Index& a = index.operands()[0];
  const Index& b = index.operands()[1];
  require_i32(a);
  require_i32(b);
  const bool is_mod = index.kind() == IndexKind::kMod;
  Expression* dividend = value_at(level, a);
  if (b.is_constant() && is_power_of_two(b.constant())) {
    // Both round down for negative dividends too.
    if (is_mod) return code_.binary(wasm::AndInt32, dividend, code_.i32(b.constant() - 1));
    return code_.binary(wasm::ShrSInt32, dividend, code_.i32(__builtin_ctzll(static_cast<uint64_t>(b.constant()))));
  }
  if (a.lower() >= 0) {
    return code_.binary(is_mod ? wasm::RemUInt32 : wasm::DivUInt32, dividend, divisor_at(level, b));
  }
  // The remainder of a signed division has the dividend's sign; adding the divisor where it is negative rounds down.
  const Local x = code_.take_new(wasm::Type::i32);
  const Local remainder = code_.take_new(wasm::Type::i32);
  levels_[level].owned.push_back(x);
  levels_[level].owned.push_back(remainder);
  Expression* truncated = code_.binary(wasm::RemSInt32, code_.tee(x, dividend), divisor_at(level, b));
  Expression* sign = code_.binary(wasm::ShrSInt32, code_.tee(remainder, truncated), code_.i32(31));
  if (is_mod) {
    Expression* correction = code_.binary(wasm::AndInt32, sign, value_at(level, b));
    return code_.binary(wasm::AddInt32, correction, code_.get(remainder));
  }
  Expression* quotient = code_.binary(wasm::DivSInt32, code_.get(x), divisor_at(level, b));
  return code_.binary(wasm::AddInt32, sign, quotient);
}

Place Addresses::place(uint32_t buffer, const Index& index) {
  const int64_t bytes = buffers_[buffer].element_bytes;
  const int64_t constant = constant_part(index);
  const Index rest = index - Index(constant);
  // The engine adds pointer and offset without wrapping: the pointer alone must not lie below the buffer.
  const int64_t lift = rest.lower() >= 0 ? 0 : -std::max<int64_t>(rest.lower(), -kLargestOffset);
  if (rest.lower() >= -kLargestOffset && constant >= lift && (constant - lift) * bytes <= kLargestOffset) {
    return {address_at(depth(), buffer, rest + Index(lift)), static_cast<uint32_t>((constant - lift) * bytes)};
  }
  return {address_at(depth(), buffer, index), 0};
}

Expression* Addresses::address_at(int level, uint32_t buffer, const Index& index) {
  const Buffer& base = buffers_[buffer];
  if (index.is(0)) return code_.get(base.pointer);
  const Level::Key key{buffer, index};
  auto found = levels_[level].memo.find(key);
  if (found != levels_[level].memo.end()) return code_.get(found->second);

  const int64_t constant = constant_part(index);
  const Index rest = index - Index(constant);
  const Needs deepest = needs(index);
  if (deepest.value >= level) {
    // Made in this very body: only what does not depend on it can be prepared.
    Index prepared = constant;
    Index here = 0;
    const bool is_sum = rest.kind() == IndexKind::kSum;
    const std::vector<Index::Term> terms = is_sum ? rest.terms() : std::vector<Index::Term>{{rest, 1}};
    for (const Index::Term& term : terms) {
      (needs(term.factor).value >= level ? here : prepared) += term.factor * Index(term.coefficient);
    }
    return code_.add(address_at(level, buffer, prepared), code_.multiply(value_at(level, here), base.element_bytes));
  }
  if (level == 0) {
    Expression* address = code_.get(base.pointer);
    if (!rest.is(0)) address = code_.add(address, code_.multiply(value_at(0, rest), base.element_bytes));
    return keep(0, levels_[0].header, key, code_.add(address, constant * base.element_bytes));
  }
  if (deepest.counter < level) {
    Expression* outer = code_.add(address_at(level - 1, buffer, rest), constant * base.element_bytes);
    return is_simple(outer) ? outer : keep(level, levels_[level].before, key, outer);
  }
  const Index leaf = leaf_of(index, level);
  if (auto coefficient = index.coefficient(leaf)) return moving_address(level, buffer, index, *coefficient);

  // Some terms, such as quotients of the counter, are not linear: the others move, these are added in each iteration.
  Index linear = constant;
  Index other = 0;
  const std::vector<Index::Term> terms =
      rest.kind() == IndexKind::kSum ? rest.terms() : std::vector<Index::Term>{{rest, 1}};
  for (const Index::Term& term : terms) {
    const bool is_linear = !term.factor.depends_on(leaf) || term.factor.coefficient(leaf).has_value();
    (is_linear ? linear : other) += term.factor * Index(term.coefficient);
  }
  Expression* address =
      code_.add(address_at(level, buffer, linear), code_.multiply(value_at(level, other), base.element_bytes));
  return keep(level, levels_[level].header, key, address);
}

Expression* Addresses::moving_address(int level, uint32_t buffer, const Index& index, const Index& coefficient) {
  const int64_t bytes = buffers_[buffer].element_bytes;
  const Index leaf = leaf_of(index, level);
  const Index start = index.substitute(leaf, levels_[level].begin);
  const int64_t constant = constant_part(start);
  Expression* first = code_.add(address_at(level - 1, buffer, start - Index(constant)), constant * bytes);
  Expression* pointer = keep(level, levels_[level].before, Level::Key{buffer, index}, first);
  const Local local = pointer->cast<wasm::LocalGet>()->index;

  const Index stride = coefficient * Index(bytes * levels_[level].step);
  Expression* amount = nullptr;
  if (stride.is_constant()) {
    amount = code_.i32(stride.constant());
    if (levels_[level].moving_pointer == kNoLocal && !stride.is(0)) {
      levels_[level].moving_pointer = local;
      levels_[level].moving_bytes = stride.constant();
    }
  } else {
    amount = value_at(level, stride);
  }
  levels_[level].latch.push_back(code_.set(local, code_.binary(wasm::AddInt32, code_.get(local), amount)));
  return pointer;
}

Expression* Addresses::counter_value(int level) {
  Level& loop = levels_[level];
  if (loop.counter_local == kNoLocal) {
    loop.counter_local = code_.take_new(wasm::Type::i32);
    loop.owned.push_back(loop.counter_local);
  }
  return code_.get(loop.counter_local);
}

void Addresses::open_loop(uint32_t counter, const Index& begin, const Index& end, int64_t step) {
  require_i32(begin);
  require_i32(end);
  require_i32(end + Index(step));
  Level level;
  level.counter = counter;
  level.begin = begin;
  level.end = end;
  level.step = step;
  levels_.push_back(std::move(level));
}

Expression* Addresses::iterations(int level, std::optional<int64_t>& constant) {
  const Level& loop = levels_[level];
  const Index length = loop.end - loop.begin;
  if (length.is_constant()) {
    constant = (length.constant() + loop.step - 1) / loop.step;
    return code_.i32(*constant);
  }
  Expression* count = code_.binary(wasm::SubInt32, value_at(level - 1, loop.end), value_at(level - 1, loop.begin));
  if (loop.step == 1) return count;
  return code_.binary(wasm::DivUInt32, code_.add(count, loop.step - 1), code_.i32(loop.step));
}

// Ends the latch: moves the counter if there is one, and says whether there is another iteration.
Expression* Addresses::end_test(int level) {
  Level& loop = levels_[level];
  if (loop.counter_local != kNoLocal) {
    loop.before.push_back(code_.set(loop.counter_local, value_at(level - 1, loop.begin)));
    Expression* next = code_.tee(loop.counter_local, code_.add(code_.get(loop.counter_local), loop.step));
    return code_.binary(wasm::LtSInt32, next, value_at(level, loop.end));
  }
  std::optional<int64_t> constant;
  Expression* count = iterations(level, constant);
  const Local local = code_.take_new(wasm::Type::i32);
  loop.owned.push_back(local);
  if (loop.moving_pointer != kNoLocal) {
    // The pointer's last position tells the end; equality is right even where the sum wraps.
    Expression* distance = code_.multiply(count, loop.moving_bytes);
    loop.before.push_back(code_.set(local, code_.add(code_.get(loop.moving_pointer), distance)));
    return code_.binary(wasm::NeInt32, code_.get(loop.moving_pointer), code_.get(local));
  }
  loop.before.push_back(code_.set(local, count));
  return code_.tee(local, code_.add(code_.get(local), -1));
}

Expression* Addresses::close_loop() {
  const int level = depth();
  // The counter may be needed by what is already in the parts, so that the test comes last.
  Expression* again = end_test(level);
  Level loop = std::move(levels_[level]);
  const std::string name = concat("loop", *loop.counter);
  Statements statements = std::move(loop.header);
  statements.insert(statements.end(), loop.body.begin(), loop.body.end());
  statements.insert(statements.end(), loop.latch.begin(), loop.latch.end());
  statements.push_back(code_.builder().makeBreak(name, nullptr, again));
  loop.before.push_back(code_.builder().makeLoop(name, code_.block(statements), wasm::Type::none));
  Expression* result = code_.block(loop.before);
  if (less(loop.begin, loop.end) != Truth::kAlways) {
    Expression* any = code_.binary(wasm::LtSInt32, value_at(level - 1, loop.begin), value_at(level - 1, loop.end));
    result = code_.builder().makeIf(any, result);
  }
  levels_.pop_back();
  for (Local local : loop.owned) code_.give_back(local);
  return result;
}

Statements Addresses::close_function() {
  TANDEM_CHECK(levels_.size() == 1, "every loop is closed");
  Statements statements = std::move(levels_[0].header);
  statements.insert(statements.end(), levels_[0].body.begin(), levels_[0].body.end());
  return statements;
}

}  // namespace tandem::wasm_emitter
