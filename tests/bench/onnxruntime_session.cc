#include "tests/bench/onnxruntime_session.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "core/base/text.h"

namespace tandem::bench {
namespace {

using Function = void (*)();

/// What `OrtGetApiBase` returns.
struct ApiBase {
  const Function* (*api)(uint32_t version);
  const char* (*version)();
};

/// Places of the functions in the table that the C API hands out; the table only ever grows at its end.
enum Place : size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetIntraOpNumThreads = 24,
  kSetInterOpNumThreads = 25,
  kCreateTensorWithData = 49,
  kCreateCpuMemoryInfo = 69,
};
constexpr uint32_t kApiVersion = 13;
constexpr int kWarning = 2, kDeviceAllocator = 0, kDefaultMemory = 0;

std::string find_library() {
  if (const char* given = std::getenv("TANDEM_ONNXRUNTIME")) return given;
  for (std::filesystem::path folder : {std::filesystem::current_path(), std::filesystem::path(TANDEM_SOURCE_DIR)})
    for (;; folder = folder.parent_path()) {
      for (const char* sub : {"napi-v6", "napi-v3"}) {
        const auto file = folder / "node_modules/onnxruntime-node/bin" / sub / "linux/x64/libonnxruntime.so.1";
        if (std::filesystem::exists(file)) return file.string();
      }
      if (folder == folder.root_path()) break;
    }
  throw std::runtime_error(
      "onnxruntime is not there: npm install --ignore-scripts onnxruntime-node, or set TANDEM_ONNXRUNTIME to its "
      "libonnxruntime.so.1");
}

}  // namespace

OnnxruntimeSession::OnnxruntimeSession(const std::string& onnx_file, int threads) {
  const std::string library = find_library();
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(concat(library, " can't be loaded: ", dlerror()));
  const auto base = reinterpret_cast<const ApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (base == nullptr) throw std::runtime_error(concat(library, " has no OrtGetApiBase"));
  api_ = base()->api(kApiVersion);
  if (api_ == nullptr) throw std::runtime_error(concat(library, " doesn't offer version 13 of its C API"));
  const auto start = std::chrono::steady_clock::now();
  void *environment = nullptr, *options = nullptr;
  call<int, const char*, void**>(kCreateEnv, kWarning, "bench", &environment);
  call<void**>(kCreateSessionOptions, &options);
  call<void*, int>(kSetIntraOpNumThreads, options, threads);
  call<void*, int>(kSetInterOpNumThreads, options, 1);
  call<void*, const char*, void*, void**>(kCreateSession, environment, onnx_file.c_str(), options, &session_);
  session_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  call<int, int, void**>(kCreateCpuMemoryInfo, kDeviceAllocator, kDefaultMemory, &memory_);
}

template <typename... Arguments>
void OnnxruntimeSession::call(size_t place, Arguments... arguments) const {
  void* status = reinterpret_cast<void* (*)(Arguments...)>(api_[place])(arguments...);
  if (status == nullptr) return;
  throw std::runtime_error(reinterpret_cast<const char* (*)(const void*)>(api_[kGetErrorMessage])(status));
}

void* OnnxruntimeSession::tensor(void* data, size_t bytes, const std::vector<int64_t>& shape, ElementType type) const {
  void* value = nullptr;
  call<const void*, void*, size_t, const int64_t*, size_t, int, void**>(kCreateTensorWithData, memory_, data, bytes,
                                                                        shape.data(), shape.size(), type, &value);
  return value;
}

void OnnxruntimeSession::run(const std::vector<const char*>& input_names, const std::vector<void*>& inputs,
                             const std::vector<const char*>& output_names, std::vector<void*>& outputs) const {
  call<void*, const void*, const char* const*, const void* const*, size_t, const char* const*, size_t, void**>(
      kRun, session_, nullptr, input_names.data(), inputs.data(), inputs.size(), output_names.data(), outputs.size(),
      outputs.data());
}

}  // namespace tandem::bench
