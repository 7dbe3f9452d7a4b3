#include "core/audio/window_framer.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

WindowFramer::WindowFramer(size_t window, size_t context)
    : window_(window), context_(context), buffer_(context + window, 0.0f) {
  TANDEM_CHECK(window >= 1 && context <= window, concat("window ", window, ", context ", context));
}

size_t WindowFramer::fill(std::span<const float> samples) {
  const size_t count = std::min(window_ - filled_, samples.size());
  std::copy_n(samples.begin(), count, buffer_.begin() + static_cast<std::ptrdiff_t>(context_ + filled_));
  filled_ += count;
  sample_count_ += static_cast<int64_t>(count);
  return count;
}

void WindowFramer::advance() {
  TANDEM_CHECK(full(), concat(filled_, " of ", window_, " samples"));
  // The context is at most one window, so the tail never overlaps the place it moves to.
  std::copy_n(buffer_.end() - static_cast<std::ptrdiff_t>(context_), context_, buffer_.begin());
  filled_ = 0;
  ++window_count_;
}

size_t WindowFramer::pad() {
  const size_t real = filled_;
  if (real == 0 || full()) return real;
  std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(context_ + real), buffer_.end(), 0.0f);
  filled_ = window_;
  return real;
}

void WindowFramer::save(Place& place) const {
  place.begun.reserve(buffer_.size());
  place.begun.assign(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(context_ + filled_));
  place.filled = filled_;
  place.sample_count = sample_count_;
  place.window_count = window_count_;
}

void WindowFramer::go_back(const Place& place) {
  TANDEM_CHECK(place.begun.size() == context_ + place.filled && place.begun.size() <= buffer_.size(),
               concat("a place of ", place.begun.size(), " samples for a frame of ", buffer_.size()));
  std::copy(place.begun.begin(), place.begun.end(), buffer_.begin());
  filled_ = place.filled;
  sample_count_ = place.sample_count;
  window_count_ = place.window_count;
}

void WindowFramer::reset(int64_t first_sample) {
  std::fill(buffer_.begin(), buffer_.end(), 0.0f);
  filled_ = 0;
  sample_count_ = first_sample;
  window_count_ = 0;
}

}  // namespace tandem
