#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::bench {

/// A model in onnxruntime, called through the C API of the library inside npm onnxruntime-node: its headers are in no
/// package of ours, so that the few functions used are declared here. A session and its tensors live until the program
/// ends: a benchmark makes few. Everything throws std::runtime_error with the library's words.
class OnnxruntimeSession {
 public:
  /// Numbers of onnx.proto.
  enum ElementType : int { kFloat = 1, kInt64 = 7 };

  OnnxruntimeSession(const std::string& onnx_file, int threads);

  /// A tensor on memory of the caller's, which stays there.
  void* tensor(void* data, size_t bytes, const std::vector<int64_t>& shape, ElementType type) const;
  /// One run; an output that is null is made by the library and then lives on.
  void run(const std::vector<const char*>& input_names, const std::vector<void*>& inputs,
           const std::vector<const char*>& output_names, std::vector<void*>& outputs) const;
  /// Milliseconds that making the session took.
  double session_ms() const { return session_ms_; }

 private:
  template <typename... Arguments>
  void call(size_t place, Arguments... arguments) const;

  void (*const* api_)() = nullptr;
  void *session_ = nullptr, *memory_ = nullptr;
  double session_ms_ = 0;
};

}  // namespace tandem::bench
