#include "backends/clang/compiler_loader.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <map>
#include <mutex>

#include "backends/clang/compiler_abi.h"
#include "backends/clang/orc.h"
#include "core/base/text.h"

namespace tandem {

namespace {

constexpr const char* kPluginName = "tandem_compiler.so";

using CompileFunction = decltype(&tandem_compiler_compile);

std::atomic<bool> g_loaded{false};

std::string folder_of(const std::string& path) {
  size_t end = path.rfind('/');
  return end == std::string::npos ? "." : path.substr(0, end);
}

std::vector<std::string> places_of_plugin(const std::string& plugin) {
  if (!plugin.empty()) return {plugin};
  std::vector<std::string> folders;
  char path[PATH_MAX];
  ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size > 0 && size < static_cast<ssize_t>(sizeof path))
    folders.push_back(folder_of({path, static_cast<size_t>(size)}));
  Dl_info here;
  if (::dladdr(reinterpret_cast<const void*>(&places_of_plugin), &here) != 0 && here.dli_fname != nullptr) {
    std::string folder = folder_of(here.dli_fname);
    if (folders.empty() || folders[0] != folder) folders.push_back(folder);
  }
  std::vector<std::string> places;
  for (const std::string& folder : folders) {
    places.push_back(concat(folder, "/", kPluginName));
    places.push_back(concat(folder, "/tandem/", kPluginName));
    places.push_back(concat(folder, "/../lib/tandem/", kPluginName));
  }
  return places;
}

Result<CompileFunction> load_from(const std::string& place) {
  void* library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return fail(ErrorCode::kDevice, concat("the compiler plugin ", place,
                                           " cannot be loaded: ", reason == nullptr ? "no reason given" : reason));
  }
  auto abi = reinterpret_cast<decltype(&tandem_compiler_abi)>(::dlsym(library, "tandem_compiler_abi"));
  auto compile = reinterpret_cast<CompileFunction>(::dlsym(library, "tandem_compiler_compile"));
  if (abi == nullptr || compile == nullptr || abi() != TANDEM_COMPILER_ABI) {
    ::dlclose(library);
    return fail(ErrorCode::kDevice, concat(place, " is not the compiler plugin of this version (interface ",
                                           TANDEM_COMPILER_ABI, "); install the one that was built with this program"));
  }
  initialise_targets();
  // Stays loaded: unloading LLVM is not supported.
  g_loaded = true;
  return compile;
}

Result<CompileFunction> load_plugin(const std::string& plugin) {
  static std::mutex mutex;
  static std::map<std::string, CompileFunction> loaded;
  std::lock_guard<std::mutex> lock(mutex);
  if (auto found = loaded.find(plugin); found != loaded.end()) return found->second;
  const std::vector<std::string> places = places_of_plugin(plugin);
  for (const std::string& place : places) {
    if (::access(place.c_str(), R_OK) != 0) continue;
    TANDEM_TRY(compile, load_from(place));
    loaded.emplace(plugin, compile);
    return compile;
  }
  // A program that links the installed library has its folder in the run path.
  if (plugin.empty())
    if (auto compile = load_from(kPluginName)) {
      loaded.emplace(plugin, *compile);
      return *compile;
    }
  if (!plugin.empty())
    return fail(ErrorCode::kDevice,
                concat("the compiler plugin ", plugin, " cannot be read: ", std::strerror(errno),
                       "; TANDEM_COMPILER_PLUGIN must be the path of ", kPluginName, ", or not be set"));
  return fail(ErrorCode::kDevice,
              concat("the compiler plugin ", kPluginName, " is neither in the program's run path nor one of ",
                     join(places), "; put it there, or set TANDEM_COMPILER_PLUGIN to its path"));
}

/// Drops the pages of one shared library that nobody can have written to.
int drop_clean_pages(dl_phdr_info* library, size_t, void*) {
  const char* name = library->dlpi_name;
  if (std::strstr(name, "libclang") == nullptr && std::strstr(name, "libLLVM") == nullptr) return 0;
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < library->dlpi_phnum; i++) {
    const ElfW(Phdr) & segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (library->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    const uintptr_t end = (library->dlpi_addr + segment.p_vaddr + segment.p_memsz) / page * page;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader put the segment comes as a number.
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void rest_compiler() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
  ::dl_iterate_phdr(&drop_clean_pages, nullptr);
}

bool compiler_loaded() { return g_loaded; }

Result<std::vector<uint8_t>> compile_c(const std::string& source, const std::string& file_name,
                                       const CompileOptions& options, CompilerOutput output,
                                       const std::string& plugin) {
  TANDEM_TRY(compile, load_plugin(plugin));
  std::vector<const char*> arguments;
  for (const std::string& argument : options.arguments) arguments.push_back(argument.c_str());
  tandem_compiler_request request = {};
  request.source = source.c_str();
  request.source_size = source.size();
  request.file_name = file_name.c_str();
  request.arguments = arguments.data();
  request.argument_count = arguments.size();
  request.passes = options.passes.c_str();
  request.codegen_level = options.codegen_level;
  request.output = output == CompilerOutput::kAssembly ? TANDEM_OUTPUT_ASSEMBLY : TANDEM_OUTPUT_OBJECT;
  Result<std::vector<uint8_t>> result = fail(ErrorCode::kDevice, "the compiler gave no answer");
  compile(
      &request,
      [](void* context, int ok, const char* bytes, size_t size) {
        auto& to = *static_cast<Result<std::vector<uint8_t>>*>(context);
        if (ok != 0)
          to = std::vector<uint8_t>(bytes, bytes + size);
        else
          to = fail(ErrorCode::kDevice, concat("clang refused generated code:\n", std::string(bytes, size)));
      },
      &result);
  return result;
}

}  // namespace tandem
