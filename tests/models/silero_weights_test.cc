#include "core/models/silero_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/weights/onnx.h"
#include "core/weights/safetensors.h"
#include "tests/support/golden.h"

namespace tandem {
namespace {

/// Sum over i of |x_i| * (i mod 7 + 1): sees the order of the elements.
double weighted_sum(const WeightTensor& tensor) {
  double sum = 0;
  const std::vector<float> values = *tensor.values<float>();
  for (size_t i = 0; i < values.size(); ++i) sum += std::fabs(values[i]) * static_cast<double>(i % 7 + 1);
  return sum;
}

WeightFile read_model(const std::string& version) {
  auto file = read_weights(ByteSource::own(testing::file_bytes(testing::silero_onnx_path(version))), version + ".onnx");
  if (!file) throw std::runtime_error(file.error().text());
  return *file;
}

struct Expected {
  const char* version;
  int64_t rate;
  double conv1_weight, lstm_weight_hh, lstm_bias_ih, final_bias, stft_basis;
};

// Computed from the files by a short Python program that follows the protobuf format.
constexpr Expected kExpected[] = {
    {"v5", 16000, 34569.76903699216, 59831.85323936803, 299.13952962565236, -0.19063705205917358, 83621.60218552935},
    {"v5", 8000, 50113.585336046424, 60996.05888153805, 300.5205378289684, -0.4019045829772949, 20989.034619864135},
    {"v6", 16000, 14854.930749744599, 76189.0756433591, 377.47236629760664, -0.6245977282524109, 83621.60218552935},
    {"v6", 8000, 27452.34047160155, 76500.44845343029, 399.75039139101864, -0.5900866985321045, 20989.034619864135},
};

/// All weights under the keys of the safetensors file.
std::vector<WeightTensor> renamed(const SileroWeights& w) {
  std::vector<WeightTensor> tensors{w.stft_basis,     w.conv1_weight, w.conv1_bias,   w.conv2_weight, w.conv2_bias,
                                    w.conv3_weight,   w.conv3_bias,   w.conv4_weight, w.conv4_bias,   w.lstm_weight_ih,
                                    w.lstm_weight_hh, w.lstm_bias_ih, w.lstm_bias_hh, w.final_weight, w.final_bias};
  const char* names[] = {"stft_conv.weight",  "conv1.weight",        "conv1.bias",          "conv2.weight",
                         "conv2.bias",        "conv3.weight",        "conv3.bias",          "conv4.weight",
                         "conv4.bias",        "lstm_cell.weight_ih", "lstm_cell.weight_hh", "lstm_cell.bias_ih",
                         "lstm_cell.bias_hh", "final_conv.weight",   "final_conv.bias"};
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].name = names[i];
  return tensors;
}

void expect_weights(const SileroWeights& weights, const Expected& expected) {
  EXPECT_EQ(weighted_sum(weights.conv1_weight), expected.conv1_weight);
  EXPECT_EQ(weighted_sum(weights.lstm_weight_hh), expected.lstm_weight_hh);
  EXPECT_EQ(weighted_sum(weights.lstm_bias_ih), expected.lstm_bias_ih);
  EXPECT_EQ(weighted_sum(weights.stft_basis), expected.stft_basis);
  EXPECT_EQ(*weights.final_bias.values<float>(), std::vector<float>{static_cast<float>(expected.final_bias)});
  EXPECT_EQ(weights.final_bias.shape, std::vector<int64_t>{1});
  size_t parameters = 0;
  for (const WeightTensor& tensor : renamed(weights)) parameters += tensor.numel();
  EXPECT_EQ(parameters, expected.rate == 16000 ? 309633u : 309633u - 258 * 256 + 130 * 128 - 128 * 64 * 3);
}

TEST(SileroWeights, AreFoundInTheOriginalFiles) {
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(std::string(expected.version) + " " + std::to_string(expected.rate));
    const WeightFile file = read_model(expected.version);
    EXPECT_EQ(file.tensors().size() + file.unreadable().size(), 341u);
    const auto weights = find_silero_weights(file, expected.rate);
    ASSERT_TRUE(weights.has_value()) << weights.error().text();
    expect_weights(*weights, expected);
  }
}

TEST(SileroWeights, AreFoundInSafetensorsFilesOfBothNameSets) {
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(std::string(expected.version) + " " + std::to_string(expected.rate));
    const WeightFile file = read_model(expected.version);
    const auto original = find_silero_weights(file, expected.rate);
    ASSERT_TRUE(original.has_value());
    for (const std::vector<WeightTensor>& tensors : {file.tensors(), renamed(*original)}) {
      const auto bytes = write_safetensors(tensors, file.metadata());
      ASSERT_TRUE(bytes.has_value()) << bytes.error().text();
      const auto converted = read_weights(ByteSource::view(*bytes), "converted.safetensors");
      ASSERT_TRUE(converted.has_value()) << converted.error().text();
      const auto weights = find_silero_weights(*converted, expected.rate);
      ASSERT_TRUE(weights.has_value()) << weights.error().text();
      expect_weights(*weights, expected);
    }
  }
}

TEST(SileroWeights, SayWhatIsMissingOrWrong) {
  const WeightFile file = read_model("v5");
  const SileroWeights original = *find_silero_weights(file, 16000);
  const auto error_with = [&](auto change, int64_t rate = 16000) {
    WeightFile changed("w.safetensors");
    std::vector<WeightTensor> tensors = renamed(original);
    change(tensors);
    for (WeightTensor& tensor : tensors) EXPECT_TRUE(changed.add(tensor).has_value());
    const auto weights = find_silero_weights(changed, rate);
    EXPECT_FALSE(weights.has_value());
    return weights ? JitError{} : weights.error();
  };
  JitError error = error_with([](auto& tensors) { tensors.erase(tensors.begin() + 10); });
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_NE(error.message.find("tensor \"lstm_cell.weight_hh\" is missing"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("the file has 14 tensors: stft_conv.weight, conv1.weight"), std::string::npos);
  error = error_with([](auto& tensors) { tensors[1].shape = {129, 128, 3}; });
  EXPECT_EQ(error.code, ErrorCode::kInvalidFormat);
  EXPECT_NE(error.message.find("\"conv1.weight\" is f32 [129, 128, 3]; Silero VAD at 16000 Hz needs f32 [128, 129, 3]"),
            std::string::npos)
      << error.message;
  error = error_with([](auto& tensors) { tensors[2].dtype = DType::kI32; });
  EXPECT_EQ(error.code, ErrorCode::kDtypeMismatch);
  EXPECT_NE(error.message.find("\"conv1.bias\" is i32 [128]"), std::string::npos) << error.message;
  // The keys say nothing of the rate; the shapes do.
  error = error_with([](auto&) {}, 8000);
  EXPECT_EQ(error.code, ErrorCode::kInvalidFormat);
  EXPECT_NE(error.message.find("needs f32 [130, 1, 128]"), std::string::npos) << error.message;
  const std::vector<float> broken(128, NAN);
  error = error_with([&](auto& tensors) { tensors[2].bytes = std::as_bytes(std::span<const float>(broken)); });
  EXPECT_EQ(error.code, ErrorCode::kNonFinite);
  EXPECT_EQ(find_silero_weights(file, 44100).error().code, ErrorCode::kInvalidArgument);
  error = find_silero_weights(WeightFile("empty"), 8000).error();
  EXPECT_NE(error.message.find("If_0_else_branch__Inline_0__stft.forward_basis_buffer"), std::string::npos)
      << error.message;
}

TEST(SileroWeights, TruncatedOriginalGivesATypedError) {
  const std::vector<std::byte> bytes = testing::file_bytes(testing::silero_onnx_path("v6"));
  const std::span<const std::byte> all(bytes);
  for (size_t length = 0; length < bytes.size(); length += length < 3000 ? 7 : 9973) {
    const auto file = read_onnx(ByteSource::view(all.subspan(0, length)), "cut.onnx");
    ASSERT_FALSE(file.has_value()) << length;
    EXPECT_EQ(file.error().code, ErrorCode::kInvalidFormat);
  }
  for (size_t cut = 1; cut <= 64; ++cut) {
    EXPECT_FALSE(read_onnx(ByteSource::view(all.subspan(0, bytes.size() - cut)), "cut.onnx").has_value()) << cut;
  }
}

TEST(SileroWeights, DamagedOriginalNeverCrashes) {
  const std::vector<std::byte> bytes = testing::file_bytes(testing::silero_onnx_path("v6"));
  // Damage inside the weights themselves changes numbers only; what matters lies between them.
  const auto good = read_onnx(ByteSource::view(bytes), "good.onnx");
  ASSERT_TRUE(good.has_value());
  std::vector<bool> is_weight(bytes.size(), false);
  for (const WeightTensor& tensor : good->tensors()) {
    const std::ptrdiff_t begin = tensor.bytes.data() - bytes.data();
    if (tensor.bytes.size() < 100 || begin < 0 || begin >= static_cast<std::ptrdiff_t>(bytes.size())) continue;
    std::fill_n(is_weight.begin() + begin, tensor.bytes.size(), true);
  }
  std::vector<size_t> structure;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!is_weight[i]) structure.push_back(i);
  }
  ASSERT_LT(structure.size(), 300000u);
  uint64_t state = 1;
  int refused = 0;
  std::vector<std::byte> damaged = bytes;
  for (int i = 0; i < 800; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const size_t place = structure[static_cast<size_t>(state >> 33) % structure.size()];
    damaged[place] ^= static_cast<std::byte>((state >> 20) | 1);
    const auto file = read_onnx(ByteSource::view(damaged), "damaged.onnx");
    if (!file || !find_silero_weights(*file, 16000)) ++refused;
    damaged[place] = bytes[place];
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace tandem
