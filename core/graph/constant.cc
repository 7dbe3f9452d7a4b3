#include "core/graph/constant.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/base/half.h"
#include "core/base/text.h"

namespace tandem {

namespace {

uint64_t hash_bytes(uint64_t seed, std::span<const std::byte> bytes) {
  // Four independent chains, since weights have hundreds of megabytes and one chain waits for its own multiplications.
  uint64_t chains[4] = {seed, seed + 1, seed + 2, seed + 3};
  size_t position = 0;
  for (; position + 32 <= bytes.size(); position += 32)
    for (size_t i = 0; i < 4; i++) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + position + 8 * i, 8);
      chains[i] = (chains[i] ^ word) * 0x9FB21C651E98DF25ull;
      chains[i] ^= chains[i] >> 32;
    }
  uint64_t hash = hash_mix(bytes.size(), chains[0]);
  for (size_t i = 1; i < 4; i++) hash = hash_mix(hash, chains[i]);
  for (; position < bytes.size(); position += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + position, std::min<size_t>(8, bytes.size() - position));
    hash = hash_mix(hash, word);
  }
  return hash;
}

/// Constants of up to so many bytes are hashed whole.
constexpr size_t kHashedWhole = size_t{1} << 20;
/// Of larger ones this many pieces, from their beginning to their end: a model's weights have hundreds of megabytes,
/// which mostly lie in a file that nobody else has to read now. Equal hashes are no more than a reason to compare.
constexpr size_t kPieces = 4;
constexpr size_t kPieceBytes = 256;

uint64_t hash_of_contents(uint64_t seed, std::span<const std::byte> bytes) {
  if (bytes.size() <= kHashedWhole) return hash_bytes(seed, bytes);
  uint64_t hash = hash_mix(seed, bytes.size());
  for (size_t i = 0; i < kPieces; i++)
    hash = hash_bytes(hash, bytes.subspan((bytes.size() - kPieceBytes) / (kPieces - 1) * i, kPieceBytes));
  return hash;
}

template <typename T>
T read(const std::byte* bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const size_t position = bytes.size();
  bytes.resize(position + sizeof(T));
  std::memcpy(bytes.data() + position, &value, sizeof(T));
}

}  // namespace

std::shared_ptr<const ConstantData> constant_data(DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                                                  std::span<const std::byte> bytes, std::string name,
                                                  std::function<void()> release) {
  auto data = std::make_shared<ConstantData>();
  uint64_t hash = hash_mix(static_cast<uint64_t>(dtype), shape.size());
  for (const Dim& dim : shape) hash = hash_mix(hash, dim.hash());
  data->content_hash = hash_of_contents(hash, bytes);
  if (release) release();
  data->owner = std::move(owner);
  data->bytes = bytes.data();
  data->size = bytes.size();
  data->name = std::move(name);
  data->release = std::move(release);
  return data;
}

std::shared_ptr<const ConstantData> constant_data(DType dtype, const Shape& shape, std::vector<std::byte> bytes,
                                                  std::string name) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view(*owner);
  return constant_data(dtype, shape, owner, view, std::move(name));
}

NodeId make_scalar(Graph& graph, DType dtype, double value) {
  Attributes attributes;
  attributes.value = value;
  if (!is_float(dtype)) {
    if (!(std::floor(value) == value) || std::abs(value) > 0x1p63)
      throw TensorError(
          concat("scalar: ", value, " is no ", name_of(dtype), "; cast the tensor to a float dtype first"));
    attributes.integer = value >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(value);
  }
  return graph.make(Op::kScalar, {}, std::move(attributes), dtype);
}

NodeId make_integer_scalar(Graph& graph, DType dtype, int64_t value) {
  Attributes attributes;
  attributes.integer = value;
  attributes.value = static_cast<double>(value);
  return graph.make(Op::kScalar, {}, std::move(attributes), dtype);
}

NodeId make_constant(Graph& graph, DType dtype, const Shape& shape, std::shared_ptr<const ConstantData> data) {
  Attributes attributes;
  attributes.data = std::move(data);
  return graph.make(Op::kConstant, {}, std::move(attributes), dtype, shape);
}

double constant_element(DType dtype, const std::byte* bytes, size_t i) {
  switch (dtype) {
    case DType::kF16:
      return static_cast<double>(f32_from_f16(read<uint16_t>(bytes, i)));
    case DType::kBF16:
      return static_cast<double>(f32_from_bf16(read<uint16_t>(bytes, i)));
    case DType::kF32:
      return static_cast<double>(read<float>(bytes, i));
    case DType::kF64:
      return read<double>(bytes, i);
    case DType::kU64:
      return static_cast<double>(read<uint64_t>(bytes, i));
    default:
      return static_cast<double>(constant_integer(dtype, bytes, i));
  }
}

int64_t constant_integer(DType dtype, const std::byte* bytes, size_t i) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return read<uint8_t>(bytes, i);
    case DType::kI8:
      return read<int8_t>(bytes, i);
    case DType::kI16:
      return read<int16_t>(bytes, i);
    case DType::kU16:
      return read<uint16_t>(bytes, i);
    case DType::kI32:
      return read<int32_t>(bytes, i);
    case DType::kU32:
      return read<uint32_t>(bytes, i);
    case DType::kI64:
    case DType::kU64:
      return read<int64_t>(bytes, i);
    default:
      throw_internal_error(__FILE__, __LINE__, "integer dtype", std::string(name_of(dtype)));
  }
}

void append_element(std::vector<std::byte>& bytes, DType dtype, double value) {
  switch (dtype) {
    case DType::kF16:
      return append(bytes, f16_from_f32(static_cast<float>(value)));
    case DType::kBF16:
      return append(bytes, bf16_from_f32(static_cast<float>(value)));
    case DType::kF32:
      return append(bytes, static_cast<float>(value));
    case DType::kF64:
      return append(bytes, value);
    default:
      return append_integer(bytes, dtype, static_cast<int64_t>(value));
  }
}

void append_integer(std::vector<std::byte>& bytes, DType dtype, int64_t value) {
  switch (size_of(dtype)) {
    case 1:
      return append(bytes, static_cast<uint8_t>(dtype == DType::kBool ? value != 0 : value));
    case 2:
      return append(bytes, static_cast<uint16_t>(value));
    case 4:
      return append(bytes, static_cast<uint32_t>(value));
    default:
      return append(bytes, static_cast<uint64_t>(value));
  }
}

}  // namespace tandem
