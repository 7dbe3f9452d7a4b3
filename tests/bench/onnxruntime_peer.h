#pragma once

#include <memory>
#include <string>

namespace tandem::bench {

/// Silero VAD in onnxruntime, one thread, called through the C API of the library inside npm onnxruntime-node: its
/// headers are in no package of ours, so that the few functions used are declared here.
class OnnxruntimeSilero {
 public:
  virtual ~OnnxruntimeSilero() = default;
  /// A chunk of 576 samples to the probability of speech; the state is kept inside.
  virtual float step(const float* chunk) = 0;
  /// Milliseconds that making the session took.
  virtual double session_ms() const = 0;

  /// Null, with a sentence in `reason`, when the library or the file can't be used.
  static std::unique_ptr<OnnxruntimeSilero> make(const std::string& onnx_file, std::string& reason);
};

}  // namespace tandem::bench
