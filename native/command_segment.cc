// tandem segment: finds segments again in saved probabilities, without the model.

#include <memory>

#include "native/byte_input.h"
#include "native/command.h"
#include "native/tool_options.h"

namespace tandem {
namespace {

struct SegmentCommand {
  std::string file;
  SegmentOptions segment;

  int run() {
    if (file.empty()) return report_error(missing_argument("segment", "FILE"));
    const auto format = segment.finish();
    if (!format) return report_error(format.error());
    const auto bytes = read_all_bytes(file, kMostJsonBytes);
    if (!bytes) return report_error(bytes.error());
    const auto saved = read_saved_probabilities({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, file);
    if (!saved) return report_error(saved.error());
    const std::vector<SavedProbabilities>& recordings = saved->recordings;
    if (auto fits = check_report_count(recordings.size(), *format); !fits) return report_error(fits.error());
    int exit_code = kExitSuccess;
    std::vector<SegmentReport> reports(recordings.size());
    for (size_t i = 0; i < recordings.size(); ++i) {
      reports[i].file = recordings[i].file;
      if (auto report = segment_saved(recordings[i], segment.segmentation))
        reports[i] = std::move(*report);
      else
        exit_code = std::max<int>(exit_code, report_failure(report.error(), reports[i]));
      // What that run said is worth more than that it said something.
      if (recordings[i].failure) reports[i].failure = recordings[i].failure;
    }
    const OutputForm form{*format, saved->list, segment.probabilities};
    if (auto written = write_standard_output(format_segments(reports, form)); !written)
      exit_code = std::max<int>(exit_code, report_error(written.error()));
    return exit_code;
  }
};

}  // namespace

void add_segment_command(CLI::App& tool, int& exit_code) {
  const auto state = std::make_shared<SegmentCommand>();
  CLI::App& command = *tool.add_subcommand("segment", "Find segments again in probabilities saved as JSON");
  command.add_option("FILE", state->file,
                     "JSON of tandem vad --probabilities, or an object with sample_rate, samples and "
                     "probabilities (or probs); - is standard input");
  state->segment.add_to(command);
  command.footer(
      "The json of an array is an array in its order, of an object an object. An entry that fails is {file, error "
      "{code,\n"
      "message}} there, and so is a file that failed when the probabilities were saved; exit code and standard error\n"
      "tell as well.");
  command.callback([state, &exit_code] { exit_code = state->run(); });
}

}  // namespace tandem
