#include "native/tool_options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/clang/clang_backend.h"
#include "core/backend/registry.h"
#include "core/base/text.h"
#include "native/counted.h"
#include "native/native_backends.h"
#include "native/number_option.h"
#include "native/printable.h"
#include "native/weight_files.h"

namespace tandem {
namespace {

/// As TANDEM_THREADS.
constexpr int64_t kMostThreads = 1024;

/// Can this target run code for the instruction set, which `source` asks for?
Result<void> check_isa(const char* source, const std::string& isa, const Backend& backend) {
  const auto forced = capabilities_named(isa);
  const bool native = backend.name() == "native";
  const char* names = native ? "avx512, avx2, sse+fma, sse" : "wasm-simd128, wasm-relaxed";
  if (backend.name() == "interpreter" && forced) return {};
  if (!forced || forced->isa == "interpreter" || forced->wasm == native)
    return fail(ErrorCode::kInvalidArgument,
                concat(source, " is \"", isa, "\": the target ", backend.name(), " has ", names));
  if (native && !host_supports(*forced))
    return fail(ErrorCode::kInvalidArgument,
                concat(source, " is \"", isa, "\": it does not run on this machine, whose best is ",
                       backend.capabilities().isa));
  return {};
}

/// Sets what a flag says, if it is given.
Result<void> take_flag(const char* name, const std::string& value, bool& wanted) {
  if (value.empty()) return {};
  if (value != "true" && value != "false")
    return fail(ErrorCode::kInvalidArgument,
                concat(name, " is \"", value, "\": use ", name, ", ", name, "=true or ", name, "=false"));
  wanted = value == "true";
  return {};
}

}  // namespace

ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kDevice:
    case ErrorCode::kRuntime:
    case ErrorCode::kMemoryLimit:
    case ErrorCode::kNotPrepared:
      return kExitFailure;
    default:
      return kExitUserError;
  }
}

ExitCode report_error(const JitError& error) {
  std::fprintf(stderr, "tandem: %s\n", printable(error.message, "\n").c_str());
  return exit_code_of(error.code);
}

ExitCode report_failure(const JitError& error, SegmentReport& report) {
  report.failure = {name_of(error.code), error.message};
  return report_error(error);
}

JitError missing_argument(const std::string& command, const std::string& name) {
  return {ErrorCode::kInvalidArgument, concat(name, " is missing; see tandem ", command, " --help")};
}

Result<std::vector<VariableValue>> parse_variables(std::string_view text) {
  constexpr const char* kForm = ": write names and whole numbers, such as b=1,t=300";
  std::vector<VariableValue> values;
  for (size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::string_view entry = text.substr(begin, text.find(',', begin) - begin);
    begin += entry.size() + 1;
    if (entry.empty())
      return fail(ErrorCode::kInvalidArgument, concat("--vars is \"", text, "\", with an empty piece", kForm));
    const size_t equals = entry.find('=');
    const std::string_view number = equals == std::string_view::npos ? "" : entry.substr(equals + 1);
    VariableValue value{entry.substr(0, equals), 0};
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value.value);
    const bool too_large = error == std::errc::result_out_of_range;
    if (value.name.empty() || number.empty() || (error != std::errc() && !too_large) ||
        end != number.data() + number.size())
      return fail(ErrorCode::kInvalidArgument, concat("--vars has \"", entry, "\"", kForm));
    if (too_large) value.value = number[0] == '-' ? INT64_MIN : INT64_MAX;
    values.push_back(value);
  }
  return values;
}

void report_note(const std::string& note) { std::fprintf(stderr, "tandem: note: %s\n", printable(note, "\n").c_str()); }

void note_high_peak(const std::string& file, std::span<const float> samples) {
  // Recordings that were normalised in some other way stay below this.
  constexpr float kHighest = 8;
  float peak = 0;
  for (const float sample : samples) peak = std::max(peak, std::fabs(sample));
  if (peak > kHighest) report_note(concat("samples of ", file, " reach ", peak, "; expected -1 to 1"));
}

void report_speed(const CommandTimes& times, const PrepareConfig& config, bool dots) {
  if (times.sound <= 0) return;
  std::fprintf(stderr, "%.1f s of sound in %.3f s: real-time factor %.5f (%s; prepared in %.0f ms)\n", times.sound,
               times.compute, times.compute / times.sound, target_text(config, dots).c_str(), times.prepare * 1000);
}

Result<void> write_standard_output(std::string_view text) {
  const bool good = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (good) return {};
  return fail(ErrorCode::kRuntime, concat("cannot write to standard output: ", std::strerror(errno)));
}

bool error_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

void TargetOptions::add_to(CLI::App& command) {
  command.add_option("--target", target,
                     "Where kernels run: native, wasm (in Node) or interpreter (slow); default "
                     "TANDEM_BACKEND, else native");
  command.add_option("--isa", isa,
                     "Instruction set: avx512, avx2, sse+fma, sse (no FMA); for wasm: wasm-simd128, "
                     "wasm-relaxed; for interpreter: any, whose kernels it runs; default TANDEM_ISA, else the best "
                     "there is");
  command.add_option("--numerics", numerics,
                     "fast, or reproducible: the same bits on all targets; default "
                     "TANDEM_NUMERICS, else fast");
  command.add_flag("--bf16-dot", bf16_dot,
                   "Multiply bf16 weights by bf16 dot products, where the machine has them: faster, and what meets the "
                   "weights is rounded to bf16; --bf16-dot=false: not, whatever TANDEM_BF16_DOT says");
  command.add_flag(
      "--tune", tune,
      "Measure which register tiles are fastest on this machine, once: the cache keeps them; --tune=false: "
      "not, whatever TANDEM_TUNE says");
}

void add_threads_option(CLI::App& command, TargetOptions& options) {
  const auto take = [&options](int64_t number) { options.threads = number; };
  add_whole_number(command, "--threads", take, 0, kMostThreads, "Threads; 0: as many as the machine gives");
}

const char* TargetOptions::environment(const char* name) const {
  const std::string_view variable = name;
  // Dot products and reproducible numerics exclude each other: the one that is an option wins.
  if (variable == "TANDEM_NUMERICS" && (!numerics.empty() || bf16_dot == "true")) return nullptr;
  if (variable == "TANDEM_BF16_DOT" && (!bf16_dot.empty() || numerics == "reproducible")) return nullptr;
  if (variable == "TANDEM_TUNE" && !tune.empty()) return nullptr;
  if (variable == "TANDEM_BACKEND" && !target.empty()) return nullptr;
  if (variable == "TANDEM_THREADS" && threads) return nullptr;
  if (variable == "TANDEM_ISA") {
    if (!isa.empty()) return nullptr;
    // One that is meant for another target than --target names has nothing to say here.
    const char* value = std::getenv(name);
    const auto known = capabilities_named(value == nullptr ? "" : value);
    if (known && known->isa != "interpreter" && (target == "native" || target == "wasm") &&
        known->wasm != (target == "wasm"))
      return nullptr;
  }
  return std::getenv(name);
}

Result<PrepareConfig> TargetOptions::config() const {
  register_native_backends();
  auto config = PrepareConfig::from([this](const char* name) { return environment(name); });
  if (!config) return config;
  if (threads) config->threads = static_cast<int>(*threads);
  if (!numerics.empty()) {
    if (numerics != "fast" && numerics != "reproducible")
      return fail(ErrorCode::kInvalidArgument, concat("--numerics is \"", numerics, "\": use fast or reproducible"));
    config->numerics = numerics == "fast" ? Numerics::kFast : Numerics::kReproducible;
  }
  if (!target.empty()) {
    const std::vector<std::string> names = backend_names();
    if (std::find(names.begin(), names.end(), target) == names.end())
      return fail(ErrorCode::kInvalidArgument, concat("--target is \"", target, "\": use native, wasm or interpreter"));
    config->backend_name = target;
  }
  if (!isa.empty()) config->isa = isa;
  if (auto taken = take_flag("--bf16-dot", bf16_dot, config->bfloat16_dot); !taken)
    return tl::unexpected<JitError>(taken.error());
  if (auto taken = take_flag("--tune", tune, config->tune); !taken) return tl::unexpected<JitError>(taken.error());
  config->on_measuring = [](int contractions) {
    const bool kept = !ClangBackendOptions::from_environment().cache_folder.empty();
    report_note(concat("measuring which register tiles are fastest for ", counted(contractions, "kind"),
                       " of matrix products; ", kept ? "the cache keeps them" : "there is no cache to keep them"));
  };
  auto backend = find_backend(config->backend_name, {config->threads});
  if (!backend) return tl::unexpected<JitError>(backend.error());
  config->backend = *backend;
  if (!config->isa.empty()) {
    const char* source = isa.empty() ? "TANDEM_ISA" : "--isa";
    if (auto checked = check_isa(source, config->isa, **backend); !checked)
      return tl::unexpected<JitError>(checked.error());
  }
  return config;
}

bool multiplies_bfloat16(const Plan& plan) {
  const std::vector<Kernel>& kernels = plan.program().kernels;
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const Kernel& kernel) { return uses(kernel, Opcode::kDotBFloat16); });
}

std::string target_text(const PrepareConfig& config, bool dots) {
  const std::string isa = config.isa.empty() ? config.backend->capabilities().isa : config.isa;
  return concat(config.backend->name(), config.backend->name() == isa ? "" : " ",
                config.backend->name() == isa ? "" : isa, ", ", name_of(config.numerics),
                dots ? ", bf16 dot products" : "");
}

void report_target_notes(const PrepareConfig& config, std::optional<bool> dots) {
  if (const auto used = resolve(config); config.bfloat16_dot && used && dots == false)
    report_note(used->bfloat16_dot
                    ? "--bf16-dot (TANDEM_BF16_DOT) has no effect: no long sum of products meets bf16 weights"
                    : "--bf16-dot (TANDEM_BF16_DOT) has no effect: the target has no bf16 dot products");
  for (const std::string& note : take_weight_folder_notes()) report_note(note);
  if (config.tune && !config.backend->measurements())
    report_note("--tune (TANDEM_TUNE) has no effect: only the target native can be measured");
  if (config.backend->name() != "native") return;
  const std::string warning = static_cast<const ClangBackend&>(*config.backend).cache_warning();
  if (!warning.empty()) report_note(warning);
}

void SegmentOptions::add_to(CLI::App& command) {
  SegmentationOptions& s = segmentation;
  add_number(command, "--threshold", s.threshold, kThresholdRange, "A window of at least this probability is speech");
  neg_threshold_option = add_number(command, "--neg-threshold", neg_threshold, kNegThresholdRange,
                                    "A window below this is silence; default: threshold - 0.15, at least 0.01")
                             ->default_str("");
  add_number(command, "--min-speech-ms", s.min_speech_duration_ms, kMillisecondsRange,
             "Speech must be longer than this");
  add_number(command, "--min-silence-ms", s.min_silence_duration_ms, kMillisecondsRange,
             "Silence must last this long to end speech");
  add_number(command, "--speech-pad-ms", s.speech_pad_ms, kMillisecondsRange, "Added on both sides of a segment");
  add_number(command, "--max-speech-s", s.max_speech_duration_s, kLongestSpeechRange,
             "Longer speech is cut, in seconds");
  command.add_option("--format", format, "text, json, srt or csv")->capture_default_str();
  command.add_flag("--probabilities", probabilities, "Add the probability of each window (json)");
}

Result<SegmentFormat> SegmentOptions::finish() {
  if (neg_threshold_option->count() > 0) segmentation.neg_threshold = neg_threshold;
  if (segmentation.max_speech_duration_s == 0)
    return fail(ErrorCode::kInvalidArgument, "--max-speech-s is 0: it must be above 0; inf never cuts");
  // Upstream takes it too: windows between the two then begin speech and end it again.
  if (segmentation.neg_threshold && *segmentation.neg_threshold > segmentation.threshold)
    report_note(concat("--neg-threshold is ", neg_threshold, ", above --threshold, which is ", segmentation.threshold,
                       ": windows in between count as speech and as silence"));
  auto parsed = parse_segment_format(format);
  if (parsed && probabilities && *parsed != SegmentFormat::kJson)
    report_note(concat("--probabilities has no place in the format ", format, "; use --format json"));
  return parsed;
}

}  // namespace tandem
