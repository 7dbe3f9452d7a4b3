// tandem vad: finds speech in sound files.

#include <chrono>
#include <map>
#include <memory>

#include "core/base/text.h"
#include "native/command.h"
#include "native/progress.h"
#include "native/recording_detector.h"
#include "native/resample.h"
#include "native/silero_target.h"
#include "native/sound_file.h"
#include "native/tool_options.h"

namespace tandem {
namespace {

constexpr const char* kSeveralFiles =
    "Several files: json is an array with one entry per FILE, in their order, also if all but one fail; one FILE is\n"
    "one object. csv names the file in each line, text in a line per file; srt takes one file. A file that fails is\n"
    "named on standard error, gives its exit code when all others are done, and is {file, error {code, message}} in\n"
    "json; it has no lines in csv and text.";

tl::unexpected<JitError> of_file(const std::string& file, const JitError& error) {
  return fail(error.code, concat(file, ": ", error.message));
}

using Clock = std::chrono::steady_clock;

class VadCommand {
 public:
  /// The command keeps itself alive in its callback.
  static void add(CLI::App& tool, int& exit_code) {
    const auto self = std::make_shared<VadCommand>();
    CLI::App& command = *tool.add_subcommand("vad", "Find speech in sound files");
    command.add_option("FILE", self->files_, "Sound files of any format that libsndfile reads; - is standard input");
    command.add_option("--model", self->version_, "Version of Silero VAD: v5 or v6")->capture_default_str();
    command.add_option("--weights", self->weights_, "File or folder of weights (ONNX or safetensors)");
    command.add_option("--raw", self->raw_, "Headerless PCM: s16le:RATE or s16le:RATE:CHANNELS");
    self->target_.add_to(command);
    self->segment_.add_to(command);
    command.footer(kSeveralFiles);
    command.callback([self, &exit_code] { exit_code = self->run(); });
  }

 private:
  int run() {
    if (files_.empty()) return report_error(missing_argument("vad", "FILE"));
    const auto format = segment_.finish();
    if (!format) return report_error(format.error());
    if (auto fits = check_report_count(files_.size(), *format); !fits) return report_error(fits.error());
    if (auto known = check_vad_version("--model", version_); !known) return report_error(known.error());
    if (!raw_.empty()) {
      auto parsed = parse_raw_format(raw_);
      if (!parsed) return report_error(parsed.error());
      raw_format_ = *parsed;
    }
    auto config = target_.config();
    if (!config) return report_error(config.error());
    config_ = *config;
    // A file that fails does not take the others' results with it.
    int exit_code = kExitSuccess;
    std::vector<SegmentReport> reports(files_.size());
    for (size_t i = 0; i < files_.size(); ++i) {
      reports[i].file = files_[i];
      if (auto report = detect(files_[i]))
        reports[i] = std::move(*report);
      else
        exit_code = std::max<int>(exit_code, report_failure(report.error(), reports[i]));
    }
    const OutputForm form{*format, files_.size() > 1, segment_.probabilities};
    if (auto written = write_standard_output(format_segments(reports, form)); !written)
      exit_code = std::max<int>(exit_code, report_error(written.error()));
    report_target_notes(config_, false);
    report_speed({sound_seconds_, compute_seconds_, prepare_seconds_}, config_);
    return exit_code;
  }

  Result<SegmentReport> detect(const std::string& file) {
    TANDEM_TRY(sound, raw_.empty() ? read_sound_file(file) : read_raw_file(file, raw_format_));
    if (!sound.note.empty()) report_note(sound.note);
    note_high_peak(file, sound.samples);
    SavedProbabilities found;
    found.file = file;
    found.model = version_;
    found.sample_rate = sound.sample_rate;
    found.samples = static_cast<int64_t>(sound.samples.size());
    found.model_rate = sound.sample_rate == 8000 ? 8000 : 16000;
    auto detector = detector_for(*found.model_rate);
    if (!detector) return of_file(file, detector.error());
    const Clock::time_point start = Clock::now();
    std::vector<float> samples = std::move(sound.samples);
    if (sound.sample_rate != *found.model_rate && !samples.empty()) {
      auto resampled = resample(samples, sound.sample_rate, *found.model_rate);
      if (!resampled) return of_file(file, resampled.error());
      samples = std::move(*resampled);
    }
    const double prepared_before = (*detector)->prepare_seconds();
    ProgressBar progress(file);
    auto probabilities =
        (*detector)->probabilities(samples, [&](int64_t done, int64_t total) { progress.show(done, total); });
    if (!probabilities) return of_file(file, probabilities.error());
    found.probabilities = std::move(*probabilities);
    auto report = segment_saved(found, segment_.segmentation);
    const double preparing = (*detector)->prepare_seconds() - prepared_before;
    prepare_seconds_ += preparing;
    compute_seconds_ += seconds_since(start) - preparing;
    sound_seconds_ += static_cast<double>(found.samples) / static_cast<double>(found.sample_rate);
    return report;
  }

  Result<RecordingDetector*> detector_for(int64_t rate) {
    auto& detector = detectors_[rate];
    if (!detector) {
      const Clock::time_point start = Clock::now();
      detector =
          std::make_unique<Result<RecordingDetector>>(RecordingDetector::create(version_, rate, weights_, config_));
      prepare_seconds_ += seconds_since(start);
      if (!*detector) return tl::unexpected<JitError>(detector->error());
    }
    // The reason may be long, and was told with the first file.
    if (!*detector)
      return fail(detector->error().code, concat("the model for ", rate, " Hz could not be loaded, as said before"));
    return &**detector;
  }

  std::vector<std::string> files_;
  std::string version_ = "v6";
  std::string weights_;
  std::string raw_;
  RawFormat raw_format_;
  TargetOptions target_;
  SegmentOptions segment_;
  PrepareConfig config_;
  std::map<int64_t, std::unique_ptr<Result<RecordingDetector>>> detectors_;
  double prepare_seconds_ = 0, compute_seconds_ = 0, sound_seconds_ = 0;
};

}  // namespace

void add_vad_command(CLI::App& tool, int& exit_code) { VadCommand::add(tool, exit_code); }

}  // namespace tandem
