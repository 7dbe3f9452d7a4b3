#include "tests/bench/onnxruntime_peer.h"

#include <cstring>
#include <exception>

#include "tests/bench/onnxruntime_session.h"

namespace tandem::bench {
namespace {

class Silero final : public OnnxruntimeSilero {
 public:
  explicit Silero(const std::string& onnx_file) : session_(onnx_file, 1) {
    inputs_ = {session_.tensor(chunk_, sizeof chunk_, {1, 576}, OnnxruntimeSession::kFloat),
               session_.tensor(state_, sizeof state_, {2, 1, 128}, OnnxruntimeSession::kFloat),
               session_.tensor(&rate_, sizeof rate_, {}, OnnxruntimeSession::kInt64)};
    outputs_ = {session_.tensor(&probability_, sizeof probability_, {1, 1}, OnnxruntimeSession::kFloat),
                session_.tensor(next_, sizeof next_, {2, 1, 128}, OnnxruntimeSession::kFloat)};
  }

  float step(const float* chunk) override {
    std::memcpy(chunk_, chunk, sizeof chunk_);
    session_.run(input_names_, inputs_, output_names_, outputs_);
    std::memcpy(state_, next_, sizeof state_);
    return probability_;
  }
  double session_ms() const override { return session_.session_ms(); }

 private:
  OnnxruntimeSession session_;
  const std::vector<const char*> input_names_ = {"input", "state", "sr"}, output_names_ = {"output", "stateN"};
  std::vector<void*> inputs_, outputs_;
  float chunk_[576] = {}, state_[256] = {}, next_[256] = {}, probability_ = 0;
  int64_t rate_ = 16000;
};

}  // namespace

std::unique_ptr<OnnxruntimeSilero> OnnxruntimeSilero::make(const std::string& onnx_file, std::string& reason) {
  try {
    return std::make_unique<Silero>(onnx_file);
  } catch (const std::exception& error) {
    reason = error.what();
    return nullptr;
  }
}

}  // namespace tandem::bench
