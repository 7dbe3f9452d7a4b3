#include "native/model_weights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "core/base/text.h"
#include "core/weights/weight_index.h"
#include "native/byte_input.h"
#include "native/read_files.h"
#include "native/weight_files.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexName = "model.safetensors.index.json";

/// Takes the pages of some bytes of a mapped file out of memory; whoever looks at them again has them read again. Only
/// whole pages: what shares one with others stays.
void give_back(std::span<const std::byte> mapped, std::span<const std::byte> bytes) {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const std::less_equal<> before;
  if (!before(mapped.data(), bytes.data()) || !before(bytes.data() + bytes.size(), mapped.data() + mapped.size()))
    return;
  // What was read before `bytes` began ended in its first page.
  const size_t begin = static_cast<size_t>(bytes.data() - mapped.data()) / page * page;
  const size_t end = static_cast<size_t>(bytes.data() - mapped.data() + bytes.size()) / page * page;
  if (begin < end) ::madvise(const_cast<std::byte*>(mapped.data()) + begin, end - begin, MADV_DONTNEED);
}

/// A file as memory: read page by page when it is looked at.
Result<ByteSource> map_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail(ErrorCode::kNotFound, concat("cannot open ", path, ": ", std::strerror(errno)));
  note_read_file(file, path);
  auto source = map_descriptor(file, path);
  ::close(file);
  return source;
}

Result<WeightFile> read_mapped(const std::string& path) {
  TANDEM_TRY(source, map_file(path));
  return read_weights(source, path);
}

Result<WeightFile> read_index(const std::string& path) {
  TANDEM_TRY(index, read_all_bytes(path, kMostJsonBytes));
  TANDEM_TRY(names, files_of_weight_index({reinterpret_cast<const char*>(index.data()), index.size()}, path));
  std::vector<WeightPart> parts;
  for (const std::string& name : names) {
    TANDEM_TRY(part, read_mapped((fs::path(path).parent_path() / name).string()));
    parts.push_back({name, std::move(part)});
  }
  return join_weights(parts, path);
}

}  // namespace

Result<ByteSource> map_descriptor(int file, const std::string& origin) {
  struct stat status{};
  const bool known = ::fstat(file, &status) == 0;
  if (!known || !S_ISREG(status.st_mode) || status.st_size == 0)
    return fail(ErrorCode::kInvalidFormat,
                concat(origin, " is not a file with weights: it is empty or no regular file"));
  const auto size = static_cast<size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED)
    return fail(ErrorCode::kMemoryLimit,
                concat("cannot map the ", size, " bytes of ", origin, ": ", std::strerror(errno)));
  const std::shared_ptr<const void> owner(memory,
                                          [size](const void* begin) { ::munmap(const_cast<void*>(begin), size); });
  const std::span<const std::byte> mapped(static_cast<const std::byte*>(memory), size);
  return ByteSource{mapped, owner, [mapped](std::span<const std::byte> bytes) { give_back(mapped, bytes); }};
}

Result<WeightFile> read_model_weights(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    for (const char* name : {kIndexName, kModelFileName})
      if (const fs::path file = fs::path(path) / name; fs::exists(file, ignored))
        return read_model_weights(file.string());
    return fail(ErrorCode::kNotFound,
                concat("the folder ", path, " has neither ", kIndexName, " nor ", kModelFileName));
  }
  if (fs::path(path).extension() == ".json") return read_index(path);
  // Pipes and the like can't be mapped.
  return fs::is_regular_file(path, ignored) ? read_mapped(path) : read_weight_file(path);
}

}  // namespace tandem
