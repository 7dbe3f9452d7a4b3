#include "core/weights/safetensors.h"

#include <algorithm>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/json_input.h"
#include "core/base/text.h"

namespace tandem {
namespace {

using nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = 100'000'000;
/// Header, tensor and list are the only levels of a header.
constexpr int kDeepestHeader = 3;
constexpr const char* kMetadataKey = "__metadata__";

struct DTypeName {
  DType dtype;
  const char* name;
};
constexpr DTypeName kDTypeNames[] = {
    {DType::kBool, "BOOL"}, {DType::kI8, "I8"},   {DType::kI16, "I16"},   {DType::kI32, "I32"}, {DType::kI64, "I64"},
    {DType::kU8, "U8"},     {DType::kU16, "U16"}, {DType::kU32, "U32"},   {DType::kU64, "U64"}, {DType::kF16, "F16"},
    {DType::kF32, "F32"},   {DType::kF64, "F64"}, {DType::kBF16, "BF16"},
};

const char* file_name_of(DType dtype) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.dtype == dtype) return entry.name;
  }
  return "";
}

uint64_t read_length(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return length;
}

/// Thrown out of the JSON parser, which has no other way to stop early.
[[noreturn]] void invalid(const std::string& message, ErrorCode code = ErrorCode::kInvalidFormat) {
  throw TensorError(message, code);
}

/// Parses the header. The depth is bounded, so that no header of brackets takes many times its size, and a name that
/// appears twice is an error instead of the last one's victory.
json parse_header(std::span<const std::byte> text) {
  std::set<std::string> names;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      if (depth >= kDeepestHeader) invalid(concat("the header is nested deeper than ", kDeepestHeader, " levels"));
    }
    if (event == json::parse_event_t::key && depth == 1 && !names.insert(value.get<std::string>()).second) {
      invalid(concat("two tensors have the name \"", value.get<std::string>(), "\""));
    }
    return true;
  };
  const auto* begin = reinterpret_cast<const char*>(text.data());
  return json::parse(begin, begin + text.size(), watch);
}

uint64_t unsigned_of(const json& value, const std::string& name, const char* what) {
  if (!value.is_number_unsigned()) invalid(concat("tensor \"", name, "\": ", what, " is not a whole number from 0"));
  return value.get<uint64_t>();
}

const json& member(const json& entry, const std::string& name, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end()) invalid(concat("tensor \"", name, "\" has no ", key));
  return *found;
}

DType dtype_from(const json& value, const std::string& name) {
  if (!value.is_string()) invalid(concat("tensor \"", name, "\": dtype is not a text"));
  const std::string& text = value.get_ref<const std::string&>();
  for (const DTypeName& entry : kDTypeNames) {
    if (text == entry.name) return entry.dtype;
  }
  invalid(concat("tensor \"", name, "\" has the dtype \"", text, "\", which is not supported"),
          ErrorCode::kUnsupported);
}

/// A tensor of the header with its place in the data.
struct Entry {
  WeightTensor tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Entry read_entry(const std::string& name, const json& value, std::span<const std::byte> data) {
  if (!value.is_object()) invalid(concat("tensor \"", name, "\" is not described by an object"));
  Entry entry;
  entry.tensor.name = name;
  entry.tensor.dtype = dtype_from(member(value, name, "dtype"), name);
  const json& shape = member(value, name, "shape");
  if (!shape.is_array()) invalid(concat("tensor \"", name, "\": shape is not a list"));
  for (const json& extent : shape) {
    const uint64_t n = unsigned_of(extent, name, "a dimension");
    if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      invalid(concat("tensor \"", name, "\" has a dimension of ", n));
    }
    entry.tensor.shape.push_back(static_cast<int64_t>(n));
  }
  const json& offsets = member(value, name, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) invalid(concat("tensor \"", name, "\": data_offsets is not a pair"));
  entry.begin = unsigned_of(offsets[0], name, "an offset");
  entry.end = unsigned_of(offsets[1], name, "an offset");
  if (entry.begin > entry.end || entry.end > data.size()) {
    invalid(concat("tensor \"", name, "\" lies at bytes ", entry.begin, " to ", entry.end, " of ", data.size(),
                   " bytes of data: the file is truncated or damaged"));
  }
  entry.tensor.bytes = data.subspan(entry.begin, entry.end - entry.begin);
  return entry;
}

void read_metadata(const json& value, WeightFile& file) {
  if (!value.is_object()) invalid("__metadata__ is not an object");
  for (const auto& item : value.items()) {
    if (!item.value().is_string()) invalid(concat("__metadata__: the value of \"", item.key(), "\" is not a text"));
    file.metadata()[item.key()] = item.value().get<std::string>();
  }
}

/// The tensors must lie one after the other and fill the data, so that no byte is hidden or used twice.
void check_cover(const std::vector<Entry>& entries, uint64_t size) {
  uint64_t position = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != position) {
      invalid(concat("tensor \"", entry.tensor.name, "\" begins at byte ", entry.begin, " of the data, where ",
                     position,
                     " is expected: ", entry.begin < position ? "it overlaps another tensor" : "there is a gap"));
    }
    position = entry.end;
  }
  if (position != size) {
    invalid(concat("the tensors end at byte ", position, " of ", size, " bytes of data: the rest belongs to none"));
  }
}

void read_tensors(const ByteSource& source, WeightFile& file) {
  const std::span<const std::byte> bytes = source.bytes;
  if (bytes.size() < kLengthBytes)
    invalid(concat("the file has ", bytes.size(), " bytes; its header length alone takes 8"));
  const uint64_t length = read_length(bytes);
  if (length > kLongestHeader)
    invalid(concat("the header claims ", length, " bytes; at most ", kLongestHeader, " are read"));
  if (length > bytes.size() - kLengthBytes) {
    invalid(concat("the header claims ", length, " bytes, but only ", bytes.size() - kLengthBytes, " follow"));
  }
  const json header = parse_header(bytes.subspan(kLengthBytes, length));
  if (!header.is_object()) invalid("the header is not a JSON object");
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + length);
  std::vector<Entry> entries;
  for (const auto& item : header.items()) {
    if (item.key() == kMetadataKey) {
      read_metadata(item.value(), file);
    } else {
      entries.push_back(read_entry(item.key(), item.value(), data));
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  for (const Entry& entry : entries) {
    if (auto added = file.add(entry.tensor); !added) throw TensorError(added.error().message, added.error().code);
  }
  check_cover(entries, data.size());
}

/// Order of the tensors in a written file.
std::vector<const WeightTensor*> sorted(std::span<const WeightTensor> tensors) {
  std::vector<const WeightTensor*> order;
  for (const WeightTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const WeightTensor* a, const WeightTensor* b) {
    const size_t size_a = size_of(a->dtype);
    const size_t size_b = size_of(b->dtype);
    return size_a != size_b ? size_a > size_b : a->name < b->name;
  });
  return order;
}

Result<void> check_writable(const std::vector<const WeightTensor*>& order) {
  std::set<std::string_view> names;
  for (const WeightTensor* tensor : order) {
    TANDEM_TRY(size, tensor_bytes(tensor->name, tensor->dtype, tensor->shape));
    if (size != tensor->bytes.size()) {
      return fail(ErrorCode::kInvalidArgument, concat("tensor \"", tensor->name, "\" is ", tensor->type_text(),
                                                      " and needs ", size, " bytes, but has ", tensor->bytes.size()));
    }
    if (tensor->name == kMetadataKey) {
      return fail(ErrorCode::kInvalidArgument, "a tensor cannot be named __metadata__ in a safetensors file");
    }
    if (!names.insert(tensor->name).second) {
      return fail(ErrorCode::kInvalidArgument, concat("two tensors have the name \"", tensor->name, "\""));
    }
  }
  return {};
}

}  // namespace

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes + 2 || bytes[kLengthBytes] != std::byte{'{'}) return false;
  return read_length(bytes) <= kLongestHeader;
}

std::string safetensors_beginning(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes + 2)
    return concat("it has ", bytes.size(), " bytes, but a header with its length takes ", kLengthBytes + 2);
  const uint64_t length = read_length(bytes);
  const std::string stated = concat("its first 8 bytes state a header of ", length, " bytes");
  const auto first = static_cast<unsigned char>(bytes[kLengthBytes]);
  if (first == '{') return concat(stated, "; at most ", kLongestHeader, " are read");
  const bool is_text = first > 0x20 && first < 0x7f;
  return concat(stated, ", and what follows begins with ",
                is_text ? concat("\"", static_cast<char>(first), "\"") : concat("the byte ", int{first}),
                ", not with \"{\"");
}

Result<WeightFile> read_safetensors(ByteSource source, std::string origin) {
  WeightFile file(std::move(origin));
  try {
    read_tensors(source, file);
  } catch (const TensorError& error) {
    return fail(error.code(), concat(file.origin(), " is not a usable safetensors file: ", error.what()));
  } catch (const json::exception& error) {
    return fail(ErrorCode::kInvalidFormat,
                concat(file.origin(), " is not a usable safetensors file: its header: ", json_reason(error)));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit,
                concat(file.origin(), ": not enough memory for the header of this safetensors file"));
  }
  file.keep(std::move(source));
  return file;
}

Result<std::vector<std::byte>> write_safetensors(std::span<const WeightTensor> tensors,
                                                 const std::map<std::string, std::string>& metadata) {
  const std::vector<const WeightTensor*> order = sorted(tensors);
  if (auto ok = check_writable(order); !ok) return tl::unexpected<JitError>(ok.error());
  uint64_t position = 0;
  std::string text = "{";
  try {
    if (!metadata.empty()) text += concat(json(kMetadataKey).dump(), ":", json(metadata).dump());
    for (const WeightTensor* tensor : order) {
      const uint64_t end = position + tensor->bytes.size();
      text +=
          concat(text.size() > 1 ? "," : "", json(tensor->name).dump(), ":{\"dtype\":\"", file_name_of(tensor->dtype),
                 "\",\"shape\":[", join(tensor->shape, ","), "],\"data_offsets\":[", position, ",", end, "]}");
      position = end;
    }
  } catch (const json::exception& error) {
    return fail(ErrorCode::kInvalidArgument, concat("a tensor name or text is not UTF-8: ", json_reason(error)));
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  std::vector<std::byte> bytes(kLengthBytes + text.size() + position);
  for (size_t i = 0; i < kLengthBytes; ++i) bytes[i] = static_cast<std::byte>(text.size() >> (8 * i));
  std::memcpy(bytes.data() + kLengthBytes, text.data(), text.size());
  std::byte* target = bytes.data() + kLengthBytes + text.size();
  for (const WeightTensor* tensor : order) {
    if (!tensor->bytes.empty()) std::memcpy(target, tensor->bytes.data(), tensor->bytes.size());
    target += tensor->bytes.size();
  }
  return bytes;
}

}  // namespace tandem
