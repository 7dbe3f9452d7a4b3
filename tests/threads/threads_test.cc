// Different and equal wrappers, prepared and executed by eight threads at once: one backend, one cache folder, one
// compiler, replicas of one plan. A program of its own, since the compiler must not be loaded when it starts. It runs
// with the unit tests, and under the thread sanitizer without a report.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <latch>
#include <stdexcept>
#include <thread>

#include "backends/clang/clang_backend.h"
#include "backends/clang/compiler_loader.h"
#include "backends/interpreter/interpreter.h"
#include "core/backend/registry.h"
#include "core/jit/wrapper.h"
#include "core/tensor/nn.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr int kThreads = 8;

/// What <tandem/tandem.h> would do, without the tool's libraries: the sanitizer builds the engine alone.
void register_backends() {
  register_backend("native", [](const BackendRequest& request) {
    ClangBackendOptions options = ClangBackendOptions::from_environment();
    options.threads = request.threads;
    return Result<std::shared_ptr<Backend>>(make_clang_backend(options));
  });
  register_backend("interpreter", [](const BackendRequest&) {
    return Result<std::shared_ptr<Backend>>(std::make_shared<InterpreterBackend>());
  });
}

/// Whole numbers everywhere, so that every order of adding gives the same bits.
struct LayerModel {
  int64_t longest = 5;
  int64_t inner = 8;
  int64_t columns = 6;
  int bias = 0;
  bool broken = false;

  std::vector<float> weights() const {
    std::vector<float> out;
    for (int64_t k = 0; k < inner; k++)
      for (int64_t n = 0; n < columns; n++) out.push_back(static_cast<float>((7 * k + 3 * n) % 5 - 2));
    return out;
  }
  static float input(int64_t row, int64_t k, int salt) { return static_cast<float>((row + 2 * k + salt) % 7 - 3); }
};

/// [t, inner] times [inner, columns], plus the bias and t.
struct Layer : Wrapper<Layer, LayerModel> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, model.longest)
  TANDEM_INPUT(x, f32, t, this->model_->inner)
  TANDEM_BUILD(x, t) {
    if (model.broken) throw std::runtime_error("no weights today");
    const Tensor weights = Tensor::constant({model.inner, model.columns}, model.weights(), "weights");
    return matmul(x, weights) + model.bias + size_tensor(t, DType::kF32);
  }
};

/// A running sum that stays in the plan.
struct Total : Wrapper<Total, LayerModel> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x, f32, 3)
  TANDEM_STATE(total, f32, 3)
  TANDEM_OUTPUT(sum, f32)
  TANDEM_BUILD(x, total) {
    const Tensor sum = total + x;
    return {as_sum(sum), as_total(sum)};
  }
};

PrepareConfig on(const char* backend, Numerics numerics = Numerics::kFast, int threads = 0) {
  PrepareConfig config;
  config.backend_name = backend;
  config.numerics = numerics;
  config.threads = threads;
  return config;
}

/// Executes `t` rows and compares with plain loops.
void expect_layer(Layer& layer, int64_t t, int salt) {
  const LayerModel& model = layer.model();
  std::vector<float> x;
  for (int64_t row = 0; row < t; row++)
    for (int64_t k = 0; k < model.inner; k++) x.push_back(LayerModel::input(row, k, salt));
  auto written = layer.x_mut()->copy_from(x, {t, model.inner});
  ASSERT_TRUE(written) << written.error().text();
  auto done = layer.execute_with_vars({{"t", t}});
  ASSERT_TRUE(done) << done.error().text();
  const std::vector<float> weights = model.weights();
  std::vector<float> expected;
  for (int64_t row = 0; row < t; row++)
    for (int64_t n = 0; n < model.columns; n++) {
      double sum = model.bias + static_cast<double>(t);
      for (int64_t k = 0; k < model.inner; k++)
        sum +=
            double{x[static_cast<size_t>(row * model.inner + k)]} * weights[static_cast<size_t>(k * model.columns + n)];
      expected.push_back(static_cast<float>(sum));
    }
  EXPECT_EQ(*layer.output()->to_vector<float>(), expected);
}

void prepare_and_expect(const LayerModel& model, const PrepareConfig& config, int salt) {
  Layer layer(model);
  auto prepared = layer.prepare_with_config(config);
  ASSERT_TRUE(prepared) << prepared.error().text();
  for (int64_t t = 1; t <= model.longest; t++) expect_layer(layer, t, salt);
}

/// Runs `work(0)` to `work(7)`, all of them from the same moment on.
void in_parallel(const std::function<void(int thread)>& work) {
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  for (std::thread& thread : threads) thread.join();
}

/// Each test has a cache of its own, empty at first.
class Threads : public ::testing::Test {
 protected:
  Threads() {
    ::setenv("TANDEM_CACHE_DIR", folder_.path().c_str(), 1);
    ::unsetenv("TANDEM_CACHE");
    ::unsetenv("TANDEM_CACHE_MAX_BYTES");
    register_backends();
  }

  const testing::TemporaryFolder folder_{"threads"};
};

// Stays the first test of the file: the compiler is loaded once per process.
TEST_F(Threads, TheFirstOfThemLoadsTheCompiler) {
  ASSERT_FALSE(compiler_loaded());
  in_parallel([](int thread) {
    LayerModel model;
    model.columns = 3 + thread;
    prepare_and_expect(model, on("native"), thread);
  });
  EXPECT_TRUE(compiler_loaded());
}

TEST_F(Threads, EqualWrappersShareTheCache) {
  // Two backends at a time, for one and for two threads, in one folder.
  in_parallel([](int thread) { prepare_and_expect({}, on("native", Numerics::kFast, 1 + thread % 2), thread); });
  in_parallel([](int thread) {
    Layer layer(LayerModel{});
    auto prepared = layer.prepare_with_config(on("native", Numerics::kFast, 1 + thread % 2));
    ASSERT_TRUE(prepared) << prepared.error().text();
    EXPECT_EQ(layer.session().plan()->statistics().compile.compiled_units, 0);
    expect_layer(layer, 5, thread);
  });
}

TEST_F(Threads, WrappersComeAndGoOnAllBackends) {
  in_parallel([](int thread) {
    for (int round = 0; round < 6; round++) {
      LayerModel model;
      model.columns = 1 + (thread + round) % 4;
      model.bias = round % 3;
      const Numerics numerics = round % 2 == 0 ? Numerics::kFast : Numerics::kReproducible;
      prepare_and_expect(model, on((thread + round) % 3 == 0 ? "interpreter" : "native", numerics), thread + round);
    }
  });
}

TEST_F(Threads, ACacheThatIsFullIsTrimmedUnderReaders) {
  ::setenv("TANDEM_CACHE_MAX_BYTES", "20000", 1);
  in_parallel([](int thread) {
    for (int round = 0; round < 6; round++) {
      LayerModel model;
      model.columns = 1 + (thread + round) % 8;
      prepare_and_expect(model, on("native"), round);
    }
  });
  uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
    if (entry.is_regular_file()) bytes += entry.file_size();
  EXPECT_LE(bytes, 20000u);
}

TEST_F(Threads, AFailureStaysWithItsThread) {
  in_parallel([](int thread) {
    LayerModel model;
    model.broken = thread % 2 == 0;
    Layer layer(model);
    auto prepared = layer.prepare_with_config(on(thread % 4 < 2 ? "native" : "interpreter"));
    EXPECT_EQ(prepared.has_value(), !model.broken);
    if (prepared) return expect_layer(layer, 4, thread);
    EXPECT_EQ(prepared.error().code, ErrorCode::kBuild);
    EXPECT_EQ(prepared.error().inner->message, "no weights today");
  });
}

class ThreadsOfBackend : public Threads, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, ThreadsOfBackend, ::testing::Values("native", "interpreter"));

TEST_P(ThreadsOfBackend, ReplicasRunSideBySide) {
  std::vector<Layer> layers;
  std::vector<Total> totals;
  {
    Layer layer(LayerModel{});
    Total total(LayerModel{});
    ASSERT_TRUE(layer.prepare_with_config(on(GetParam())));
    ASSERT_TRUE(total.prepare_with_config(on(GetParam())));
    for (int i = 0; i < kThreads; i++) {
      layers.push_back(layer.replicate().value());
      totals.push_back(total.replicate().value());
    }
  }  // The plans that they come from are gone.
  in_parallel([&](int thread) {
    Layer layer = std::move(layers[static_cast<size_t>(thread)]);
    Total total = std::move(totals[static_cast<size_t>(thread)]);
    for (int step = 1; step <= 50; step++) {
      expect_layer(layer, 1 + step % 5, thread + step);
      ASSERT_TRUE(total.x_mut()->copy_from(std::vector<float>{1, 2, static_cast<float>(thread)}));
      ASSERT_TRUE(total.execute());
    }
    EXPECT_EQ(*total.sum()->to_vector<float>(), (std::vector<float>{50, 100, static_cast<float>(50 * thread)}));
  });
}

TEST_F(Threads, LargeKernelsOfReplicasShareOnePool) {
  LayerModel model;
  model.longest = 40;
  model.inner = 256;
  model.columns = 256;
  Layer layer(model);
  ASSERT_TRUE(layer.prepare_with_config(on("native", Numerics::kFast, 3)));
  std::vector<Layer> replicas;
  for (int i = 0; i < kThreads; i++) replicas.push_back(layer.replicate().value());
  in_parallel([&](int thread) {
    for (int step = 0; step < 3; step++) expect_layer(replicas[static_cast<size_t>(thread)], 40 - step, thread + step);
  });
}

}  // namespace
}  // namespace tandem
