#pragma once

#include "core/weights/weight_file.h"

namespace tandem {

/// The bytes begin like a safetensors file: an 8-byte header length that fits, then '{'.
bool looks_like_safetensors(std::span<const std::byte> bytes);
/// What the beginning of bytes that don't look like it states, with numbers, for an error.
std::string safetensors_beginning(std::span<const std::byte> bytes);

/// Reads one safetensors file (format of huggingface/safetensors: u64 length, JSON header, data). The tensors view the
/// source's bytes. Strict: the tensors must cover the data exactly, without gap or overlap; names must be unique; the
/// header is at most 100 MB. Errors: kInvalidFormat (with tensor name and numbers), kUnsupported (an element type that
/// the engine does not have), kMemoryLimit.
Result<WeightFile> read_safetensors(ByteSource source, std::string origin);

/// Writes a safetensors file. The same tensors give the same bytes in whatever order they come: sorted by element size,
/// largest first, then by name, data aligned to 8 bytes, as the reference implementation does. kInvalidArgument when a
/// name is used twice, is reserved, or is not UTF-8, or when a tensor's size is not what its shape says.
Result<std::vector<std::byte>> write_safetensors(std::span<const WeightTensor> tensors,
                                                 const std::map<std::string, std::string>& metadata = {});

}  // namespace tandem
