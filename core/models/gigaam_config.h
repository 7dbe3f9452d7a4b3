#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/weights/weight_file.h"

namespace tandem {

/// Sizes of a log-mel front end. The defaults are those of GigaAM v2.
struct MelConfig {
  int64_t sample_rate = 16000;  ///< Hz
  int64_t features = 64;        ///< Mel bands.
  int64_t n_fft = 400;          ///< Samples of a frame; the window is as long.
  int64_t hop_length = 160;     ///< Samples from one frame to the next.
  bool center = true;           ///< Frames around their sample: n_fft / 2 mirrored samples on both sides.

  /// Bins of the one-sided spectrum.
  int64_t bins() const { return n_fft / 2 + 1; }
  /// Frames of a clip of `samples` samples; 0 when it is too short for one.
  int64_t frames(int64_t samples) const;
  /// Fewest samples that give a frame.
  int64_t fewest_samples() const { return center ? n_fft / 2 + 1 : n_fft; }
};

/// How the two stages before the layers divide the number of frames by 4.
enum class Subsampling : uint8_t {
  kConv1d,  ///< Over time alone (v3).
  kConv2d,  ///< Over time and frequency, then a linear layer (v2).
};
/// The normalisation inside the convolution module.
enum class ConvolutionNorm : uint8_t { kLayerNorm, kBatchNorm };

/// Sizes of a Conformer encoder. The defaults are those of GigaAM v2.
struct ConformerConfig {
  int64_t feat_in = 64;  ///< Mel bands.
  int64_t n_layers = 16;
  int64_t d_model = 768;
  Subsampling subsampling = Subsampling::kConv2d;
  int64_t subs_kernel_size = 3;  ///< Odd.
  int64_t subsampling_factor = 4;
  int64_t ff_expansion_factor = 4;
  int64_t n_heads = 16;
  int64_t pos_emb_max_len = 5000;  ///< Most frames after subsampling, and the base of the rotary angles.
  int64_t conv_kernel_size = 31;   ///< Odd.
  ConvolutionNorm conv_norm = ConvolutionNorm::kBatchNorm;

  int64_t head_size() const { return d_model / n_heads; }
  /// Convolutions of the subsampling.
  int64_t stages() const;
  /// Frames that the encoder gives for `frames` mel frames.
  int64_t encoded_frames(int64_t frames) const;
  /// Most mel frames: those that give `pos_emb_max_len` frames.
  int64_t most_frames() const { return pos_emb_max_len * subsampling_factor; }
};

/// What stands on the encoder.
enum class GigaAmHead : uint8_t { kCtc, kRnnt };

/// Sizes of a head. The blank is the last class.
struct GigaAmHeadConfig {
  GigaAmHead kind = GigaAmHead::kCtc;
  int64_t num_classes = 34;
  int64_t pred_hidden = 320;          ///< RN-T: width of embedding and LSTM.
  int64_t pred_rnn_layers = 1;        ///< RN-T.
  int64_t joint_hidden = 320;         ///< RN-T.
  int64_t max_symbols_per_step = 10;  ///< RN-T: most symbols of one frame.

  int64_t blank() const { return num_classes - 1; }
};

/// A whole model; a part that the configuration does not have is empty.
struct GigaAmConfig {
  MelConfig mel;
  std::optional<ConformerConfig> encoder;
  std::optional<GigaAmHeadConfig> head;
  /// Characters of the classes before the blank, when the configuration lists them.
  std::vector<std::string> vocabulary;
  /// Where it was read, for errors: "model/config.json".
  std::string origin = "the configuration";
};

/// Reads the JSON of a configuration: objects `preprocessor`, `encoder` and `head`, or these inside `cfg` or
/// `model.cfg` as the published models have them, with `sample_rate`, and the vocabulary as `labels` or
/// `decoding.vocabulary`. What is left out, or null, has the default of the original code (v2). Inside the three
/// objects an unknown name is an error; beside them it is ignored, since published files have more there. `origin`
/// names the text in errors. Errors: kInvalidFormat (no JSON, a value of the wrong kind), kUnsupported (an unknown
/// layout, norm, kind of attention, or name of an entry), kInvalidArgument (a size out of its range).
Result<GigaAmConfig> parse_gigaam_config(std::string_view json, const std::string& origin);

/// The configuration in the `config` entry of the file's metadata; kNotFound when there is none.
Result<GigaAmConfig> gigaam_config_of(const WeightFile& file);

}  // namespace tandem
