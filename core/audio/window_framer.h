#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

/// Cuts a stream of samples, pushed in pieces of any size, into windows with the preceding samples as context. The
/// frames are the same for every way of cutting the stream into pieces. A frame is [context | window] and the context
/// of the first one is zero. Allocates only in the constructor. Silero takes windows of 512 with a context of 64 at 16
/// kHz, 256 and 32 at 8 kHz.
class WindowFramer {
 public:
  /// `window` must be at least 1 and `context` at most `window`; anything else is a programming error (InternalError).
  WindowFramer(size_t window, size_t context);

  /// Takes samples until the window is full and returns how many it took; 0 when it is full already.
  size_t fill(std::span<const float> samples);
  /// The window is complete: use `frame()`, then call `advance()`.
  bool full() const { return filled_ == window_; }
  /// The current frame, context + window samples; complete only when `full()`.
  std::span<const float> frame() const { return buffer_; }
  /// Keeps the end of the frame as the next one's context and starts an empty window. Only when `full()`.
  void advance();
  /// Completes a partial window with zeros; returns how many of its samples are real (0: there is nothing to do).
  size_t pad();
  /// Where a stream stands: the counters, and what is there of the frame.
  struct Place {
    std::vector<float> begun;
    size_t filled = 0;
    int64_t sample_count = 0;
    int64_t window_count = 0;
  };
  /// Copies the place; allocates only when `place` is new. Goes back to it: both with a framer of the same layout.
  void save(Place& place) const;
  void go_back(const Place& place);

  /// Forgets everything: the next sample is number `first_sample` of a stream and its context is zero.
  void reset(int64_t first_sample = 0);

  size_t window() const { return window_; }
  size_t context() const { return context_; }
  /// Samples in the current, incomplete window.
  size_t pending() const { return filled_; }
  /// Samples taken since the start of the stream, padding not counted.
  int64_t sample_count() const { return sample_count_; }
  /// Windows completed by `advance()`.
  int64_t window_count() const { return window_count_; }

  /// Pushes all of `samples` and calls `on_frame(std::span<const float>)` for every window that becomes complete. When
  /// `on_frame` returns false, stops with that frame still current; returns the number of samples taken.
  template <typename OnFrame>
  size_t push(std::span<const float> samples, OnFrame&& on_frame) {
    size_t taken = 0;
    for (;;) {
      if (full()) {
        if (!on_frame(frame())) return taken;
        advance();
      }
      if (taken == samples.size()) return taken;
      taken += fill(samples.subspan(taken));
    }
  }

  /// Pads a partial window with zeros and hands it over. The stream should be reset afterwards.
  template <typename OnFrame>
  void flush(OnFrame&& on_frame) {
    if (pad() > 0 && on_frame(frame())) advance();
  }

 private:
  size_t window_;
  size_t context_;
  size_t filled_ = 0;
  int64_t sample_count_ = 0;
  int64_t window_count_ = 0;
  std::vector<float> buffer_;
};

}  // namespace tandem
