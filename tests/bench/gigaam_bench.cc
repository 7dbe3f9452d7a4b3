// GigaAM v3 with its CTC head at the published size, seeded random weights, beside the same model in onnxruntime: in
// one process, by turns, on one thread and on two. `gigaam_bench --write FOLDER LAYERS` measures nothing: it leaves the
// model for others, as gigaam.onnx with gigaam.onnx.data and as gigaam.safetensors with its configuration inside.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/text.h"
#include "core/models/gigaam.h"
#include "native/native_backends.h"
#include "native/seeded_weights.h"
#include "native/weight_files.h"
#include "tests/bench/contest.h"
#include "tests/bench/gigaam_onnx.h"
#include "tests/bench/onnxruntime_session.h"
#include "tests/support/gigaam_golden.h"
#include "tests/support/value_or_throw.h"

namespace tandem::bench {
namespace {

using testing::value_or_throw;

using Clock = std::chrono::steady_clock;

/// A batch: mel frames, and the share of them that each lane has.
struct Work {
  const char* name;
  int64_t t;
  std::vector<double> shares;
  int rounds;
};

/// Inputs of one batch.
struct Batch {
  std::vector<float> mel;
  std::vector<int32_t> lengths;
  std::vector<int64_t> wide_lengths;
  int64_t b, t, features;

  Batch(const Work& work, int64_t bands) : b(static_cast<int64_t>(work.shares.size())), t(work.t), features(bands) {
    for (const double share : work.shares) {
      lengths.push_back(static_cast<int32_t>(std::lround(share * static_cast<double>(t))));
      wide_lengths.push_back(lengths.back());
    }
    for (int64_t i = 0; i < b * features * t; i++) {
      const auto place = static_cast<double>(i);
      mel.push_back(static_cast<float>(-8 + 4 * std::sin(place * 0.7311) + 2 * std::cos(place * 0.0137)));
    }
  }
};

/// The peer on one batch.
struct Peer {
  const OnnxruntimeSession* session;
  std::vector<float> scores;
  std::vector<int64_t> lengths;
  std::vector<void*> inputs, outputs;

  Peer(const OnnxruntimeSession& made, Batch& batch, int64_t frames, int64_t classes)
      : session(&made), scores(static_cast<size_t>(batch.b * frames * classes)), lengths(batch.lengths.size()) {
    const auto f32 = [&](std::vector<float>& values, const std::vector<int64_t>& shape) {
      return session->tensor(values.data(), values.size() * sizeof(float), shape, OnnxruntimeSession::kFloat);
    };
    const auto i64 = [&](std::vector<int64_t>& values) {
      return session->tensor(values.data(), values.size() * sizeof(int64_t), {batch.b}, OnnxruntimeSession::kInt64);
    };
    inputs = {f32(batch.mel, {batch.b, batch.features, batch.t}), i64(batch.wide_lengths)};
    outputs = {f32(scores, {batch.b, frames, classes}), i64(lengths)};
  }
  void run() { session->run({"features", "feature_lengths"}, inputs, {"log_probs", "encoded_lengths"}, outputs); }
};

double milliseconds(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One plan, made for exactly this batch.
struct Plan {
  GigaAmJit jit;

  Plan(const std::shared_ptr<const GigaAmModel>& model, const Batch& batch, int threads, bool dots) : jit(model) {
    jit.with_b_fixed(batch.b).with_t_fixed(batch.t);
    PrepareConfig config = value_or_throw(PrepareConfig::from_env());
    config.threads = threads;
    config.bfloat16_dot = dots;
    if (auto done = jit.prepare_with_config(f32({batch.b, batch.features, batch.t}), i32({batch.b}), config); !done)
      throw std::runtime_error(done.error().text());
    value_or_throw(jit.mel_mut()).copy_from(batch.mel);
    value_or_throw(jit.lengths_mut()).copy_from(batch.lengths);
  }
  void run() {
    if (auto done = jit.execute(); !done) throw std::runtime_error(done.error().text());
  }
  void set_lengths(const std::vector<int32_t>& lengths) { value_or_throw(jit.lengths_mut()).copy_from(lengths); }
  std::vector<float> scores() { return value_or_throw(value_or_throw(jit.scores()).to_vector<float>()); }
};

class Bench {
 public:
  /// The published model, cut off after so many layers.
  Bench(Report& report, int layers) : report_(report), config_(config_of(layers)), file_(seeded()) {
    register_native_backends();
    for (const Choice& choice : kChoices)
      models_.push_back(value_or_throw(GigaAmModel::make(file_, config_, {choice.weights})));
    const auto folder = std::filesystem::temp_directory_path() / concat("tandem_gigaam_", ::getpid());
    std::filesystem::create_directories(folder);
    onnx_ = (folder / "gigaam.onnx").string();
    write_gigaam_onnx(onnx_, file_, config_);
  }
  ~Bench() {
    std::error_code ignored;
    std::filesystem::remove_all(std::filesystem::path(onnx_).parent_path(), ignored);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run(const std::vector<Work>& all) {
    for (const int threads : {1, 2}) {
      std::unique_ptr<OnnxruntimeSession> session;
      for (const Work& work : all) {
        const std::string name = concat(work.name, ", ", threads, threads == 1 ? " thread" : " threads");
        if (!report_.wants(name)) continue;
        if (!session) {
          session = std::make_unique<OnnxruntimeSession>(onnx_, threads);
          report_.note(concat("onnxruntime made its session for ", threads, " threads in ",
                              std::lround(session->session_ms()), " ms"));
        }
        compare(work, name, threads, *session);
      }
    }
  }

 private:
  static GigaAmConfig config_of(int layers) {
    GigaAmConfig config = testing::GigaAmGolden("real_v3_ctc_expected").config;
    config.encoder->n_layers = layers;
    return config;
  }
  WeightFile seeded() const { return value_or_throw(seeded_gigaam_weights(config_, 1)); }

  void compare(const Work& work, const std::string& name, int threads, const OnnxruntimeSession& session) {
    Batch batch(work, config_.mel.features);
    const int64_t frames = config_.encoder->encoded_frames(batch.t), classes = config_.head->num_classes;
    Peer peer(session, batch, frames, classes);
    // Weights of f32 first, then each other choice that is asked for.
    std::vector<std::unique_ptr<Plan>> plans;
    for (size_t i = 0; i < models_.size(); i++)
      plans.push_back(std::make_unique<Plan>(models_[i], batch, threads, kChoices[i].dots));
    peer.run();
    plans[0]->run();
    check(batch, frames, classes, peer.scores, plans[0]->scores());
    std::vector<std::vector<double>> times(plans.size() + 1);
    for (int round = 0; round < work.rounds; round++) {
      times.back().push_back(milliseconds([&] { peer.run(); }));
      // Its threads spin for a while when they have nothing more to do.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (size_t i = 0; i < plans.size(); i++) times[i].push_back(milliseconds([&] { plans[i]->run(); }));
    }
    const double theirs = median(times.back());
    nlohmann::ordered_json row = {{"onnxruntime ms", theirs}};
    for (size_t i = 0; i < plans.size(); i++) {
      row[concat(kChoices[i].name, " ms")] = median(times[i]);
      row[concat("ort / ", kChoices[i].name)] = theirs / median(times[i]);
    }
    if (batch.b > 1) row["quarter / full"] = quarter_share(*plans[0], batch, work.rounds);
    report_.row(name, row);
  }

  /// The time for lanes that are a quarter full over the time for full ones, by turns.
  static double quarter_share(Plan& plan, const Batch& batch, int rounds) {
    std::vector<double> full, quarter;
    for (int round = 0; round < rounds; round++) {
      for (auto [length, times] : {std::pair{batch.t, &full}, std::pair{batch.t / 4, &quarter}}) {
        plan.set_lengths(std::vector<int32_t>(static_cast<size_t>(batch.b), static_cast<int32_t>(length)));
        times->push_back(milliseconds([&] { plan.run(); }));
      }
    }
    plan.set_lengths(batch.lengths);
    return median(quarter) / median(full);
  }

  /// Both must agree on the frames that count before their times mean anything.
  static void check(const Batch& batch, int64_t frames, int64_t classes, const std::vector<float>& theirs,
                    const std::vector<float>& ours) {
    for (size_t lane = 0; lane < batch.lengths.size(); lane++) {
      const auto valid = static_cast<size_t>((batch.lengths[lane] + 3) / 4 * classes);
      const size_t begin = lane * static_cast<size_t>(frames * classes);
      for (size_t i = begin; i < begin + valid; i++)
        if (!(std::abs(theirs[i] - ours[i]) < 1e-3f))
          throw std::runtime_error(concat("onnxruntime says ", theirs[i], " where the plan says ", ours[i]));
    }
  }

  /// What the weights are kept as, and whether they are multiplied by bf16 dot products (where the machine has them).
  struct Choice {
    const char* name;
    DType weights;
    bool dots;
  };
  static constexpr Choice kChoices[] = {{"f32", DType::kF32, false},
                                        {"f16", DType::kF16, false},
                                        {"bf16", DType::kBF16, false},
                                        {"bf16 dot", DType::kBF16, true},
                                        {"int8", DType::kI8, false}};

  Report& report_;
  GigaAmConfig config_;
  WeightFile file_;
  std::vector<std::shared_ptr<const GigaAmModel>> models_;
  std::string onnx_;
};

/// The published model with so many layers, as both sides read it.
void write_model(const std::filesystem::path& folder, int layers) {
  const testing::GigaAmGolden golden("real_v3_ctc_expected");
  nlohmann::ordered_json sizes = nlohmann::ordered_json::parse(golden.file.metadata().at("config"));
  sizes["encoder"]["n_layers"] = layers;
  const GigaAmConfig config = value_or_throw(parse_gigaam_config(sizes.dump(), "the golden's configuration"));
  const WeightFile weights = value_or_throw(seeded_gigaam_weights(config, 1));
  std::filesystem::create_directories(folder);
  write_gigaam_onnx((folder / "gigaam.onnx").string(), weights, config);
  const auto written =
      write_safetensors_file((folder / "gigaam.safetensors").string(), weights.tensors(), {{"config", sizes.dump()}});
  if (!written) throw std::runtime_error(written.error().text());
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--write") == 0) {
    try {
      tandem::bench::write_model(argv[2], std::stoi(argv[3]));
      return 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  tandem::bench::Report report(argc, argv,
                               "GigaAM v3 CTC, 16 layers unless said, seeded random weights: a batch of log-mel");
  try {
    tandem::bench::Bench(report, 16)
        .run({{"b 1, t 569", 569, {1}, 7},
              {"b 1, t 1999", 1999, {1}, 5},
              {"b 4, t 569, lengths 100, 60, 40, 20 %", 569, {1, 0.6, 0.4, 0.2}, 5},
              {"b 4, t 1999, lengths 100, 60, 40, 20 %", 1999, {1, 0.6, 0.4, 0.2}, 3}});
    tandem::bench::Bench(report, 4).run({{"4 layers, b = 1, t = 569", 569, {1}, 7}});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  report.finish();
  return 0;
}
