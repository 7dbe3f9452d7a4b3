// The only unit with ORC's headers.
#include "backends/clang/orc.h"

#include <link.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h>
#include <llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "core/base/text.h"

namespace tandem {

namespace {

/// The linker's complaints: a failed look-up alone does not say why.
class ErrorLog {
 public:
  void add(llvm::Error error) {
    std::lock_guard<std::mutex> lock(mutex_);
    text_ += llvm::toString(std::move(error)) + "; ";
  }
  std::string take() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::move(text_);
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

class OrcLinker;

class OrcCode : public LoadedCode {
 public:
  OrcCode(std::shared_ptr<OrcLinker> linker, llvm::orc::JITDylib& library)
      : linker_(std::move(linker)), library_(library) {}
  OrcCode(const OrcCode&) = delete;
  OrcCode& operator=(const OrcCode&) = delete;
  ~OrcCode() override;

 private:
  std::shared_ptr<OrcLinker> linker_;
  llvm::orc::JITDylib& library_;
};

class OrcLinker : public Linker, public std::enable_shared_from_this<OrcLinker> {
 public:
  explicit OrcLinker(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {
    jit_->getExecutionSession().setErrorReporter([this](llvm::Error error) { log_.add(std::move(error)); });
  }

  Result<std::unique_ptr<LoadedCode>> load(const std::vector<std::vector<uint8_t>>& objects,
                                           const std::vector<std::string>& symbols) override;
  void remove(llvm::orc::JITDylib& library) {
    if (llvm::Error error = jit_->getExecutionSession().removeJITDylib(library)) log_.add(std::move(error));
  }
  llvm::Error add_plugins(const LinkerOptions& options);

 private:
  tl::unexpected<JitError> refuse(llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    return fail(ErrorCode::kDevice, concat("compiled kernels could not be loaded: ", log_.take(), text));
  }

  ErrorLog log_;
  std::atomic<uint64_t> next_library_{0};
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

OrcCode::~OrcCode() { linker_->remove(library_); }

Result<std::unique_ptr<LoadedCode>> OrcLinker::load(const std::vector<std::vector<uint8_t>>& objects,
                                                    const std::vector<std::string>& symbols) {
  llvm::orc::ExecutionSession& session = jit_->getExecutionSession();
  llvm::orc::JITDylib& library = session.createBareJITDylib(concat("program", next_library_++));
  auto code = std::make_unique<OrcCode>(shared_from_this(), library);
  for (const std::vector<uint8_t>& object : objects) {
    llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
    if (llvm::Error error = jit_->addObjectFile(library, llvm::MemoryBuffer::getMemBufferCopy(bytes, "kernels")))
      return refuse(std::move(error));
  }
  llvm::orc::SymbolLookupSet wanted;
  for (const std::string& symbol : symbols) wanted.add(session.intern(symbol));
  wanted.removeDuplicates();
  auto found = session.lookup({{&library, llvm::orc::JITDylibLookupFlags::MatchAllSymbols}}, std::move(wanted));
  if (!found) return refuse(found.takeError());
  for (const std::string& symbol : symbols)
    code->functions.push_back((*found)[session.intern(symbol)].getAddress().toPtr<KernelFunction>());
  return code;
}

llvm::Error OrcLinker::add_plugins(const LinkerOptions& options) {
  auto* layer = llvm::dyn_cast<llvm::orc::ObjectLinkingLayer>(&jit_->getObjLinkingLayer());
  if (layer == nullptr) return llvm::Error::success();
  llvm::orc::ExecutionSession& session = jit_->getExecutionSession();
  if (options.debugger) {
    llvm::Error error = llvm::Error::success();
    auto plugin = std::make_shared<llvm::orc::ELFDebugObjectPlugin>(session, false, true, error);
    if (error) return error;
    layer->addPlugin(std::move(plugin));
  }
  if (options.perf) {
    llvm::orc::JITDylib& library = session.createBareJITDylib("perf");
    const auto symbol = [&](auto* function) {
      return llvm::orc::ExecutorSymbolDef(llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported);
    };
    if (llvm::Error error = library.define(llvm::orc::absoluteSymbols(
            {{session.intern("llvm_orc_registerJITLoaderPerfStart"), symbol(&llvm_orc_registerJITLoaderPerfStart)},
             {session.intern("llvm_orc_registerJITLoaderPerfEnd"), symbol(&llvm_orc_registerJITLoaderPerfEnd)},
             {session.intern("llvm_orc_registerJITLoaderPerfImpl"), symbol(&llvm_orc_registerJITLoaderPerfImpl)}})))
      return error;
    auto plugin = llvm::orc::PerfSupportPlugin::Create(session.getExecutorProcessControl(), library, true, true);
    if (!plugin) return plugin.takeError();
    layer->addPlugin(std::move(*plugin));
  }
  return llvm::Error::success();
}

std::string read_compiler_identity() {
  std::string identity = concat("llvm ", LLVM_VERSION_STRING);
  struct State {
    std::string id;
  } state;
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* context) {
        if (std::strstr(library->dlpi_name, "libLLVM") == nullptr) return 0;
        for (int i = 0; i < library->dlpi_phnum; i++) {
          const ElfW(Phdr) & segment = library->dlpi_phdr[i];
          if (segment.p_type != PT_NOTE) continue;
          // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader put the segment comes as a number.
          const char* note = reinterpret_cast<const char*>(library->dlpi_addr + segment.p_vaddr);
          const char* end = note + segment.p_memsz;
          while (note + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) header;
            std::memcpy(&header, note, sizeof header);
            const char* name = note + sizeof header;
            const char* description = name + (header.n_namesz + 3) / 4 * 4;
            if (header.n_type == NT_GNU_BUILD_ID) static_cast<State*>(context)->id.append(description, header.n_descsz);
            note = description + (header.n_descsz + 3) / 4 * 4;
          }
        }
        return 0;
      },
      &state);
  identity += " build ";
  for (unsigned char byte : state.id) {
    identity += "0123456789abcdef"[byte >> 4];
    identity += "0123456789abcdef"[byte & 15];
  }
  return identity;
}

}  // namespace

void initialise_targets() {
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    return true;
  }();
  (void)initialised;
}

Result<std::shared_ptr<Linker>> Linker::create(const LinkerOptions& options) {
  // JITLink itself needs no target; LLJIT asks for one to know its data layout.
  initialise_targets();
  llvm::orc::JITTargetMachineBuilder machine(llvm::Triple("x86_64-pc-linux-gnu"));
  machine.setRelocationModel(llvm::Reloc::PIC_);
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(machine))
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit) return fail(ErrorCode::kDevice, concat("LLVM's linker did not start: ", llvm::toString(jit.takeError())));
  auto linker = std::make_shared<OrcLinker>(std::move(*jit));
  if (llvm::Error error = linker->add_plugins(options))
    return fail(ErrorCode::kDevice,
                concat("debugger or perf support did not start: ", llvm::toString(std::move(error))));
  return std::shared_ptr<Linker>(std::move(linker));
}

const std::string& compiler_identity() {
  static const std::string identity = read_compiler_identity();
  return identity;
}

Result<std::vector<std::string>> undefined_symbols(const std::vector<uint8_t>& object) {
  llvm::MemoryBufferRef bytes(llvm::StringRef(reinterpret_cast<const char*>(object.data()), object.size()), "object");
  auto file = llvm::object::ObjectFile::createObjectFile(bytes);
  if (!file) return fail(ErrorCode::kDevice, llvm::toString(file.takeError()));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return fail(ErrorCode::kDevice, llvm::toString(flags.takeError()));
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) == 0) continue;
    auto name = symbol.getName();
    if (!name) return fail(ErrorCode::kDevice, llvm::toString(name.takeError()));
    if (!name->empty()) names.push_back(name->str());
  }
  return names;
}

}  // namespace tandem
