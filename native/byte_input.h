#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace tandem {

/// Bytes with a known length that can be read at any place: a regular file, or a block of memory.
class ByteInput {
 public:
  virtual ~ByteInput() = default;
  virtual uint64_t size() const = 0;
  /// Copies bytes from `position` on; returns how many there were (fewer at the end or after a read error).
  virtual size_t read_at(uint64_t position, std::span<std::byte> target) const = 0;
};

/// Views memory that outlives the input.
std::unique_ptr<ByteInput> memory_input(std::span<const std::byte> bytes);

/// Most bytes of a file that is read as a whole.
inline constexpr uint64_t kMostFileBytes = uint64_t{2} << 30;
/// Most bytes of a file of JSON, whose values take many times their text.
inline constexpr uint64_t kMostJsonBytes = uint64_t{256} << 20;

/// Opens a file; "-" is standard input. Everything that is not a regular file is read to its end first. kMemoryLimit
/// for more than `most` bytes or than `read_limit()`, before they are read; kNotFound (with the system's reason).
Result<std::unique_ptr<ByteInput>> open_input(const std::string& path, uint64_t most = kMostFileBytes);

/// All bytes of a file; "-" is standard input. Errors as `open_input`, and kRuntime when a read fails.
Result<std::vector<std::byte>> read_all_bytes(const std::string& path, uint64_t most = kMostFileBytes);

}  // namespace tandem
