#pragma once

// Internal to the emitter: the only headers that see Binaryen are this one and those that include it.

#include <cstdint>
#include <string>
#include <vector>

#include "wasm-builder.h"

namespace tandem::wasm_emitter {

using wasm::Expression;
using Statements = std::vector<Expression*>;
/// Number of a WebAssembly local; parameters come first.
using Local = uint32_t;
inline constexpr Local kNoLocal = UINT32_MAX;

/// Name of the imported memory.
inline constexpr const char* kMemory = "memory";

/// One function under construction: its locals, and shorthand for the expressions that the emitter uses.
class Code {
 public:
  explicit Code(wasm::Module& module) : builder_(module) {}

  Local add_parameter(wasm::Type type);
  /// A local of the type, possibly one that was given back: only for code that is placed where it is made.
  Local take(wasm::Type type);
  /// A local that nothing else ever used: for code that is placed before other code which already exists.
  Local take_new(wasm::Type type);
  /// Gives a local back; its value is dead.
  void give_back(Local local);
  wasm::Type type_of(Local local) const { return types_[local]; }
  size_t local_count() const { return types_.size(); }

  wasm::Builder& builder() { return builder_; }
  Expression* get(Local local) { return builder_.makeLocalGet(local, types_[local]); }
  Expression* set(Local local, Expression* value) { return builder_.makeLocalSet(local, value); }
  Expression* tee(Local local, Expression* value) { return builder_.makeLocalTee(local, value, types_[local]); }

  Expression* i32(int64_t value) { return builder_.makeConst(static_cast<int32_t>(static_cast<uint32_t>(value))); }
  Expression* i64(int64_t value) { return builder_.makeConst(value); }
  /// Bits, not numbers: a NaN passed as a float could change on the way.
  Expression* f32_bits(uint32_t bits);
  Expression* f64_bits(uint64_t bits);
  Expression* v128(const uint8_t (&bytes)[16]) { return builder_.makeConst(wasm::Literal(bytes)); }

  Expression* unary(wasm::UnaryOp op, Expression* a) { return builder_.makeUnary(op, a); }
  Expression* binary(wasm::BinaryOp op, Expression* a, Expression* b) { return builder_.makeBinary(op, a, b); }
  /// Sums and products of addresses; constants are folded.
  Expression* add(Expression* a, Expression* b);
  Expression* add(Expression* a, int64_t b);
  Expression* multiply(Expression* a, int64_t b);
  Expression* shuffle(Expression* a, Expression* b, const uint8_t (&lanes)[16]);

  Expression* load(int bytes, bool is_signed, uint32_t offset, Expression* address, wasm::Type type, int align);
  Expression* store(int bytes, uint32_t offset, Expression* address, Expression* value, wasm::Type type, int align);

  Expression* block(const Statements& statements);

  /// A new function of the module from the parameters, locals and statements so far.
  void finish(wasm::Module& module, const std::string& name, const Statements& body);

 private:
  wasm::Builder builder_;
  std::vector<wasm::Type> types_;
  size_t parameters_ = 0;
  std::vector<Local> free_[5];
};

}  // namespace tandem::wasm_emitter
