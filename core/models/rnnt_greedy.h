#pragma once

#include <span>
#include <vector>

#include "core/models/ctc.h"
#include "core/models/gigaam_jit.h"

namespace tandem {

/// Greedy RN-T decoding of a batch: at every frame the most probable class, until it is the blank or the frame has its
/// most symbols. The predictor's state is tentative until its label is emitted: a blank leaves it as it was.
class RnntGreedy {
 public:
  /// Compiles predictor and joint for up to `lanes` lanes (1 to 64). kInvalidArgument for other numbers, and the errors
  /// of prepare().
  static Result<RnntGreedy> create(const std::shared_ptr<const GigaAmModel>& model, int64_t lanes,
                                   const PrepareConfig& config);

  /// `projected` f32 [lanes, frames, joint hidden] from GigaAmJit; lane i ends at frame lengths[i]. One sequence per
  /// lane.
  Result<std::vector<TokenSequence>> decode(std::span<const float> projected, int64_t frames,
                                            std::span<const int32_t> lengths);

  GigaAmPredictorJit& predictor() { return predictor_; }
  GigaAmJointJit& joint() { return joint_; }

 private:
  /// Where a lane stands.
  struct Lane {
    int64_t frame = 0, length = 0, symbols = 0;
    bool is_active() const { return frame < length; }
  };
  RnntGreedy(GigaAmPredictorJit predictor, GigaAmJointJit joint, int64_t lanes);

  Result<void> begin();
  Result<void> predict();
  Result<bool> step(std::span<const float> projected, int64_t frames, std::vector<Lane>& lanes,
                    std::vector<TokenSequence>& sequences);
  /// Makes the predictor's tentative state of a lane the one that it goes on from.
  Result<void> commit(size_t lane, int32_t label);

  GigaAmPredictorJit predictor_;
  GigaAmJointJit joint_;
  int64_t lanes_;
};

}  // namespace tandem
