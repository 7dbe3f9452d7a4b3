#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tandem {

/// Seconds since `start`.
double seconds_since(std::chrono::steady_clock::time_point start);

/// "speech.wav: [########            ] 40 %": one line of the terminal, rewritten a few times a second. Silent when
/// standard error is no terminal, and for what is done in a moment. The line is removed when the object is destroyed.
class ProgressBar {
 public:
  explicit ProgressBar(const std::string& title);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` of `total`, which may be 0.
  void show(int64_t done, int64_t total);

  /// The bar alone: "[#####               ] 25 %".
  static std::string bar(int64_t done, int64_t total);

 private:
  std::string title_;
  bool is_terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace tandem
