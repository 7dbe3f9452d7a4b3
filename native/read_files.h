#pragma once

#include <string>

#include "core/base/error.h"

namespace tandem {

/// Remembers that the regular file behind an open descriptor was read under the name `path`. Nothing for pipes and
/// devices. For any thread.
void note_read_file(int descriptor, const std::string& path);

/// kInvalidArgument when `path` is a file that this process has read, under whatever name (links are followed): what is
/// written there would replace an input. "-" is standard output, wherever it leads.
Result<void> check_not_read(const std::string& path);

}  // namespace tandem
