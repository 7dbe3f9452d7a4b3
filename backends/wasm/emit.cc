#include "backends/wasm/emit.h"

#include "backends/wasm/build_module.h"
#include "backends/wasm/code.h"
#include "backends/wasm/encode.h"
#include "backends/wasm/kernel_emitter.h"
#include "core/base/text.h"

namespace tandem {

namespace {

using wasm_emitter::Addresses;
using wasm_emitter::Code;
using wasm_emitter::KernelEmitter;
using wasm_emitter::Local;

// Binaryen keeps every name for good that it has ever seen, so that names which no reader gets are numbers.
std::string kernel_function(const Program& program, size_t kernel, bool names) {
  if (!names) return concat("k", kernel);
  // The number keeps equal names apart.
  return concat(program.kernels[kernel].name, "#", kernel);
}

void check_slots(const Program& program) {
  for (const Slot& slot : program.slots) {
    if (slot.bytes <= int64_t{UINT32_MAX}) continue;
    throw TensorError(concat("buffer ", slot.name, " has ", slot.bytes,
                             " bytes, and WebAssembly addresses 4294967296 in all; lower the bounds of the variables"),
                      ErrorCode::kUnsupported);
  }
}

// One exported function: each call of the list, if it lies in the range that was asked for.
void emit_calls(wasm::Module& module, const Program& program, const std::vector<KernelCall>& calls, const char* name,
                bool names) {
  Code code(module);
  const Local slots = code.add_parameter(wasm::Type::i32);
  const Local values = code.add_parameter(wasm::Type::i32);
  const Local first = code.add_parameter(wasm::Type::i32);
  const Local last = code.add_parameter(wasm::Type::i32);
  std::vector<Local> variables;
  auto value_of = [&](const Index& leaf) -> wasm::Expression* {
    for (size_t i = 0; i < variables.size(); i++)
      if (program.variables[i].name() == leaf.name()) return code.get(variables[i]);
    throw InternalError(concat("variable ", leaf.text(), " is not one of the program's"));
  };
  Addresses addresses(code, Addresses::Leaf{value_of, [](const Index&) { return -1; }});
  for (size_t i = 0; i < program.variables.size(); i++) {
    variables.push_back(code.take_new(wasm::Type::i32));
    addresses.function_header().push_back(code.set(
        variables[i], code.load(4, false, static_cast<uint32_t>(4 * i), code.get(values), wasm::Type::i32, 4)));
  }
  const Local count = code.take_new(wasm::Type::i32);
  addresses.function_header().push_back(code.set(count, code.binary(wasm::SubInt32, code.get(last), code.get(first))));
  for (size_t i = 0; i < calls.size(); i++) {
    const KernelCall& call = calls[i];
    std::vector<wasm::Expression*> arguments;
    for (uint32_t slot : call.slots) {
      arguments.push_back(code.load(4, false, 4 * slot, code.get(slots), wasm::Type::i32, 4));
    }
    for (const Index& variable : call.variables) arguments.push_back(addresses.value(variable));
    arguments.push_back(code.i32(0));
    arguments.push_back(addresses.value(call.range));
    // first <= i and i < last, as one unsigned comparison.
    wasm::Expression* number = code.binary(wasm::SubInt32, code.i32(static_cast<int64_t>(i)), code.get(first));
    wasm::Expression* wanted = code.binary(wasm::LtUInt32, number, code.get(count));
    addresses.current().body.push_back(code.builder().makeIf(
        wanted, code.builder().makeCall(kernel_function(program, call.kernel, names), arguments, wasm::Type::none)));
  }
  code.finish(module, name, addresses.close_function());
  module.addExport(wasm::Builder::makeExport(name, wasm::Name(name), wasm::ExternalKind::Function));
}

/// Parameters as the kernel's text names them.
void name_parameters(wasm::Module& module, const Program& program) {
  const auto give = [&](const std::string& function, const std::vector<std::string>& names) {
    for (size_t i = 0; i < names.size(); i++)
      module.getFunction(function)->setLocalName(static_cast<wasm::Index>(i), names[i]);
  };
  for (size_t i = 0; i < program.kernels.size(); i++) {
    const Kernel& kernel = program.kernels[i];
    std::vector<std::string> names;
    for (size_t k = 0; k < kernel.buffers.size(); k++) names.push_back(concat("b", k));
    // Buffers and ends have names of their own, which a variable could also have.
    for (const Index& variable : kernel.variables) names.push_back(concat("variable.", variable.name()));
    names.insert(names.end(), {"begin", "end"});
    give(kernel_function(program, i, true), names);
  }
  for (const char* list : {"prepare", "step"}) give(list, {"slots", "values", "first", "last"});
}

}  // namespace

void wasm_emitter::build_module(wasm::Module& module, const Program& program, const Capabilities& capabilities,
                                bool names) {
  check_slots(program);
  module.features = wasm::FeatureSet::SIMD;
  if (capabilities.fma) module.features.enable(wasm::FeatureSet::RelaxedSIMD);
  auto memory = wasm::Builder::makeMemory(wasm_emitter::kMemory, 1, wasm::Memory::kUnlimitedSize);
  memory->module = "env";
  memory->base = "memory";
  module.addMemory(std::move(memory));
  for (size_t i = 0; i < program.kernels.size(); i++) {
    KernelEmitter(module, program.kernels[i], capabilities).emit(kernel_function(program, i, names));
  }
  emit_calls(module, program, program.prepare_calls, "prepare", names);
  emit_calls(module, program, program.step_calls, "step", names);
  if (names) name_parameters(module, program);
}

Result<std::vector<uint8_t>> emit_module(const Program& program, const Capabilities& capabilities,
                                         const EmitOptions& options) {
  return wasm_emitter::guarded([&] {
    wasm::Module module;
    wasm_emitter::build_module(module, program, capabilities, options.names);
    return wasm_emitter::encode(module, options.names);
  });
}

}  // namespace tandem
