#include "core/models/rnnt_greedy.h"

#include <algorithm>

#include "core/audio/finite.h"
#include "core/base/text.h"
#include "core/models/largest_weight.h"

namespace tandem {
namespace {

constexpr int64_t kMostLanes = 64;

template <typename T>
void copy_row(std::span<const T> from, int64_t from_row, int64_t from_width, int64_t offset, std::span<T> to,
              int64_t row, int64_t width) {
  const auto begin = from.begin() + from_row * from_width + offset;
  std::copy(begin, begin + width, to.begin() + row * width);
}

}  // namespace

RnntGreedy::RnntGreedy(GigaAmPredictorJit predictor, GigaAmJointJit joint, int64_t lanes)
    : predictor_(std::move(predictor)), joint_(std::move(joint)), lanes_(lanes) {}

Result<RnntGreedy> RnntGreedy::create(const std::shared_ptr<const GigaAmModel>& model, int64_t lanes,
                                      const PrepareConfig& config) {
  if (!model->rnnt)
    return fail(ErrorCode::kInvalidArgument,
                "the model has no RN-T head; decode its log-probabilities with ctc_greedy or ctc_beam_search");
  if (lanes < 1 || lanes > kMostLanes)
    return fail(ErrorCode::kInvalidArgument,
                concat("the number of lanes is ", lanes, "; it must be from 1 to ", kMostLanes));
  GigaAmPredictorJit predictor(model);
  predictor.with_n_fixed(lanes);
  if (auto prepared = predictor.prepare_with_config(config); !prepared)
    return tl::unexpected<JitError>(prepared.error());
  GigaAmJointJit joint(model);
  joint.with_n_fixed(lanes);
  if (auto prepared = joint.prepare_with_config(config); !prepared) return tl::unexpected<JitError>(prepared.error());
  return RnntGreedy(std::move(predictor), std::move(joint), lanes);
}

Result<void> RnntGreedy::begin() {
  TANDEM_TRY(labels, predictor_.labels_view<int32_t>());
  TANDEM_TRY(h, predictor_.h_view<float>());
  TANDEM_TRY(c, predictor_.c_view<float>());
  std::fill(labels.begin(), labels.end(), kNoLabel);
  std::fill(h.begin(), h.end(), 0.0f);
  std::fill(c.begin(), c.end(), 0.0f);
  return predict();
}

Result<void> RnntGreedy::predict() {
  if (auto done = predictor_.execute(); !done) return done;
  TANDEM_TRY(output, predictor_.output());
  TANDEM_TRY(all, output.span<float>());
  TANDEM_TRY(predicted, joint_.predicted_view<float>());
  const RnntHead& head = *predictor_.model().rnnt;
  const int64_t width = head.config().pred_hidden + 2 * head.state_size();
  for (int64_t lane = 0; lane < lanes_; ++lane)
    copy_row(all, lane, width, 0, predicted, lane, head.config().pred_hidden);
  return {};
}

Result<void> RnntGreedy::commit(size_t lane, int32_t label) {
  TANDEM_TRY(output, predictor_.output());
  TANDEM_TRY(all, output.span<float>());
  TANDEM_TRY(labels, predictor_.labels_view<int32_t>());
  TANDEM_TRY(h, predictor_.h_view<float>());
  TANDEM_TRY(c, predictor_.c_view<float>());
  const RnntHead& head = *predictor_.model().rnnt;
  const int64_t size = head.state_size(), width = head.config().pred_hidden + 2 * size;
  const auto row = static_cast<int64_t>(lane);
  copy_row(all, row, width, head.config().pred_hidden, h, row, size);
  copy_row(all, row, width, head.config().pred_hidden + size, c, row, size);
  labels[lane] = label;
  return {};
}

Result<bool> RnntGreedy::step(std::span<const float> projected, int64_t frames, std::vector<Lane>& lanes,
                              std::vector<TokenSequence>& sequences) {
  const GigaAmHeadConfig& config = predictor_.model().rnnt->config();
  TANDEM_TRY(rows, joint_.projected_view<float>());
  for (size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i].is_active())
      copy_row(projected, static_cast<int64_t>(i) * frames + lanes[i].frame, config.joint_hidden, 0, rows,
               static_cast<int64_t>(i), config.joint_hidden);
  if (auto done = joint_.execute(); !done) return tl::unexpected<JitError>(done.error());
  TANDEM_TRY(output, joint_.output());
  TANDEM_TRY(log_probs, output.span<float>());
  bool emitted = false;
  for (size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = lanes[i];
    if (!lane.is_active()) continue;
    const auto classes = static_cast<size_t>(config.num_classes);
    const std::span<const float> row = log_probs.subspan(i * classes, classes);
    if (const auto bad = find_non_finite(row))
      return fail(ErrorCode::kNonFinite,
                  concat("the joint network gives ", row[*bad], " for class ", *bad, " in frame ", lane.frame,
                         " of lane ", i, ": the projected frames reach ", largest_magnitude(projected), ", and ",
                         largest_weight_text(predictor_.model().weights.tensors())));
    const auto best = static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
    if (best != config.blank()) {
      sequences[i].tokens.push_back(best);
      sequences[i].frames.push_back(static_cast<int32_t>(lane.frame));
      if (auto done = commit(i, best); !done) return tl::unexpected<JitError>(done.error());
      emitted = true;
      ++lane.symbols;
    }
    if (best == config.blank() || lane.symbols == config.max_symbols_per_step) {
      ++lane.frame;
      lane.symbols = 0;
    }
  }
  return emitted;
}

Result<std::vector<TokenSequence>> RnntGreedy::decode(std::span<const float> projected, int64_t frames,
                                                      std::span<const int32_t> lengths) {
  const int64_t width = predictor_.model().rnnt->config().joint_hidden;
  const auto count = static_cast<int64_t>(lengths.size());
  if (count > lanes_)
    return fail(ErrorCode::kInvalidArgument, concat(count, " lanes were given; this decoder is prepared for ", lanes_));
  if (frames < 0 || static_cast<int64_t>(projected.size()) != count * frames * width)
    return fail(ErrorCode::kInvalidArgument,
                concat("the projection has ", projected.size(), " elements; ", count, " lanes of ", frames,
                       " frames and ", width, " numbers need ", count * frames * width));
  std::vector<Lane> lanes(lengths.size());
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > frames)
      return fail(ErrorCode::kInvalidArgument,
                  concat("the length of lane ", i, " is ", lengths[i], "; it must be from 0 to ", frames));
    lanes[i].length = lengths[i];
  }
  std::vector<TokenSequence> sequences(lanes.size());
  if (auto done = begin(); !done) return tl::unexpected<JitError>(done.error());
  while (std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) { return lane.is_active(); })) {
    TANDEM_TRY(emitted, step(projected, frames, lanes, sequences));
    if (!emitted) continue;
    if (auto done = predict(); !done) return tl::unexpected<JitError>(done.error());
  }
  return sequences;
}

}  // namespace tandem
