// The weights of large models: one file or several with an index, mapped, in every float dtype, with and without the
// prefix of the wrapper.

#include "native/model_weights.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/graph/constant.h"
#include "core/models/gigaam_weights.h"
#include "native/seeded_weights.h"
#include "native/weight_files.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig =
    R"({"encoder": {"n_layers": 1, "d_model": 8, "n_heads": 2, "subsampling": "conv1d", "subs_kernel_size": 5,
        "conv_norm_type": "layer_norm", "conv_kernel_size": 5}, "head": {"type": "ctc", "num_classes": 5}})";

class ModelWeights : public ::testing::Test {
 protected:
  void SetUp() override {
    auto config = parse_gigaam_config(kConfig, "test");
    ASSERT_TRUE(config) << config.error().text();
    config_ = *config;
    auto generated = seeded_gigaam_weights(config_, 5);
    ASSERT_TRUE(generated) << generated.error().text();
    weights_ = *generated;
  }

  std::string path(const std::string& name) const { return folder_.path(name); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

  /// Tensor i in dtype i mod 4, all as real models have them, with the prefix where i is odd.
  std::vector<WeightTensor> mixed() {
    constexpr DType kDTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
    std::vector<WeightTensor> tensors;
    for (const WeightTensor& tensor : weights_.tensors()) {
      const size_t i = tensors.size();
      std::vector<std::byte>& bytes = bytes_.emplace_back();
      for (size_t k = 0; k < tensor.numel(); k++)
        append_element(bytes, kDTypes[i % 4], constant_element(DType::kF32, tensor.bytes.data(), k));
      WeightTensor copy = tensor;
      if (i % 2 == 1) copy.name = "model." + copy.name;
      copy.dtype = kDTypes[i % 4];
      tensors.push_back(copy);
    }
    for (size_t i = 0; i < tensors.size(); i++) tensors[i].bytes = bytes_[i];
    return tensors;
  }

  /// Writes two files and their index.
  void write_shards(const std::vector<WeightTensor>& tensors) {
    std::string map;
    for (int shard = 0; shard < 2; shard++) {
      std::vector<WeightTensor> part;
      const std::string file = "part-" + std::to_string(shard) + ".safetensors";
      for (size_t i = static_cast<size_t>(shard); i < tensors.size(); i += 2) {
        part.push_back(tensors[i]);
        map += (map.empty() ? "\"" : ", \"") + tensors[i].name + "\": \"" + file + "\"";
      }
      ASSERT_TRUE(write_safetensors_file(path(file), part));
    }
    write("model.safetensors.index.json", "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {" + map + "}}");
  }

  void expect_refused(const std::string& name, ErrorCode code, const std::string& words) const {
    const auto file = read_model_weights(path(name));
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code, code);
    EXPECT_NE(file.error().message.find(words), std::string::npos) << file.error().message;
  }

  const testing::TemporaryFolder folder_{"weights"};
  GigaAmConfig config_;
  WeightFile weights_;
  std::vector<std::vector<std::byte>> bytes_;
};

TEST_F(ModelWeights, AreFoundInSeveralFilesOfAllDTypesWithAndWithoutPrefix) {
  const std::vector<WeightTensor> tensors = mixed();
  write_shards(tensors);
  for (const char* name : {"", "model.safetensors.index.json"}) {
    const auto file = read_model_weights(path(name));
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(file->tensors().size(), tensors.size());
    EXPECT_TRUE(check_gigaam_weights(*file, config_).fits());
    const auto found = GigaAmWeights::find(*file, config_);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->tensors().size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); i++) {
      const WeightTensor& tensor = found->tensors()[i];
      EXPECT_EQ(tensor.name, tensors[i].name);
      EXPECT_EQ(tensor.dtype, tensors[i].dtype);
      EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), tensors[i].bytes.begin())) << tensor.name;
      EXPECT_EQ((*found)(weights_.tensors()[i].name).dtype(), DType::kF32);
    }
  }
}

TEST_F(ModelWeights, OfAFolderAreItsOneFile) {
  ASSERT_TRUE(write_safetensors_file(path("model.safetensors"), weights_.tensors(), {{"config", kConfig}}));
  const auto file = read_model_weights(folder_.path());
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->tensors().size(), weights_.tensors().size());
  EXPECT_TRUE(gigaam_config_of(*file));
}

TEST_F(ModelWeights, CanBeReadAgainAfterTheirPagesWereGivenBack) {
  ASSERT_TRUE(write_safetensors_file(path("model.safetensors"), weights_.tensors()));
  const auto file = read_model_weights(path("model.safetensors"));
  ASSERT_TRUE(file) << file.error().text();
  for (const WeightTensor& tensor : file->tensors()) {
    const auto give_back = file->release_of(tensor.bytes);
    ASSERT_TRUE(give_back);
    give_back();
    const auto expected = weights_.find(tensor.name)->bytes;
    EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), expected.begin())) << tensor.name;
  }
  // What comes from a vector has nothing to give.
  WeightTensor tensor = weights_.tensors().front();
  WeightFile copied("copied");
  ASSERT_TRUE(copied.add(tensor));
  EXPECT_FALSE(copied.release_of(tensor.bytes));
}

TEST_F(ModelWeights, OutliveTheFileThatNamedThem) {
  ASSERT_TRUE(write_safetensors_file(path("model.safetensors"), weights_.tensors()));
  std::optional<GigaAmWeights> found;
  {
    const auto file = read_model_weights(path("model.safetensors"));
    ASSERT_TRUE(file);
    found = *GigaAmWeights::find(*file, config_);
  }
  fs::remove(path("model.safetensors"));
  for (const WeightTensor& tensor : found->tensors()) {
    const auto expected = weights_.find(tensor.name)->bytes;
    EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), expected.begin())) << tensor.name;
  }
}

TEST_F(ModelWeights, DamagedIndexesSayWhatIsWrong) {
  expect_refused("", ErrorCode::kNotFound, "has neither model.safetensors.index.json nor model.safetensors");
  expect_refused("missing.safetensors", ErrorCode::kNotFound, "missing.safetensors");
  write("a.json", "{\"weight_map\": {}}");
  expect_refused("a.json", ErrorCode::kInvalidFormat, "has no \"weight_map\"");
  write("b.json", R"({"weight_map": {"x": "../b.safetensors"}})");
  expect_refused("b.json", ErrorCode::kInvalidFormat, "is not one beside the index");
  write("b.json", R"({"weight_map": {"x": ".."}})");
  expect_refused("b.json", ErrorCode::kInvalidFormat, "is not one beside the index");
  write("c.json", R"({"weight_map": {"x": 3}})");
  expect_refused("c.json", ErrorCode::kInvalidFormat, "the file of \"x\" is 3");
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  write("deep.json", R"({"weight_map": {"x": )" + deep + "}}");
  expect_refused("deep.json", ErrorCode::kInvalidFormat, "deep.json cannot be read as JSON: it is nested deeper");
  write("d.json", R"({"weight_map": {"x": "gone.safetensors"}})");
  expect_refused("d.json", ErrorCode::kNotFound, "gone.safetensors");
  ASSERT_TRUE(write_safetensors_file(path("one.safetensors"), weights_.tensors()));
  ASSERT_TRUE(write_safetensors_file(path("two.safetensors"), weights_.tensors()));
  write("e.json", R"({"weight_map": {"x": "one.safetensors", "y": "two.safetensors"}})");
  expect_refused("e.json", ErrorCode::kInvalidFormat, "two tensors have the name");
  write("empty.safetensors", "");
  expect_refused("empty.safetensors", ErrorCode::kInvalidFormat, "it is empty or no regular file");
}

}  // namespace
}  // namespace tandem
