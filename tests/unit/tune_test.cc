// Tuning: the fastest tile by the backend's clock is planned with and kept, and nothing is lost where it can't be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backends/clang/clang_backend.h"
#include "backends/interpreter/interpreter.h"
#include "core/base/text.h"
#include "core/jit/session.h"
#include "core/tensor/nn.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/timed_backend.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kRows = 40, kWidth = 96, kLayers = 3;

/// Equal layers over x [t, width].
Outputs build(const Trace& trace) {
  Tensor x = trace.tensor("x");
  for (int layer = 0; layer < kLayers; layer++) {
    std::vector<float> weights;
    for (int64_t i = 0; i < kWidth * kWidth; i++)
      weights.push_back(static_cast<float>((i * 37 + layer * 11) % 101 - 50) / 400);
    x = relu(matmul(x, Tensor::constant<float>({kWidth, kWidth}, weights)));
  }
  return Outputs(x);
}

/// A prepared session, or the error.
Result<Session> prepare(const PrepareConfig& config) {
  Session session("layers");
  session.declare_input("x", DType::kF32, {session.declare_variable("t", 1, kRows), kWidth});
  if (auto done = session.prepare({}, build, config); !done) return tl::unexpected<JitError>(done.error());
  return session;
}

Session prepared(const PrepareConfig& config) {
  auto session = prepare(config);
  if (!session) throw std::runtime_error(session.error().text());
  return std::move(*session);
}

std::string kernels_of(const Session& session) {
  std::string names;
  for (const KernelCall& call : session.plan()->program().step_calls)
    names += session.plan()->program().kernels[call.kernel].name + " ";
  return names;
}

std::vector<float> run(Session& session) {
  Buffer x = *session.input(0);
  auto* values = reinterpret_cast<float*>(x.data());
  for (int64_t i = 0; i < kRows * kWidth; i++) values[i] = static_cast<float>(i % 29 - 14) / 7;
  EXPECT_TRUE(session.execute_with_vars({{"t", 37}}));
  const auto* y = reinterpret_cast<const float*>(session.output(0)->data());
  return {y, y + 37 * kWidth};
}

class Tune : public ::testing::Test {
 protected:
  /// The native backend with a cache of this test alone.
  std::shared_ptr<Backend> native() const {
    ClangBackendOptions options = ClangBackendOptions::from_environment();
    options.cache_folder = folder_.path();
    options.threads = 1;
    return make_clang_backend(options);
  }
  /// The same by a clock on which kernels of this tile are fast.
  std::shared_ptr<test::TimedBackend> timed(const std::string& tile) const {
    return std::make_shared<test::TimedBackend>(native(), [tile](const std::string& kernel) {
      return kernel.find("_tile_" + tile) == std::string::npos ? 2e-3 : 1e-3;
    });
  }
  /// `tune` on, and the stage's text in `text_`.
  PrepareConfig on(std::shared_ptr<Backend> backend, Numerics numerics = Numerics::kFast) {
    PrepareConfig config;
    config.backend = std::move(backend);
    config.numerics = numerics;
    config.isa = "sse";  // Every machine has it.
    config.tune = true;
    config.debug.observer = [this](Stage stage, const std::string& text) {
      if (stage == Stage::kTuning) text_ = text;
    };
    return config;
  }
  /// Tiles that the text of the stage names.
  std::vector<std::string> candidates() const {
    std::vector<std::string> tiles;
    std::istringstream lines(text_);
    for (std::string line; std::getline(lines, line);)
      if (line.rfind("  ", 0) == 0) tiles.push_back(line.substr(2, line.find(' ', 2) - 2));
    return tiles;
  }

  const testing::TemporaryFolder folder_{"tune"};
  std::string text_;
};

TEST_F(Tune, TheFastestTileIsPlannedWithAndKept) {
  PrepareConfig plain = on(native());
  plain.tune = false;
  const std::string heuristic = kernels_of(prepared(plain));
  EXPECT_EQ(text_, "");
  // By a clock that stands still nothing is faster than the heuristic's; this shows which tiles there are.
  {
    PrepareConfig look = on(std::make_shared<test::TimedBackend>(native(), [](const std::string&) { return 1e-3; }));
    EXPECT_EQ(kernels_of(prepared(look)), heuristic);
    fs::remove_all(folder_.path());
  }
  const std::vector<std::string> tiles = candidates();
  ASSERT_GT(tiles.size(), 3u);
  EXPECT_THAT(text_, AllOf(HasSubstr(concat("  ", tiles[0], " 1000 us, the heuristic's, taken")),
                           HasSubstr("1 contractions matter, 0 have tiles from before, 1 were measured")));
  const std::string& wanted = tiles.back();
  ASSERT_THAT(heuristic, Not(HasSubstr("_tile_" + wanted)));

  Session first = prepared(on(timed(wanted)));
  EXPECT_THAT(kernels_of(first), HasSubstr("_tile_" + wanted));
  EXPECT_THAT(kernels_of(first), Not(HasSubstr("_tile_" + tiles[0])));
  EXPECT_EQ(first.plan()->statistics().tune.measured, 1) << "equal layers are one contraction";
  EXPECT_EQ(first.plan()->program().kernels.size(), prepared(plain).plan()->program().kernels.size());
  EXPECT_THAT(text_, HasSubstr(concat("  ", wanted, " 1000 us, taken")));

  // Another process on this machine, whose clock would choose otherwise.
  Session second = prepared(on(timed(tiles[1])));
  EXPECT_EQ(kernels_of(second), kernels_of(first));
  EXPECT_EQ(second.plan()->statistics().tune.measured, 0);
  EXPECT_EQ(second.plan()->statistics().tune.kept, 1);
  EXPECT_THAT(text_, HasSubstr(concat("  ", wanted, " kept from before")));
  // What one numerics found says nothing about the other.
  EXPECT_EQ(prepared(on(timed(tiles[1]), Numerics::kReproducible)).plan()->statistics().tune.measured, 1);
  // Nobody who does not ask for it gets a tile.
  EXPECT_EQ(kernels_of(prepared(plain)), heuristic);
}

TEST_F(Tune, DamagedFilesAreMeasuredAnew) {
  prepared(on(timed("0x0")));
  const std::vector<std::string> tiles = candidates();
  for (const bool truncate : {false, true}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      if (truncate) {
        fs::resize_file(entry.path(), entry.file_size() - 1);
        continue;
      }
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-1, std::ios::end);
      file.put('\x7f');
    }
    const Session again = prepared(on(timed(tiles.back())));
    EXPECT_EQ(again.plan()->statistics().tune.measured, 1);
    EXPECT_THAT(kernels_of(again), HasSubstr("_tile_" + tiles.back()));
  }
}

TEST_F(Tune, WithoutAFolderABackendKeepsWhatItMeasured) {
  ClangBackendOptions options = ClangBackendOptions::from_environment();
  options.cache_folder = "";
  options.threads = 1;
  const std::shared_ptr<Backend> backend = make_clang_backend(options);
  EXPECT_EQ(prepared(on(backend)).plan()->statistics().tune.measured, 1);
  const Session again = prepared(on(backend));
  EXPECT_EQ(again.plan()->statistics().tune.measured, 0);
  EXPECT_EQ(again.plan()->statistics().tune.kept, 1);
}

TEST_F(Tune, ReproducibleBitsAreThoseOfEveryTile) {
  PrepareConfig plain = on(native(), Numerics::kReproducible);
  plain.tune = false;
  Session heuristic = prepared(plain);
  const std::vector<float> expected = run(heuristic);
  prepared(on(timed("0x0"), Numerics::kReproducible));
  const std::vector<std::string> tiles = candidates();
  ASSERT_GT(tiles.size(), 3u);
  for (size_t i = 1; i < tiles.size(); i++) {
    fs::remove_all(folder_.path());
    Session tuned = prepared(on(timed(tiles[i]), Numerics::kReproducible));
    ASSERT_THAT(kernels_of(tuned), HasSubstr("_tile_" + tiles[i]));
    EXPECT_EQ(run(tuned), expected) << tiles[i];
  }
}

TEST_F(Tune, WhatCannotBeMeasuredKeepsTheHeuristicsTiles) {
  PrepareConfig plain = on(native());
  plain.tune = false;
  const std::string heuristic = kernels_of(prepared(plain));
  // No compiler for the candidates; no memory to run them in.
  const auto no_compiler = timed("1x4");
  no_compiler->failing_compilation = 1;
  EXPECT_EQ(kernels_of(prepared(on(no_compiler))), heuristic);
  EXPECT_THAT(text_, HasSubstr("could not be measured"));
  const auto no_memory = timed("1x4");
  no_memory->failing_allocation = 1;
  EXPECT_EQ(kernels_of(prepared(on(no_memory))), heuristic);
  // A machine whose runs take no time of their own.
  PrepareConfig interpreted = on(std::make_shared<InterpreterBackend>());
  interpreted.isa = "";
  EXPECT_EQ(prepared(interpreted).plan()->statistics().tune.measured, 0);
  EXPECT_THAT(text_, HasSubstr("interpreter"));
}

TEST_F(Tune, APlanThatCannotBeHadWithItsTilesHasTheHeuristics) {
  PrepareConfig plain = on(native());
  plain.tune = false;
  const std::string heuristic = kernels_of(prepared(plain));
  prepared(on(timed("0x0")));
  const std::string wanted = candidates().back();
  for (const bool compiling : {false, true}) {
    fs::remove_all(folder_.path());
    const auto backend = timed(wanted);
    (compiling ? backend->failing_compilation : backend->failing_allocation) = 2;
    EXPECT_EQ(kernels_of(prepared(on(backend))), heuristic);
    EXPECT_THAT(text_, HasSubstr(concat("  ", wanted, " 1000 us, taken")));
  }
}

}  // namespace
}  // namespace tandem
