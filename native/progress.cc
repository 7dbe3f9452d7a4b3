#include "native/progress.h"

#include <algorithm>
#include <cstdio>

#include "core/base/text.h"
#include "native/printable.h"
#include "native/tool_options.h"

namespace tandem {
namespace {

constexpr int64_t kBarWidth = 20;
constexpr double kPause = 0.2;

}  // namespace

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

ProgressBar::ProgressBar(const std::string& title)
    : title_(printable(title)), is_terminal_(error_is_terminal()), last_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

std::string ProgressBar::bar(int64_t done, int64_t total) {
  const double part = total <= 0 ? 1.0 : std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const auto filled = static_cast<size_t>(part * static_cast<double>(kBarWidth));
  return concat("[", std::string(filled, '#'), std::string(static_cast<size_t>(kBarWidth) - filled, ' '), "] ",
                static_cast<int>(part * 100), " %");
}

void ProgressBar::show(int64_t done, int64_t total) {
  if (!is_terminal_ || seconds_since(last_) < kPause) return;
  last_ = std::chrono::steady_clock::now();
  shown_ = true;
  std::fprintf(stderr, "\r\033[K%s: %s", title_.c_str(), bar(done, total).c_str());
}

}  // namespace tandem
