// Long lives: a thousand prepares give everything back, and a stream of hours allocates nothing.

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

#include "core/models/silero_vad.h"
#include "native/native_backends.h"
#include "tests/support/silero_stepper.h"

namespace {
/// Allocations by operator new since the program began.
size_t allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  allocations++;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tandem {
namespace {

/// Resident memory of the process in KiB, without what malloc keeps for later.
int64_t resident_kilobytes() {
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == "VmRSS:") {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes;
    }
  return -1;
}

size_t mapped_regions() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count++;
  return count;
}

class Soak : public ::testing::Test {
 protected:
  void SetUp() override {
    register_native_backends();
    // A cache of its own: the first prepare compiles, all others load.
    folder_ = std::filesystem::temp_directory_path() / ("tandem_soak_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    ::setenv("TANDEM_CACHE_DIR", folder_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(Soak, AThousandPreparesGiveEverythingBack) {
  const SileroWeights weights = tandem::testing::silero_weights("v5", 16000);
  const std::vector<float> window(512, 0.1f);
  const auto cycle = [&] {
    auto vad = SileroVad::create(weights);
    ASSERT_TRUE(vad) << vad.error().text();
    ASSERT_TRUE(vad->step(window));
  };
  for (int i = 0; i < 50; i++) cycle();
  const int64_t memory = resident_kilobytes();
  const size_t regions = mapped_regions();
  for (int i = 0; i < 950; i++) cycle();
  EXPECT_LT(resident_kilobytes() - memory, 4096) << "KiB more than after 50 cycles";
  EXPECT_LE(mapped_regions(), regions + 8);
}

TEST_F(Soak, AStreamAllocatesNothing) {
  auto vad = SileroVad::create(tandem::testing::silero_weights("v5", 16000));
  ASSERT_TRUE(vad) << vad.error().text();
  std::vector<float> piece(1601);
  for (size_t i = 0; i < piece.size(); i++)
    piece[i] = 0.2f * static_cast<float>(static_cast<int>(i * 7919 % 201) - 100) / 100;
  float last = 0;
  const auto keep = [&](float probability) { last = probability; };
  ASSERT_TRUE(vad->push(piece, keep));
  const size_t before = allocations;
  bool all = true;
  for (int i = 0; i < 20000; i++) all = all && vad->push(piece, keep).has_value();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(all);
  EXPECT_EQ(vad->sample_count(), int64_t{1601} * 20001);
  EXPECT_TRUE(last >= 0 && last <= 1) << last;
}

}  // namespace
}  // namespace tandem
