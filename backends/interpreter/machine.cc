#include "backends/interpreter/machine.h"

#include <cstring>

#include "core/base/text.h"

namespace tandem {
namespace {

/// Lanes are at most 16 and elements at most 8 bytes: short runs, so whole words first.
size_t first_unwritten(const unsigned char* written, size_t bytes) {
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, written + i, 8);
    if (word != 0x0101010101010101ull) break;
  }
  while (i < bytes && written[i] == 1) i++;
  return i;
}

class Machine {
 public:
  Machine(Code& code, const MachineBuffer* buffers)
      : code_(code), buffers_(buffers), registers_(code.registers.data()) {}

  bool run(int64_t begin, int64_t end) {
    for (size_t i = 0; i < code_.elements.size(); i++) {
      int64_t elements = 0;
      if (!code_.indices.evaluate(code_.elements[i], elements)) return fail(0, code_.indices.fault());
    }
    for (int64_t i = begin; i < end; i++) {
      code_.indices.set(code_.range_counter, i);
      if (!run_body()) return false;
    }
    return true;
  }
  const std::string& failure() const { return failure_; }

 private:
  bool fail(uint32_t instruction, const std::string& what) {
    failure_ =
        concat("kernel '", code_.kernel->name, "', instruction '", text(*code_.kernel, instruction), "': ", what);
    return false;
  }

  bool run_body() {
    const Step* const steps = code_.steps.data();
    const Step* const last = steps + code_.steps.size();
    for (const Step* step = steps; step != last;) {
      const Step& now = *step++;
      code_.executed++;
      switch (now.operation) {
        case Operation::kCompute:
          compute(now);
          break;
        case Operation::kLoad:
          if (!load(now)) return false;
          break;
        case Operation::kStore:
          if (!store(now)) return false;
          break;
        case Operation::kLoop: {
          int64_t begin = 0, end = 0;
          if (!evaluate(now, now.index, begin) || !evaluate(now, now.end, end)) return false;
          code_.indices.set(now.result, begin);
          code_.indices.set(now.end_number, end);
          if (begin >= end) step = steps + now.target;
          break;
        }
        case Operation::kEndLoop: {
          const int64_t counter = code_.indices.get(now.result) + now.stride;
          code_.indices.set(now.result, counter);
          if (counter < code_.indices.get(now.end_number)) step = steps + now.target;
          break;
        }
        case Operation::kIf:
          if (registers_[now.operands[0]].i32[0] == 0) step = steps + now.target;
          break;
        case Operation::kJump:
          step = steps + now.target;
          break;
        default:
          if (!other(now)) return false;
      }
    }
    return true;
  }

  void compute(const Step& now) {
    now.function(registers_[now.result], registers_[now.operands[0]], registers_[now.operands[1]],
                 registers_[now.operands[2]], now.lanes);
  }

  bool evaluate(const Step& now, const IndexExpression& expression, int64_t& value) {
    return code_.indices.evaluate(expression, value) || fail(now.instruction, code_.indices.fault());
  }

  bool other(const Step& now) {
    Lanes& result = registers_[now.result];
    const Lanes& a = registers_[now.operands[0]];
    const size_t bytes = now.bytes, whole = bytes * now.lanes;
    unsigned char* const out = reinterpret_cast<unsigned char*>(&result);
    const unsigned char* const in = reinterpret_cast<const unsigned char*>(&a);
    switch (now.operation) {
      case Operation::kCopy:
      case Operation::kLow:
        std::memmove(out, in, whole);
        break;
      case Operation::kHigh:
        std::memcpy(out, in + whole, whole);
        break;
      case Operation::kExtract:
        std::memcpy(out, in + now.lane * bytes, bytes);
        break;
      case Operation::kSplat:
        for (size_t i = 0; i < whole; i += bytes) std::memcpy(out + i, in, bytes);
        break;
      case Operation::kInsert:
        std::memcpy(out, in, whole);
        std::memcpy(out + now.lane * bytes, &registers_[now.operands[1]], bytes);
        break;
      case Operation::kNote:
        code_.indices.set(now.result, bytes == 8 ? a.i64[0] : a.i32[0]);
        break;
      case Operation::kIndex: {
        int64_t value = 0;
        if (!evaluate(now, now.index, value)) return false;
        if (bytes == 8)
          result.i64[0] = value;
        else
          result.i32[0] = static_cast<int32_t>(value);
        break;
      }
      default:
        return to_int_exact(now, a);
    }
    return true;
  }

  bool to_int_exact(const Step& now, const Lanes& a) {
    for (int i = 0; i < now.lanes; i++) {
      const bool exact = now.bytes == 8 ? is_exact_integer(a.f64[i]) : is_exact_integer(a.f32[i]);
      if (exact) continue;
      const std::string number = now.bytes == 8 ? number_text(a.f64[i]) : number_text(a.f32[i]);
      return fail(now.instruction,
                  concat("lane ", i, " holds ", number, ", which isn't an integer of the result's type"));
    }
    compute(now);
    return true;
  }

  /// How many lanes touch memory, after checking that they may.
  bool touched(const Step& now, int64_t& first, int64_t& count) {
    count = now.lanes;
    if (!evaluate(now, now.index, first)) return false;
    if (now.has_count) {
      if (!evaluate(now, now.count, count)) return false;
      if (count < 0 || count > now.lanes) return fail(now.instruction, concat("has a count of ", count));
    }
    if (count == 0) return true;
    const MachineBuffer& buffer = buffers_[now.buffer];
    const int64_t elements = code_.indices.get(code_.elements[now.buffer].result);
    const int64_t room = buffer.bytes / now.bytes;
    if (first >= 0 && first <= room - count && first <= elements - count) return true;
    return fail(now.instruction, concat("touches elements ", first, " .. ", first + count - 1, " of buffer b",
                                        now.buffer, ", which has ", elements, " elements in a slot of ", room));
  }

  bool load(const Step& now) {
    int64_t first = 0, count = 0;
    if (!touched(now, first, count)) return false;
    Lanes& result = registers_[now.result];
    if (now.has_count && count < now.lanes) result = registers_[now.operands[0]];
    if (count == 0) return true;
    const MachineBuffer& buffer = buffers_[now.buffer];
    const size_t place = static_cast<size_t>(first) * now.bytes, bytes = static_cast<size_t>(count) * now.bytes;
    if (buffer.written != nullptr) {
      const size_t unwritten = first_unwritten(buffer.written + place, bytes);
      if (unwritten < bytes)
        return fail(now.instruction, concat("reads element ", (place + unwritten) / now.bytes, " of buffer b",
                                            now.buffer, ", which nothing has written in this step"));
    }
    now.load(result, buffer.data + place, static_cast<int>(count));
    return true;
  }

  bool store(const Step& now) {
    int64_t first = 0, count = 0;
    if (!touched(now, first, count)) return false;
    if (count == 0) return true;
    const MachineBuffer& buffer = buffers_[now.buffer];
    const size_t place = static_cast<size_t>(first) * now.bytes;
    now.store(buffer.data + place, registers_[now.operands[0]], static_cast<int>(count));
    if (buffer.written != nullptr) std::memset(buffer.written + place, 1, static_cast<size_t>(count) * now.bytes);
    return true;
  }

  Code& code_;
  const MachineBuffer* buffers_;
  Lanes* registers_;
  std::string failure_;
};

}  // namespace

std::string run_kernel(Code& code, const MachineBuffer* buffers, int64_t begin, int64_t end) {
  Machine machine(code, buffers);
  machine.run(begin, end);
  return machine.failure();
}

}  // namespace tandem
