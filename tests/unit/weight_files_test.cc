#include "native/weight_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/onnx_writer.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// A folder for one test; restores the current folder and the environment at the end.
class WeightFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("tandem_weights_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    folder_ = fs::canonical(folder_);
    if (const char* value = std::getenv("TANDEM_WEIGHTS_DIR")) saved_ = value;
    unsetenv("TANDEM_WEIGHTS_DIR");
    current_ = fs::current_path();
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(current_);
    fs::remove_all(folder_);
    if (!saved_.empty()) setenv("TANDEM_WEIGHTS_DIR", saved_.c_str(), 1);
  }
  std::string make(const std::string& name, const std::string& contents = "x") {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << contents;
    return path.string();
  }

  fs::path folder_, current_;
  std::string saved_;
};

TEST_F(WeightFiles, AreLookedForInOrder) {
  const std::string in_modules = make("node_modules/@ricky0123/vad-web/dist/only_here.onnx");
  EXPECT_EQ(*find_weight_file("only_here.onnx"), in_modules);
  const std::string in_folder = make("weights/only_here.onnx");
  setenv("TANDEM_WEIGHTS_DIR", (folder_ / "weights").c_str(), 1);
  EXPECT_EQ(*find_weight_file("only_here.onnx"), in_folder);
  const std::string given = make("given.onnx");
  EXPECT_EQ(*find_weight_file("only_here.onnx", given), given);
  EXPECT_EQ(*find_weight_file("only_here.onnx", (folder_ / "weights").string()), in_folder);
}

TEST_F(WeightFiles, MissingOnesListAllPlaces) {
  setenv("TANDEM_WEIGHTS_DIR", "/nowhere", 1);
  const auto missing = find_weight_file("absent.onnx");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  const std::string& text = missing.error().message;
  const size_t first = text.find("\n  /nowhere/absent.onnx\n");
  const size_t second = text.find((folder_ / "node_modules/@ricky0123/vad-web/dist/absent.onnx").string());
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(second, std::string::npos) << text;
  EXPECT_LT(first, second);
  EXPECT_NE(text.find("npm install @ricky0123/vad-web"), std::string::npos);
  EXPECT_GE(weight_file_places("absent.onnx").size(), 3u);
  EXPECT_EQ(find_weight_file("absent.onnx", "/nowhere/else.onnx").error().message,
            "the weights /nowhere/else.onnx do not exist");
}

TEST_F(WeightFiles, NamesOfSilero) {
  EXPECT_EQ(*silero_weight_file_name("v5"), "silero_vad_v5.onnx");
  EXPECT_EQ(*silero_weight_file_name("v6"), "silero_vad_v6.onnx");
  EXPECT_EQ(silero_weight_file_name("v4").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(WeightFiles, AreConverted) {
  using namespace testing;  // NOLINT
  const std::string from = make("m.onnx", onnx_model(onnx_graph({}, {onnx_tensor("w", 1, {2}, raw_bytes<float>({1, 2})),
                                                                     onnx_tensor("t", 8, {1}, "text")})));
  const std::string to = (folder_ / "m.safetensors").string();
  const auto lost = convert_weight_file(from, to);
  ASSERT_TRUE(lost.has_value()) << lost.error().text();
  ASSERT_EQ(lost->size(), 1u);
  EXPECT_EQ((*lost)[0].find("tensor \"t\" is left out: "), 0u);
  const auto file = read_weight_file(to);
  ASSERT_TRUE(file.has_value()) << file.error().text();
  EXPECT_EQ(*file->find("w")->values<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(file->metadata().at("producer_name"), "test");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "a partial file is left";
}

TEST_F(WeightFiles, ConversionErrorsNameTheFile) {
  const auto missing = convert_weight_file("none.onnx", "out.safetensors");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("none.onnx"), std::string::npos);
  const auto empty = convert_weight_file(make("empty.onnx", ""), "out.safetensors");
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidFormat);
  const std::string good = make("m.onnx", testing::onnx_model(testing::onnx_graph({}, {})));
  const auto unwritable = convert_weight_file(good, "/nowhere/out.safetensors");
  EXPECT_EQ(unwritable.error().code, ErrorCode::kRuntime);
  EXPECT_NE(unwritable.error().message.find("cannot write /nowhere/out.safetensors: No such file"), std::string::npos);
  EXPECT_FALSE(fs::exists("out.safetensors"));
  const std::string huge = make("huge.onnx");
  fs::resize_file(huge, uintmax_t{3} << 30);
  const auto too_large = convert_weight_file(huge, "out.safetensors");
  EXPECT_EQ(too_large.error().code, ErrorCode::kMemoryLimit);
  EXPECT_NE(too_large.error().message.find("huge.onnx has 3221225472 bytes, and "), std::string::npos);
}

}  // namespace
}  // namespace tandem
