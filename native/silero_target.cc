#include "native/silero_target.h"

#include "core/base/text.h"
#include "native/weight_files.h"

namespace tandem {

Result<void> check_vad_version(const char* option, const std::string& version) {
  if (silero_weight_file_name(version)) return {};
  return fail(ErrorCode::kInvalidArgument, concat(option, " is \"", version, "\": use v5 or v6"));
}

Result<SileroWeights> load_silero_weights(const std::string& version, int64_t sample_rate, const std::string& given) {
  TANDEM_TRY(name, silero_weight_file_name(version));
  TANDEM_TRY(path, find_weight_file(name, given));
  TANDEM_TRY(file, read_weight_file(path));
  return find_silero_weights(file, sample_rate);
}

}  // namespace tandem
