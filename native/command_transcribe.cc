// tandem transcribe: what is said in sound files.

#include <memory>

#include "core/base/text.h"
#include "native/built_in_models.h"
#include "native/command.h"
#include "native/number_option.h"
#include "native/progress.h"
#include "native/silero_target.h"
#include "native/tool_options.h"
#include "native/transcriber.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFooter =
    "--weights holds the model: model.safetensors (or an index of several), with the configuration and the "
    "vocabulary.\n"
    "The configuration is that of --config, else \"config\" among the metadata of the weights, else config.json "
    "beside\n"
    "them; the vocabulary its list of characters (\"labels\"), else tokenizer.model beside the configuration or the\n"
    "weights. demo/gigaam/README.md makes such a folder of a published checkpoint.\n\n"
    "Recordings of up to 25 s are recognised whole. Longer ones are split by Silero VAD into pieces of 15 to 22 s at\n"
    "silences; speech without one is cut before 30 s where it is weakest, and both pieces hear what lies around.\n\n"
    "json: {file, sample_rate, samples, duration, text, segments [{start, end, text, words [{start, end, text}],\n"
    "tokens [{start, end, text, id}]}]}, times in seconds from the beginning of the file; several files: an array in\n"
    "their order, and {file, error {code, message}} for one that failed.\n\n"
    "Exit codes: 0 success; 1 the machine failed; 2 an option, file or weight is not right. A file that fails does "
    "not\n"
    "take the others with it.";

class TranscribeCommand {
 public:
  /// The command keeps itself alive in its callback.
  static void add(CLI::App& tool, int& exit_code) {
    const auto self = std::make_shared<TranscribeCommand>();
    CLI::App& command = *tool.add_subcommand("transcribe", "Write down what is said in sound files");
    command.add_option("FILE", self->files_, "Sound files of any format that libsndfile reads; - is standard input");
    command.add_option("--weights", self->weights_, "Folder or file of a GigaAM model, see below");
    command.add_option("--config", self->config_path_, "JSON file with the model's configuration; default: see below");
    command.add_option("--head", self->head_, "ctc or rnnt: fails when the model has the other one");
    add_whole_number(
        command, "--beam", [self](int64_t width) { self->options_.recognizer.beam_width = width; }, 1, 10000,
        "CTC: width of the prefix beam search; default: the best class of each frame");
    add_whole_number(command, "--batch", self->options_.recognizer.lanes, 1, 64, "Pieces that are recognised at once");
    command.add_option("--format", self->format_, "text, json, srt or vtt")->capture_default_str();
    command.add_option("--raw", self->raw_, "Headerless PCM: s16le:RATE or s16le:RATE:CHANNELS");
    command.add_option("--vad", self->options_.vad_version, "Version of Silero VAD: v5 or v6")->capture_default_str();
    command.add_option("--vad-weights", self->options_.vad_weights, "File or folder of Silero's weights");
    command.add_option("--weights-dtype", self->weights_dtype_,
                       "What weights are kept as: f32, f16, bf16 or i8; default: as they are stored");
    add_activations_option(command, self->activations_);
    self->target_.add_to(command);
    add_threads_option(command, self->target_);
    command.footer(kFooter);
    command.callback([self, &exit_code] { exit_code = self->run(); });
  }

 private:
  int run() {
    const auto format = check_options();
    if (!format) return report_error(format.error());
    auto transcriber = prepare();
    if (!transcriber) return report_error(transcriber.error());
    std::vector<TranscriptReport> reports(files_.size());
    transcribe(*transcriber, reports);
    int exit_code = kExitSuccess;
    for (const TranscriptReport& report : reports)
      if (report.failure) exit_code = std::max<int>(exit_code, report_error(*report.failure));
    const std::string text = format_transcripts(reports, *format, files_.size() > 1);
    const bool has_result = files_.size() > 1 || !reports.front().failure;
    if (has_result || *format == TranscriptFormat::kJson) {
      if (auto written = write_standard_output(text); !written)
        exit_code = std::max<int>(exit_code, report_error(written.error()));
    }
    const bool dots = multiplies_bfloat16(transcriber->plan());
    report_target_notes(config_, dots);
    report_speed({sound_seconds_, compute_seconds_, prepare_seconds_}, config_, dots);
    return exit_code;
  }

  Result<TranscriptFormat> check_options() {
    if (files_.empty()) return tl::unexpected<JitError>(missing_argument("transcribe", "FILE"));
    if (weights_.empty()) return tl::unexpected<JitError>(missing_argument("transcribe", "--weights"));
    TANDEM_TRY(format, parse_transcript_format(format_));
    if (auto fits = check_transcript_count(files_.size(), format); !fits) return tl::unexpected<JitError>(fits.error());
    if (!head_.empty() && head_ != "ctc" && head_ != "rnnt")
      return fail(ErrorCode::kInvalidArgument, concat("--head is \"", head_, "\": use ctc or rnnt"));
    TANDEM_TRY(kept, parse_weights_dtype(weights_dtype_));
    TANDEM_TRY(activations, parse_activations(activations_));
    model_options_ = {kept, activations};
    // Short recordings need no detector; a version that does not exist is a mistake all the same.
    if (auto known = check_vad_version("--vad", options_.vad_version); !known)
      return tl::unexpected<JitError>(known.error());
    if (!raw_.empty()) {
      TANDEM_TRY(parsed, parse_raw_format(raw_));
      raw_format_ = parsed;
    }
    return format;
  }

  Result<Transcriber> prepare() {
    TANDEM_TRY(config, target_.config());
    config_ = config;
    const Clock::time_point start = Clock::now();
    std::optional<GigaAmHead> head;
    if (!head_.empty()) head = head_ == "ctc" ? GigaAmHead::kCtc : GigaAmHead::kRnnt;
    TANDEM_TRY(model, load_speech_model(weights_, config_path_, head, model_options_));
    if (options_.recognizer.beam_width > 0 && model.model->rnnt)
      return fail(ErrorCode::kInvalidArgument, "--beam belongs to a CTC head, but this model has the head rnnt");
    auto transcriber = Transcriber::create(std::move(model), options_, config_);
    prepare_seconds_ = seconds_since(start);
    return transcriber;
  }

  void transcribe(Transcriber& transcriber, std::vector<TranscriptReport>& reports) {
    for (size_t i = 0; i < files_.size(); ++i) {
      TranscriptReport& report = reports[i];
      report.file = files_[i];
      auto sound = raw_.empty() ? read_sound_file(files_[i]) : read_raw_file(files_[i], raw_format_);
      if (!sound) {
        report.failure = sound.error();
        continue;
      }
      if (!sound->note.empty()) report_note(sound->note);
      note_high_peak(files_[i], sound->samples);
      const Clock::time_point start = Clock::now();
      ProgressBar bar(files_[i]);
      transcriber.add(std::move(*sound), report, [&bar](int64_t done, int64_t total) { bar.show(done, total); });
      compute_seconds_ += seconds_since(start);
    }
    const Clock::time_point start = Clock::now();
    transcriber.finish();
    compute_seconds_ += seconds_since(start);
    for (TranscriptReport& report : reports) {
      if (!report.failure)
        sound_seconds_ += static_cast<double>(report.samples) / static_cast<double>(report.sample_rate);
      else if (report.failure->message.find(report.file) == std::string::npos)
        report.failure->message = concat(report.file, ": ", report.failure->message);
    }
  }

  std::vector<std::string> files_;
  std::string weights_, config_path_, head_, raw_, weights_dtype_, activations_;
  GigaAmOptions model_options_;
  std::string format_ = "text";
  RawFormat raw_format_;
  TranscriberOptions options_;
  TargetOptions target_;
  PrepareConfig config_;
  double prepare_seconds_ = 0, compute_seconds_ = 0, sound_seconds_ = 0;
};

}  // namespace

void add_transcribe_command(CLI::App& tool, int& exit_code) { TranscribeCommand::add(tool, exit_code); }

}  // namespace tandem
