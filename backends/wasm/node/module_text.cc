#include "backends/wasm/node/module_text.h"

#include <sstream>

#include "backends/wasm/build_module.h"

namespace tandem {

Result<std::string> module_text(const Program& program, const Capabilities& capabilities) {
  return wasm_emitter::guarded([&] {
    wasm::Module module;
    wasm_emitter::build_module(module, program, capabilities, true);
    std::ostringstream text;
    text << module;
    return text.str();
  });
}

}  // namespace tandem
