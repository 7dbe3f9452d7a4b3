#include "native/read_limit.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/base/text.h"
#include "core/jit/prepare_config.h"
#include "native/native_backends.h"

namespace tandem {

Result<ReadLimit> read_limit() {
  constexpr std::string_view kVariable = "TANDEM_MEMORY_LIMIT";
  constexpr uint64_t kAlways = uint64_t{64} << 20;
  TANDEM_TRY(config, PrepareConfig::from([&](const char* name) -> const char* {
               return name == kVariable ? std::getenv(name) : nullptr;
             }));
  ReadLimit limit{INT64_MAX, "the largest number of bytes that there is"};
  const auto available = static_cast<uint64_t>(std::max<int64_t>(native_available_memory(), 0));
  if (available > 0) limit = {std::max(available / 3, kAlways), "a third of the memory that is left"};
  const int64_t set = config.memory_limit;
  if (set > 0 && static_cast<uint64_t>(set) < limit.bytes) limit = {static_cast<uint64_t>(set), std::string(kVariable)};
  return limit;
}

Result<void> check_read_limit(const std::string& what, uint64_t bytes, const ReadLimit& limit) {
  if (bytes <= limit.bytes) return {};
  return fail(ErrorCode::kMemoryLimit, concat(what, " needs ", bytes, " bytes of memory; the limit is ", limit.bytes,
                                              " (", limit.reason, "). Cut it into pieces"));
}

}  // namespace tandem
