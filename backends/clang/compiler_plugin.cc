// The only unit with clang's headers: C text to an object, in this process.
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/clang/compiler_abi.h"

namespace {

/// Replaces LLVM's own handler, which prints an error and ends the process.
class CollectingHandler : public llvm::DiagnosticHandler {
 public:
  explicit CollectingHandler(std::string& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream out(errors_);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    out << '\n';
    return true;
  }

 private:
  std::string& errors_;
};

/// One compilation with its own compiler, context and target machine: compilations share nothing.
class Compilation {
 public:
  explicit Compilation(const tandem_compiler_request& request) : request_(request) {}

  /// True when `output` holds the result, else `errors` says why not.
  bool run() { return parse() && make_target_machine() && optimise() && emit(); }

  llvm::SmallVector<char, 0> output;
  std::string errors;

 private:
  bool fail(const std::string& text) {
    errors += text;
    if (errors.empty()) errors = "the compiler failed without a message";
    return false;
  }
  bool parse();
  bool make_target_machine();
  bool optimise();
  bool emit();

  const tandem_compiler_request& request_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::string cpu_, features_;
  // Members rather than locals, so that nothing is destroyed on the way out of a fatal error.
  struct Optimiser {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager cgscc;
    llvm::ModuleAnalysisManager modules;
    llvm::ModulePassManager passes;
  };
  std::unique_ptr<Optimiser> optimiser_;
  std::unique_ptr<llvm::raw_svector_ostream> stream_;
  std::unique_ptr<llvm::legacy::PassManager> emitter_;
};

/// What LLVM calls a fatal error, on its way to `tandem_compiler_compile`.
struct FatalError {
  std::string text;
};
thread_local bool g_compiling = false;

/// Keeps what is left of a failed compilation for ever: its parts refer to each other in an unknown state.
void bury(std::unique_ptr<Compilation> compilation) {
  static std::mutex mutex;
  static auto* graves = new std::vector<std::unique_ptr<Compilation>>;
  std::lock_guard<std::mutex> lock(mutex);
  graves->push_back(std::move(compilation));
}

/// LLVM ends the process when this returns. Its frames hold nothing that unwinding would have to clean up, and the
/// compilation that failed is never touched again.
void throw_fatal_error(void*, const char* reason, bool) {
  if (g_compiling) throw FatalError{reason};
}

bool Compilation::parse() {
  llvm::raw_string_ostream messages(errors);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  clang::DiagnosticOptions options;
  auto printer = std::make_unique<clang::TextDiagnosticPrinter>(messages, options);
  // An empty file system beside the source makes every #include fail: generated code is complete in itself.
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->addFile(request_.file_name, 0,
                 llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(request_.source, request_.source_size),
                                                  request_.file_name, /*RequiresNullTerminator=*/true));
  auto diagnostics = clang::CompilerInstance::createDiagnostics(*files, options, printer.get(), false);
  std::vector<const char*> arguments(request_.arguments, request_.arguments + request_.argument_count);
  arguments.push_back(request_.file_name);
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, *diagnostics)) return fail("");
  // Without this every compilation would leak its syntax tree.
  invocation->getFrontendOpts().DisableFree = false;
  invocation->getCodeGenOpts().DisableFree = false;

  context_.setDiagnosticHandler(std::make_unique<CollectingHandler>(errors));
  clang::CompilerInstance compiler(invocation);
  compiler.setVirtualFileSystem(files);
  compiler.setVerboseOutputStream(messages);
  clang::TextDiagnosticPrinter compiler_printer(messages, compiler.getDiagnosticOpts());
  compiler.createDiagnostics(&compiler_printer, /*ShouldOwnClient=*/false);
  clang::EmitLLVMOnlyAction action(&context_);
  if (!compiler.ExecuteAction(action)) return fail("");
  module_ = action.takeModule();
  if (!module_) return fail("");
  cpu_ = compiler.getTargetOpts().CPU;
  for (const std::string& feature : compiler.getTargetOpts().Features) {
    if (!features_.empty()) features_ += ',';
    features_ += feature;
  }
  return true;
}

bool Compilation::make_target_machine() {
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(module_->getTargetTriple(), message);
  if (target == nullptr) return fail(message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto level = static_cast<llvm::CodeGenOptLevel>(request_.codegen_level);
  // Position independent: JITLink cannot place code of the static model above 2 GB.
  machine_.reset(target->createTargetMachine(module_->getTargetTriple(), cpu_, features_, options, llvm::Reloc::PIC_,
                                             std::nullopt, level));
  return machine_ != nullptr || fail("no target machine");
}

bool Compilation::optimise() {
  optimiser_ = std::make_unique<Optimiser>();
  Optimiser& o = *optimiser_;
  llvm::PassBuilder builder(machine_.get());
  builder.registerModuleAnalyses(o.modules);
  builder.registerCGSCCAnalyses(o.cgscc);
  builder.registerFunctionAnalyses(o.functions);
  builder.registerLoopAnalyses(o.loops);
  builder.crossRegisterProxies(o.loops, o.functions, o.cgscc, o.modules);
  if (llvm::Error error = builder.parsePassPipeline(o.passes, request_.passes))
    return fail("pass pipeline: " + llvm::toString(std::move(error)));
  context_.setDiagnosticHandler(std::make_unique<CollectingHandler>(errors));
  o.passes.run(*module_, o.modules);
  optimiser_.reset();
  return errors.empty();
}

bool Compilation::emit() {
  stream_ = std::make_unique<llvm::raw_svector_ostream>(output);
  emitter_ = std::make_unique<llvm::legacy::PassManager>();
  llvm::TargetLibraryInfoImpl library(module_->getTargetTriple());
  library.disableAllFunctions();
  emitter_->add(new llvm::TargetLibraryInfoWrapperPass(library));
  const auto kind = request_.output == TANDEM_OUTPUT_ASSEMBLY ? llvm::CodeGenFileType::AssemblyFile
                                                              : llvm::CodeGenFileType::ObjectFile;
  // The front end made the module a moment ago: verifying it twice more finds nothing.
  if (machine_->addPassesToEmitFile(*emitter_, *stream_, nullptr, kind, /*DisableVerify=*/true))
    return fail("the target cannot write this output");
  emitter_->run(*module_);
  emitter_.reset();
  return errors.empty();
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int tandem_compiler_abi(void) { return TANDEM_COMPILER_ABI; }

__attribute__((visibility("default"))) void tandem_compiler_compile(const tandem_compiler_request* request,
                                                                    tandem_compiler_sink sink, void* context) {
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    llvm::install_fatal_error_handler(throw_fatal_error);
    return true;
  }();
  (void)initialised;
  auto compilation = std::make_unique<Compilation>(*request);
  bool ok = false;
  llvm::SmallVector<char, 0> output;
  std::string errors;
  g_compiling = true;
  try {
    ok = compilation->run();
    output = std::move(compilation->output);
    errors = std::move(compilation->errors);
  } catch (const FatalError& error) {
    errors = "internal error of LLVM: " + error.text;
    bury(std::move(compilation));
  }
  g_compiling = false;
  if (ok)
    sink(context, 1, output.data(), output.size());
  else
    sink(context, 0, errors.data(), errors.size());
}

}  // extern "C"
