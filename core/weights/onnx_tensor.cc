#include "core/weights/onnx_tensor.h"

#include <limits>
#include <optional>

#include "core/base/text.h"

namespace tandem::onnx_detail {
namespace {

// Field numbers of TensorProto in onnx.proto.
enum TensorField : uint32_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDataLocation = 14,
};

constexpr int64_t kExternalLocation = 1;

/// TensorProto.DataType to the engine's type; nothing for text, complex, 8-bit float and 4-bit types.
std::optional<DType> dtype_from(int32_t type) {
  switch (type) {
    case 1:
      return DType::kF32;
    case 2:
      return DType::kU8;
    case 3:
      return DType::kI8;
    case 4:
      return DType::kU16;
    case 5:
      return DType::kI16;
    case 6:
      return DType::kI32;
    case 7:
      return DType::kI64;
    case 9:
      return DType::kBool;
    case 10:
      return DType::kF16;
    case 11:
      return DType::kF64;
    case 12:
      return DType::kU32;
    case 13:
      return DType::kU64;
    case 16:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

/// Everything of a TensorProto that matters, before it is put together.
struct Contents {
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  std::string name;
  std::optional<std::span<const std::byte>> raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int32_t> ints;
  std::vector<int64_t> longs;
  std::vector<uint64_t> unsigned_longs;
  bool external = false;
  bool segmented = false;
};

/// Appends a repeated number field, which may be packed or not; both forms may be mixed.
template <typename T, typename One, typename Packed>
void append(protozero::pbf_reader& message, std::vector<T>& values, One one, Packed packed) {
  if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
    for (const auto value : (message.*packed)()) values.push_back(static_cast<T>(value));
  } else {
    values.push_back(static_cast<T>((message.*one)()));
  }
}

Contents parse_contents(protozero::pbf_reader& message) {
  using Reader = protozero::pbf_reader;
  Contents contents;
  while (message.next()) {
    switch (message.tag()) {
      case kDims:
        append(message, contents.dims, &Reader::get_int64, &Reader::get_packed_int64);
        break;
      case kDataType:
        contents.data_type = message.get_int32();
        break;
      case kSegment:
        contents.segmented = true;
        message.skip();
        break;
      case kFloatData:
        append(message, contents.floats, &Reader::get_float, &Reader::get_packed_float);
        break;
      case kInt32Data:
        append(message, contents.ints, &Reader::get_int32, &Reader::get_packed_int32);
        break;
      case kInt64Data:
        append(message, contents.longs, &Reader::get_int64, &Reader::get_packed_int64);
        break;
      case kName:
        contents.name = message.get_string();
        break;
      case kRawData: {
        const protozero::data_view view = message.get_view();
        contents.raw = std::as_bytes(std::span<const char>(view.data(), view.size()));
        break;
      }
      case kDoubleData:
        append(message, contents.doubles, &Reader::get_double, &Reader::get_packed_double);
        break;
      case kUint64Data:
        append(message, contents.unsigned_longs, &Reader::get_uint64, &Reader::get_packed_uint64);
        break;
      case kDataLocation:
        contents.external = message.get_int32() == kExternalLocation;
        break;
      default:
        message.skip();
    }
  }
  return contents;
}

/// `values`, each of which must be in the range of To.
template <typename To, typename From>
std::span<const std::byte> narrowed(const std::vector<From>& values, const std::string& name, WeightFile& file) {
  std::vector<To> result;
  result.reserve(values.size());
  for (const From value : values) {
    if (value < static_cast<From>(std::numeric_limits<To>::min()) ||
        value > static_cast<From>(std::numeric_limits<To>::max())) {
      throw TensorError(concat("tensor \"", name, "\" holds ", value, ", which its type cannot"),
                        ErrorCode::kInvalidFormat);
    }
    result.push_back(static_cast<To>(value));
  }
  return keep_values(result, file);
}

std::span<const std::byte> bool_bytes(const std::vector<int32_t>& values, WeightFile& file) {
  std::vector<uint8_t> result;
  for (const int32_t value : values) result.push_back(value != 0);
  return keep_values(result, file);
}

/// The bytes of the typed field that the format assigns to this dtype; half types are bit patterns in int32.
std::span<const std::byte> typed_bytes(const Contents& contents, DType dtype, const std::string& name,
                                       WeightFile& file) {
  switch (dtype) {
    case DType::kF32:
      return keep_values(contents.floats, file);
    case DType::kF64:
      return keep_values(contents.doubles, file);
    case DType::kI64:
      return keep_values(contents.longs, file);
    case DType::kU64:
      return keep_values(contents.unsigned_longs, file);
    case DType::kU32:
      return narrowed<uint32_t>(contents.unsigned_longs, name, file);
    case DType::kI32:
      return keep_values(contents.ints, file);
    case DType::kI16:
      return narrowed<int16_t>(contents.ints, name, file);
    case DType::kI8:
      return narrowed<int8_t>(contents.ints, name, file);
    case DType::kU8:
      return narrowed<uint8_t>(contents.ints, name, file);
    case DType::kBool:
      return bool_bytes(contents.ints, file);
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return narrowed<uint16_t>(contents.ints, name, file);
  }
  return {};
}

}  // namespace

ParsedTensor parse_tensor(protozero::pbf_reader message, const std::string& default_name, WeightFile& file) {
  const Contents contents = parse_contents(message);
  ParsedTensor parsed;
  parsed.tensor.name = default_name.empty() ? contents.name : default_name;
  parsed.tensor.shape = contents.dims;
  const std::optional<DType> dtype = dtype_from(contents.data_type);
  if (contents.external) {
    parsed.unreadable = "its data is in another file (external data), which is not supported";
  } else if (contents.segmented) {
    parsed.unreadable = "it is split into segments, which is not supported";
  } else if (!dtype) {
    parsed.unreadable = concat("its element type (ONNX data type ", contents.data_type, ") is not supported");
  }
  if (!parsed.unreadable.empty()) return parsed;
  parsed.tensor.dtype = *dtype;
  parsed.tensor.bytes = contents.raw ? *contents.raw : typed_bytes(contents, *dtype, parsed.tensor.name, file);
  return parsed;
}

}  // namespace tandem::onnx_detail
