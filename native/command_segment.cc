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
    const auto bytes = read_all_bytes(file);
    if (!bytes) return report_error(bytes.error());
    const auto saved = read_saved_probabilities({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, file);
    if (!saved) return report_error(saved.error());
    if (auto fits = check_report_count(saved->size(), *format); !fits) return report_error(fits.error());
    std::vector<SegmentReport> reports;
    for (const SavedProbabilities& one : *saved) {
      auto report = segment_saved(one, segment.segmentation);
      if (!report) return report_error(report.error());
      reports.push_back(std::move(*report));
    }
    const auto written = write_standard_output(format_segments(reports, *format, segment.probabilities));
    return written ? kExitSuccess : report_error(written.error());
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
  command.callback([state, &exit_code] { exit_code = state->run(); });
}

}  // namespace tandem
