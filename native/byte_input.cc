#include "native/byte_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/base/text.h"
#include "native/counted.h"
#include "native/read_files.h"
#include "native/read_limit.h"

namespace tandem {
namespace {

class MemoryInput : public ByteInput {
 public:
  explicit MemoryInput(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  size_t read_at(uint64_t position, std::span<std::byte> target) const override {
    if (position >= bytes_.size()) return 0;
    const size_t count = std::min<size_t>(target.size(), bytes_.size() - position);
    if (count > 0) std::memcpy(target.data(), bytes_.data() + position, count);
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Memory that belongs to the input: what was read from a pipe.
class OwnedInput : public MemoryInput {
 public:
  explicit OwnedInput(std::unique_ptr<std::vector<std::byte>> bytes) : MemoryInput(*bytes), owned_(std::move(bytes)) {}

 private:
  std::unique_ptr<std::vector<std::byte>> owned_;
};

/// A file descriptor that is closed at the end, except for standard input.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.value_) { other.value_ = -1; }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (value_ > STDERR_FILENO) ::close(value_);
  }
  int value() const { return value_; }

 private:
  int value_;
};

class FileInput : public ByteInput {
 public:
  FileInput(Descriptor file, uint64_t size) : file_(std::move(file)), size_(size) {}
  uint64_t size() const override { return size_; }
  size_t read_at(uint64_t position, std::span<std::byte> target) const override {
    size_t done = 0;
    while (done < target.size()) {
      const ssize_t count =
          ::pread(file_.value(), target.data() + done, target.size() - done, static_cast<off_t>(position + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    return done;
  }

 private:
  Descriptor file_;
  uint64_t size_;
};

tl::unexpected<JitError> system_error(ErrorCode code, const std::string& path, const char* what) {
  return fail(code, concat("cannot ", what, " ", path == "-" ? "standard input" : path, ": ", std::strerror(errno)));
}

/// The smaller of what the caller allows and what memory does.
Result<ReadLimit> limit_of(uint64_t most) {
  TANDEM_TRY(limit, read_limit());
  if (most < limit.bytes) limit = {most, "such files are held in memory as a whole"};
  return limit;
}

tl::unexpected<JitError> too_large(const std::string& path, const std::string& size, const ReadLimit& limit) {
  return fail(ErrorCode::kMemoryLimit,
              concat(path == "-" ? "standard input" : path, size, limit.bytes, " are read at most (", limit.reason,
                     "); raise the limit where it can be, or cut the file into pieces"));
}

Result<std::unique_ptr<std::vector<std::byte>>> read_to_end(const Descriptor& file, const std::string& path,
                                                            const ReadLimit& limit) {
  auto bytes = std::make_unique<std::vector<std::byte>>();
  try {
    constexpr size_t kBlock = size_t{1} << 18;
    for (;;) {
      const size_t filled = bytes->size();
      if (filled > limit.bytes) return too_large(path, " does not end after so many bytes: ", limit);
      bytes->resize(filled + kBlock);
      const ssize_t count = ::read(file.value(), bytes->data() + filled, kBlock);
      bytes->resize(filled + static_cast<size_t>(std::max<ssize_t>(count, 0)));
      if (count == 0) return bytes;
      if (count < 0 && errno != EINTR) return system_error(ErrorCode::kNotFound, path, "read");
    }
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit,
                concat(path, ": not enough memory for ", counted(bytes->size(), "byte"), " and more"));
  }
}

}  // namespace

std::unique_ptr<ByteInput> memory_input(std::span<const std::byte> bytes) {
  return std::make_unique<MemoryInput>(bytes);
}

Result<std::unique_ptr<ByteInput>> open_input(const std::string& path, uint64_t most) {
  if (path.empty()) return fail(ErrorCode::kInvalidArgument, "the name of a file is empty");
  TANDEM_TRY(limit, limit_of(most));
  Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) return system_error(ErrorCode::kNotFound, path, "open");
  struct stat status{};
  if (::fstat(file.value(), &status) != 0) return system_error(ErrorCode::kNotFound, path, "open");
  note_read_file(file.value(), path);
  if (S_ISDIR(status.st_mode)) return fail(ErrorCode::kNotFound, concat("cannot read ", path, ": it is a folder"));
  // Standard input may be a regular file that was read in part: only its rest counts, as for a pipe.
  if (S_ISREG(status.st_mode) && path != "-") {
    if (static_cast<uint64_t>(status.st_size) > limit.bytes)
      return too_large(path, concat(" has ", status.st_size, " bytes, and "), limit);
    return std::make_unique<FileInput>(std::move(file), static_cast<uint64_t>(status.st_size));
  }
  TANDEM_TRY(bytes, read_to_end(file, path, limit));
  return std::make_unique<OwnedInput>(std::move(bytes));
}

Result<std::vector<std::byte>> read_all_bytes(const std::string& path, uint64_t most) {
  TANDEM_TRY(input, open_input(path, most));
  try {
    std::vector<std::byte> bytes(input->size());
    const size_t count = input->read_at(0, bytes);
    if (count != bytes.size()) {
      return fail(ErrorCode::kRuntime,
                  concat("only ", count, " of ", bytes.size(), " bytes of ", path, " could be read"));
    }
    return bytes;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit, concat(path, ": not enough memory for ", input->size(), " bytes"));
  }
}

}  // namespace tandem
