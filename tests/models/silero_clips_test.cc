#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/golden.h"

namespace tandem {
namespace {

TEST(SileroClips, AllAreRebuiltWithTheRightHash) {
  const std::string command =
      "python3 '" + testing::golden_path("silero/rebuild_clips.py") + "' '" TANDEM_BINARY_DIR "/clips'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const nlohmann::json golden = testing::golden_json("silero/clips.json");
  for (const nlohmann::json& clip : golden["clips"]) {
    EXPECT_EQ(testing::silero_clip(clip["id"]).size(), clip["samples"].get<size_t>()) << clip["id"];
  }
}

}  // namespace
}  // namespace tandem
