#include "backends/wasm/code.h"

#include <array>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem::wasm_emitter {

namespace {

int free_list(wasm::Type type) {
  if (type == wasm::Type::i32) return 0;
  if (type == wasm::Type::i64) return 1;
  if (type == wasm::Type::f32) return 2;
  if (type == wasm::Type::f64) return 3;
  return 4;
}

}  // namespace

Local Code::add_parameter(wasm::Type type) {
  TANDEM_CHECK(parameters_ == types_.size(), "parameters come before locals");
  types_.push_back(type);
  parameters_++;
  return static_cast<Local>(types_.size() - 1);
}

Local Code::take(wasm::Type type) {
  auto& list = free_[free_list(type)];
  if (!list.empty()) {
    const Local local = list.back();
    list.pop_back();
    return local;
  }
  return take_new(type);
}

Local Code::take_new(wasm::Type type) {
  types_.push_back(type);
  return static_cast<Local>(types_.size() - 1);
}

void Code::give_back(Local local) { free_[free_list(types_[local])].push_back(local); }

Expression* Code::f32_bits(uint32_t bits) { return builder_.makeConst(wasm::Literal(bits).castToF32()); }
Expression* Code::f64_bits(uint64_t bits) { return builder_.makeConst(wasm::Literal(bits).castToF64()); }

Expression* Code::add(Expression* a, Expression* b) {
  if (auto* constant = b->dynCast<wasm::Const>()) return add(a, constant->value.geti32());
  if (auto* constant = a->dynCast<wasm::Const>()) return add(b, constant->value.geti32());
  return binary(wasm::AddInt32, a, b);
}

Expression* Code::add(Expression* a, int64_t b) {
  if (static_cast<uint32_t>(b) == 0) return a;
  if (auto* constant = a->dynCast<wasm::Const>()) return i32(static_cast<uint32_t>(constant->value.geti32()) + b);
  return binary(wasm::AddInt32, a, i32(b));
}

Expression* Code::multiply(Expression* a, int64_t b) {
  const uint32_t factor = static_cast<uint32_t>(b);
  if (factor == 1) return a;
  if (auto* constant = a->dynCast<wasm::Const>()) return i32(static_cast<uint32_t>(constant->value.geti32()) * factor);
  if (factor == 0) return i32(0);
  if ((factor & (factor - 1)) == 0) return binary(wasm::ShlInt32, a, i32(__builtin_ctz(factor)));
  return binary(wasm::MulInt32, a, i32(b));
}

Expression* Code::shuffle(Expression* a, Expression* b, const uint8_t (&lanes)[16]) {
  std::array<uint8_t, 16> mask;
  for (int i = 0; i < 16; i++) mask[i] = lanes[i];
  return builder_.makeSIMDShuffle(a, b, mask);
}

Expression* Code::load(int bytes, bool is_signed, uint32_t offset, Expression* address, wasm::Type type, int align) {
  return builder_.makeLoad(bytes, is_signed, offset, align, address, type, kMemory);
}

Expression* Code::store(int bytes, uint32_t offset, Expression* address, Expression* value, wasm::Type type,
                        int align) {
  return builder_.makeStore(bytes, offset, align, address, value, type, kMemory);
}

Expression* Code::block(const Statements& statements) {
  if (statements.size() == 1) return statements[0];
  return builder_.makeBlock(statements, wasm::Type::none);
}

void Code::finish(wasm::Module& module, const std::string& name, const Statements& body) {
  // V8's limits: it refuses a function with more locals and parameters than this.
  if (types_.size() > 50000) {
    throw TensorError(concat("kernel ", name, " needs ", types_.size(),
                             " WebAssembly locals, and engines allow 50000; split the kernel"),
                      ErrorCode::kUnsupported);
  }
  std::vector<wasm::Type> parameters(types_.begin(), types_.begin() + parameters_);
  std::vector<wasm::Type> locals(types_.begin() + parameters_, types_.end());
  const wasm::Signature signature(wasm::Type(parameters), wasm::Type::none);
  module.addFunction(wasm::Builder::makeFunction(
      name, wasm::Type(wasm::HeapType(signature), wasm::NonNullable, wasm::Exact), std::move(locals), block(body)));
}

}  // namespace tandem::wasm_emitter
