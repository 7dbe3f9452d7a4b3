#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::testing {

/// Just enough of a protobuf writer to make ONNX files for tests, independent of the library that the reader uses.
class ProtoWriter {
 public:
  ProtoWriter& varint(int field, uint64_t value) {
    put((static_cast<uint64_t>(field) << 3) | 0);
    put(value);
    return *this;
  }
  ProtoWriter& bytes(int field, const std::string& value) {
    put((static_cast<uint64_t>(field) << 3) | 2);
    put(value.size());
    text_ += value;
    return *this;
  }
  ProtoWriter& fixed32(int field, const void* value) {
    put((static_cast<uint64_t>(field) << 3) | 5);
    text_.append(static_cast<const char*>(value), 4);
    return *this;
  }
  ProtoWriter& fixed64(int field, const void* value) {
    put((static_cast<uint64_t>(field) << 3) | 1);
    text_.append(static_cast<const char*>(value), 8);
    return *this;
  }
  /// A bare varint, as packed fields contain them.
  ProtoWriter& put(uint64_t value) {
    while (value >= 128) {
      text_ += static_cast<char>(value % 128 + 128);
      value /= 128;
    }
    text_ += static_cast<char>(value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Little-endian bytes of the values.
template <typename T>
std::string raw_bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// TensorProto with raw data. `data_type` is the number of onnx.proto: 1 f32, 6 i32, 7 i64, 9 bool, 10 f16, 11 f64.
inline std::string onnx_tensor(const std::string& name, int data_type, const std::vector<int64_t>& dims,
                               const std::string& raw) {
  ProtoWriter writer;
  for (const int64_t dim : dims) writer.varint(1, static_cast<uint64_t>(dim));
  writer.varint(2, static_cast<uint64_t>(data_type)).bytes(8, name).bytes(9, raw);
  return writer.text();
}

inline std::string onnx_attribute_tensor(const std::string& name, const std::string& tensor) {
  return ProtoWriter().bytes(1, name).bytes(5, tensor).text();
}

inline std::string onnx_attribute_graph(const std::string& name, const std::string& graph) {
  return ProtoWriter().bytes(1, name).bytes(6, graph).text();
}

inline std::string onnx_node(const std::string& op, const std::string& name, const std::string& output,
                             const std::vector<std::string>& attributes) {
  ProtoWriter writer;
  writer.bytes(2, output);
  if (!name.empty()) writer.bytes(3, name);
  writer.bytes(4, op);
  for (const std::string& attribute : attributes) writer.bytes(5, attribute);
  return writer.text();
}

inline std::string onnx_graph(const std::vector<std::string>& nodes, const std::vector<std::string>& initializers) {
  ProtoWriter writer;
  for (const std::string& node : nodes) writer.bytes(1, node);
  for (const std::string& initializer : initializers) writer.bytes(5, initializer);
  return writer.text();
}

inline std::string onnx_model(const std::string& graph) {
  return ProtoWriter()
      .varint(1, 8)
      .bytes(2, "test")
      .bytes(7, graph)
      .bytes(8, ProtoWriter().varint(2, 17).text())
      .text();
}

}  // namespace tandem::testing
