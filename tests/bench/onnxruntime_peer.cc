#include "tests/bench/onnxruntime_peer.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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
constexpr int kWarning = 2, kDeviceAllocator = 0, kDefaultMemory = 0, kFloat = 1, kInt64 = 7;

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

class Session final : public OnnxruntimeSilero {
 public:
  explicit Session(const std::string& onnx_file) {
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
    call<void*, int>(kSetIntraOpNumThreads, options, 1);
    call<void*, int>(kSetInterOpNumThreads, options, 1);
    call<void*, const char*, void*, void**>(kCreateSession, environment, onnx_file.c_str(), options, &session_);
    session_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    call<int, int, void**>(kCreateCpuMemoryInfo, kDeviceAllocator, kDefaultMemory, &memory_);
    inputs_[0] = tensor(chunk_, sizeof chunk_, {1, 576}, kFloat);
    inputs_[1] = tensor(state_, sizeof state_, {2, 1, 128}, kFloat);
    inputs_[2] = tensor(&rate_, sizeof rate_, {}, kInt64);
    outputs_[0] = tensor(&probability_, sizeof probability_, {1, 1}, kFloat);
    outputs_[1] = tensor(next_, sizeof next_, {2, 1, 128}, kFloat);
  }

  float step(const float* chunk) override {
    static const char* const input_names[] = {"input", "state", "sr"};
    static const char* const output_names[] = {"output", "stateN"};
    std::memcpy(chunk_, chunk, sizeof chunk_);
    call<void*, const void*, const char* const*, const void* const*, size_t, const char* const*, size_t, void**>(
        kRun, session_, nullptr, input_names, inputs_, 3, output_names, 2, outputs_);
    std::memcpy(state_, next_, sizeof state_);
    return probability_;
  }
  double session_ms() const override { return session_ms_; }

 private:
  template <typename... Arguments>
  void call(Place place, Arguments... arguments) const {
    void* status = reinterpret_cast<void* (*)(Arguments...)>(api_[place])(arguments...);
    if (status == nullptr) return;
    throw std::runtime_error(reinterpret_cast<const char* (*)(const void*)>(api_[kGetErrorMessage])(status));
  }

  void* tensor(void* data, size_t bytes, const std::vector<int64_t>& shape, int type) const {
    void* value = nullptr;
    call<const void*, void*, size_t, const int64_t*, size_t, int, void**>(kCreateTensorWithData, memory_, data, bytes,
                                                                          shape.data(), shape.size(), type, &value);
    return value;
  }

  // Everything lives until the program ends: a benchmark makes one session.
  const Function* api_ = nullptr;
  void *session_ = nullptr, *memory_ = nullptr;
  void* inputs_[3] = {};
  void* outputs_[2] = {};
  float chunk_[576] = {}, state_[256] = {}, next_[256] = {}, probability_ = 0;
  int64_t rate_ = 16000;
  double session_ms_ = 0;
};

}  // namespace

std::unique_ptr<OnnxruntimeSilero> OnnxruntimeSilero::make(const std::string& onnx_file, std::string& reason) {
  try {
    return std::make_unique<Session>(onnx_file);
  } catch (const std::exception& error) {
    reason = error.what();
    return nullptr;
  }
}

}  // namespace tandem::bench
