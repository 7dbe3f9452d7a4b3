#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/audio/finite.h"
#include "core/base/text.h"
#include "core/models/ctc.h"

namespace tandem {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();
constexpr int64_t kWidest = 10000;

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kImpossible ? a : a + std::log1p(std::exp(b - a));
}

/// A chain of numbers that shares its beginning with other chains: the tokens of a prefix, or their frames.
class ChainStore {
 public:
  static constexpr int32_t kEmpty = -1;

  int32_t add(int32_t parent, int32_t value) {
    links_.push_back({parent, value});
    return static_cast<int32_t>(links_.size() - 1);
  }
  /// The one chain of this parent and value.
  int32_t intern(int32_t parent, int32_t value) {
    const auto [place, is_new] = known_.try_emplace({parent, value}, kEmpty);
    if (is_new) place->second = add(parent, value);
    return place->second;
  }
  int32_t parent(int32_t chain) const { return links_[static_cast<size_t>(chain)].parent; }
  int32_t last(int32_t chain) const { return chain == kEmpty ? -1 : links_[static_cast<size_t>(chain)].value; }
  std::vector<int32_t> values(int32_t chain) const {
    std::vector<int32_t> values;
    for (; chain != kEmpty; chain = links_[static_cast<size_t>(chain)].parent)
      values.push_back(links_[static_cast<size_t>(chain)].value);
    std::reverse(values.begin(), values.end());
    return values;
  }

 private:
  struct Link {
    int32_t parent, value;
  };
  std::vector<Link> links_;
  std::map<std::pair<int32_t, int32_t>, int32_t> known_;
};

/// Paths that end alike: their total, and the best single one with the frames of its tokens.
struct Ending {
  double total = kImpossible;
  double best = kImpossible;
  int32_t frames = ChainStore::kEmpty;

  void add(double more, double path, int32_t path_frames) {
    total = log_add(total, more);
    if (path > best) best = path, frames = path_frames;
  }
};

/// A token sequence in the beam.
struct Prefix {
  int32_t tokens = ChainStore::kEmpty;
  Ending blank;  ///< Paths that end in a blank.
  Ending label;  ///< Paths that end in the last token.

  double total() const { return log_add(blank.total, label.total); }
  const Ending& better() const { return blank.best > label.best ? blank : label; }
};

/// A sequence that a frame would add to the beam: one of the beam and a token.
struct Extension {
  size_t prefix = 0;
  int32_t token = 0;
  double total = kImpossible;
};

class BeamSearch {
 public:
  BeamSearch(const CtcLane& lane, size_t width) : lane_(lane), width_(width) {
    beam_.emplace_back();
    beam_[0].blank = {0, 0, ChainStore::kEmpty};
  }

  std::vector<CtcHypothesis> run() {
    for (int64_t frame = 0; frame < lane_.frames(); ++frame) step(frame);
    // keep_best() leaves the beam in order.
    std::vector<CtcHypothesis> results;
    for (const Prefix& prefix : beam_)
      results.push_back({{tokens_.values(prefix.tokens), frames_.values(prefix.better().frames)}, prefix.total()});
    return results;
  }

 private:
  /// What the paths of a prefix weigh that a token may follow: after itself only those that end in a blank.
  Ending before(const Prefix& prefix, int32_t token) const {
    Ending ending = prefix.blank;
    if (token != tokens_.last(prefix.tokens)) ending.add(prefix.label.total, prefix.label.best, prefix.label.frames);
    return ending;
  }

  void step(int64_t frame) {
    const float* row = lane_.log_probs.data() + frame * lane_.classes;
    const auto blank = static_cast<int32_t>(lane_.classes - 1);
    std::vector<Prefix> next(beam_.size());
    std::map<std::pair<int32_t, int32_t>, size_t> children;  // (tokens of the parent, token) to place in the beam
    for (size_t i = 0; i < beam_.size(); ++i) {
      const Prefix& prefix = beam_[i];
      next[i].tokens = prefix.tokens;
      const Ending& best = prefix.better();
      next[i].blank.add(prefix.total() + row[blank], best.best + row[blank], best.frames);
      if (const int32_t token = tokens_.last(prefix.tokens); token >= 0) {
        next[i].label.add(prefix.label.total + row[token], prefix.label.best + row[token], prefix.label.frames);
        children[{tokens_.parent(prefix.tokens), token}] = i;
      }
    }
    std::vector<Extension> extensions;
    for (size_t i = 0; i < beam_.size(); ++i) {
      for (int32_t token = 0; token < blank; ++token) {
        const Ending ending = before(beam_[i], token);
        if (ending.total == kImpossible) continue;
        const auto known = children.find({beam_[i].tokens, token});
        if (known == children.end()) {
          extensions.push_back({i, token, ending.total + row[token]});
        } else {
          next[known->second].label.add(ending.total + row[token], ending.best + row[token],
                                        frames_.add(ending.frames, static_cast<int32_t>(frame)));
        }
      }
    }
    keep_best(std::move(next), std::move(extensions), frame);
  }

  void keep_best(std::vector<Prefix> next, std::vector<Extension> extensions, int64_t frame) {
    // Candidates: first those of the beam, then the extensions; equal ones in this order.
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < next.size(); ++i) order.emplace_back(-next[i].total(), i);
    for (size_t i = 0; i < extensions.size(); ++i) order.emplace_back(-extensions[i].total, next.size() + i);
    const size_t kept = std::min(width_, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end());
    std::vector<Prefix> beam;
    const float* row = lane_.log_probs.data() + frame * lane_.classes;
    for (size_t i = 0; i < kept; ++i) {
      if (order[i].second < next.size()) {
        beam.push_back(next[order[i].second]);
        continue;
      }
      const Extension& extension = extensions[order[i].second - next.size()];
      const Prefix& parent = beam_[extension.prefix];
      const Ending ending = before(parent, extension.token);
      Prefix child;
      child.tokens = tokens_.intern(parent.tokens, extension.token);
      child.label = {extension.total, ending.best + row[extension.token],
                     frames_.add(ending.frames, static_cast<int32_t>(frame))};
      beam.push_back(child);
    }
    beam_ = std::move(beam);
  }

  CtcLane lane_;
  size_t width_;
  std::vector<Prefix> beam_;
  ChainStore tokens_, frames_;
};

}  // namespace

Result<std::vector<CtcHypothesis>> ctc_beam_search(const CtcLane& lane, int64_t beam_width) {
  if (beam_width < 1 || beam_width > kWidest)
    return fail(ErrorCode::kInvalidArgument,
                concat("the beam width is ", beam_width, "; it must be from 1 to ", kWidest));
  if (const auto bad = find_non_finite(lane.log_probs)) {
    const auto classes = static_cast<size_t>(lane.classes);
    return fail(ErrorCode::kNonFinite, concat("the log-probability of class ", *bad % classes, " in frame ",
                                              *bad / classes, " is ", lane.log_probs[*bad]));
  }
  return BeamSearch(lane, static_cast<size_t>(beam_width)).run();
}

}  // namespace tandem
