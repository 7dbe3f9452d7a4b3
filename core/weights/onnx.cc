#include "core/weights/onnx.h"

#include <algorithm>
#include <new>

#include "core/base/text.h"
#include "core/weights/onnx_tensor.h"
#include "core/weights/protobuf.h"

namespace tandem {
namespace {

using protozero::pbf_reader;

// Field numbers in onnx.proto.
enum ModelField : uint32_t {
  kProducerName = 2,
  kProducerVersion = 3,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14,
  kFunctions = 25
};
enum GraphField : uint32_t { kNode = 1, kGraphName = 2, kInitializer = 5, kSparseInitializer = 15 };
enum NodeField : uint32_t { kOutput = 2, kNodeName = 3, kOpType = 4, kAttribute = 5 };
enum AttributeField : uint32_t {
  kAttributeName = 1,
  kFloat = 2,
  kInt = 3,
  kTensor = 5,
  kSubGraph = 6,
  kFloats = 7,
  kInts = 8,
  kSubGraphs = 11
};
enum FunctionField : uint32_t { kFunctionName = 1, kFunctionNode = 7 };

constexpr int kDeepestGraph = 64;
constexpr size_t kLongestPathStep = 100;

[[noreturn]] void invalid(const std::string& message, ErrorCode code = ErrorCode::kInvalidFormat) {
  throw TensorError(message, code);
}

/// Walks model, graphs, nodes and attributes and collects tensors.
class OnnxWalker {
 public:
  explicit OnnxWalker(WeightFile& file) : file_(file) {}

  void walk_model(pbf_reader model) {
    bool has_graph = false;
    bool has_opset = false;
    while (model.next()) {
      switch (model.tag()) {
        case kProducerName:
          file_.metadata()["producer_name"] = model.get_string();
          break;
        case kProducerVersion:
          file_.metadata()["producer_version"] = model.get_string();
          break;
        case kGraph:
          has_graph = true;
          walk_graph(model.get_message(), "", 0);
          break;
        case kOpsetImport:
          has_opset = true;
          model.skip();
          break;
        case kMetadata:
          read_metadata(model.get_message());
          break;
        case kFunctions:
          walk_function(model.get_message());
          break;
        default:
          model.skip();
      }
    }
    if (!has_graph) invalid("it holds no graph, so it is not an ONNX model or it is truncated");
    // Every model imports an operator set. Writers put it after the graph, so that its absence also shows a lost end.
    if (!has_opset) invalid("it imports no operator set, so it is not an ONNX model or its end is missing");
  }

 private:
  void read_metadata(pbf_reader entry) {
    std::string key;
    std::string value;
    while (entry.next()) {
      if (entry.tag() == 1) {
        key = entry.get_string();
      } else if (entry.tag() == 2) {
        value = entry.get_string();
      } else {
        entry.skip();
      }
    }
    file_.metadata()[key] = value;
  }

  void walk_function(pbf_reader function) {
    std::string name;
    // The name may come after the nodes, so that it needs a pass of its own.
    for (pbf_reader look = function; look.next();) {
      if (look.tag() == kFunctionName) {
        name = look.get_string();
      } else {
        look.skip();
      }
    }
    while (function.next()) {
      if (function.tag() == kFunctionNode) {
        walk_node(function.get_message(), name, 0);
      } else {
        function.skip();
      }
    }
  }

  void walk_graph(pbf_reader graph, const std::string& path, int depth) {
    if (depth > kDeepestGraph) {
      invalid(concat("graphs are nested deeper than ", kDeepestGraph, " levels"), ErrorCode::kUnsupported);
    }
    while (graph.next()) {
      switch (graph.tag()) {
        case kNode:
          walk_node(graph.get_message(), path, depth);
          break;
        case kInitializer:
          add(onnx_detail::parse_tensor(graph.get_message(), "", file_), path);
          break;
        case kSparseInitializer:
          add_sparse(graph.get_message());
          break;
        case kGraphName:
          if (depth == 0)
            file_.metadata()["graph_name"] = graph.get_string();
          else
            graph.skip();
          break;
        default:
          graph.skip();
      }
    }
  }

  void walk_node(pbf_reader node, const std::string& path, int depth) {
    std::string op_type;
    std::string name;
    std::string output;
    std::vector<pbf_reader> attributes;
    while (node.next()) {
      switch (node.tag()) {
        case kOutput: {
          std::string text = node.get_string();
          if (output.empty()) output = std::move(text);
          break;
        }
        case kNodeName:
          name = node.get_string();
          break;
        case kOpType:
          op_type = node.get_string();
          break;
        case kAttribute:
          attributes.push_back(node.get_message());
          break;
        default:
          node.skip();
      }
    }
    for (const pbf_reader& attribute : attributes) {
      if (op_type == "Constant") read_constant(attribute, output, path);
      walk_attribute(attribute, path, name.empty() ? op_type : name, depth);
    }
  }

  /// Looks for sub-graphs.
  void walk_attribute(pbf_reader attribute, const std::string& path, const std::string& node, int depth) {
    std::string name;
    std::vector<pbf_reader> graphs;
    while (attribute.next()) {
      switch (attribute.tag()) {
        case kAttributeName:
          name = attribute.get_string();
          break;
        case kSubGraph:
        case kSubGraphs:
          graphs.push_back(attribute.get_message());
          break;
        default:
          attribute.skip();
      }
    }
    for (size_t i = 0; i < graphs.size(); ++i) {
      const std::string step = graphs.size() == 1 ? name : concat(name, "[", i, "]");
      // The path is for people. Without a limit, a damaged file could make it grow with the square of the file's size.
      const std::string_view short_node = std::string_view(node).substr(0, kLongestPathStep);
      const std::string_view short_step = std::string_view(step).substr(0, kLongestPathStep);
      walk_graph(graphs[i], concat(path, path.empty() ? "" : "/", short_node, ".", short_step), depth + 1);
    }
  }

  /// The value of a `Constant` node: a tensor, or one of the shorter forms for numbers.
  void read_constant(pbf_reader attribute, const std::string& output, const std::string& path) {
    std::vector<float> floats;
    std::vector<int64_t> ints;
    std::string name;
    while (attribute.next()) {
      const bool packed = attribute.wire_type() == protozero::pbf_wire_type::length_delimited;
      switch (attribute.tag()) {
        case kAttributeName:
          name = attribute.get_string();
          break;
        case kTensor: {
          if (output.empty()) invalid("a Constant node has no output, so that its tensor has no name");
          add(onnx_detail::parse_tensor(attribute.get_message(), output, file_), path);
          break;
        }
        case kFloat:
          floats.push_back(attribute.get_float());
          break;
        case kInt:
          ints.push_back(attribute.get_int64());
          break;
        case kFloats:
          if (packed)
            for (const float value : attribute.get_packed_float()) floats.push_back(value);
          else
            floats.push_back(attribute.get_float());
          break;
        case kInts:
          if (packed)
            for (const int64_t value : attribute.get_packed_int64()) ints.push_back(value);
          else
            ints.push_back(attribute.get_int64());
          break;
        default:
          attribute.skip();
      }
    }
    if (name == "value_float" || name == "value_floats") add_numbers(floats, name == "value_floats", output, path);
    if (name == "value_int" || name == "value_ints") add_numbers(ints, name == "value_ints", output, path);
    if (name == "value_string" || name == "value_strings" || name == "sparse_value") {
      file_.add_unreadable(output, concat("it is a constant of the kind ", name, ", which is not supported"));
    }
  }

  template <typename T>
  void add_numbers(const std::vector<T>& values, bool list, const std::string& name, const std::string& path) {
    if (!list && values.size() != 1)
      invalid(concat("constant \"", name, "\" has ", values.size(), " values instead of one"));
    onnx_detail::ParsedTensor parsed;
    parsed.tensor.name = name;
    parsed.tensor.dtype = dtype_of<T>;
    if (list) parsed.tensor.shape = {static_cast<int64_t>(values.size())};
    parsed.tensor.bytes = onnx_detail::keep_values(values, file_);
    add(std::move(parsed), path);
  }

  void add_sparse(pbf_reader sparse) {
    while (sparse.next()) {
      if (sparse.tag() == 1) {
        const onnx_detail::ParsedTensor values = onnx_detail::parse_tensor(sparse.get_message(), "", file_);
        file_.add_unreadable(values.tensor.name, "it is a sparse tensor, which is not supported");
      } else {
        sparse.skip();
      }
    }
  }

  void add(onnx_detail::ParsedTensor parsed, const std::string& path) {
    WeightTensor& tensor = parsed.tensor;
    if (tensor.name.empty()) invalid("an initializer has no name");
    if (const WeightTensor* other = file_.find(tensor.name)) {
      if (other->dtype == tensor.dtype && other->shape == tensor.shape &&
          std::equal(other->bytes.begin(), other->bytes.end(), tensor.bytes.begin(), tensor.bytes.end())) {
        return;
      }
      tensor.name = free_name(concat(path.empty() ? "graph" : path, "/", tensor.name));
    }
    if (!parsed.unreadable.empty()) {
      file_.add_unreadable(tensor.name, parsed.unreadable);
    } else if (auto added = file_.add(std::move(tensor)); !added) {
      throw TensorError(added.error().message, added.error().code);
    }
  }

  /// The name, or the name with a number that no other tensor has. Counts on from the last one, so that a file of
  /// nothing but equal names takes no longer than another.
  std::string free_name(const std::string& wanted) {
    std::string name = wanted;
    while (file_.find(name) != nullptr) name = concat(wanted, "#", ++copies_.emplace(wanted, 1).first->second);
    return name;
  }

  WeightFile& file_;
  std::map<std::string, int64_t> copies_;
};

}  // namespace

Result<WeightFile> read_onnx(ByteSource source, std::string origin) {
  WeightFile file(std::move(origin));
  try {
    const auto* data = reinterpret_cast<const char*>(source.bytes.data());
    OnnxWalker(file).walk_model(pbf_reader(data, source.bytes.size()));
  } catch (const TensorError& error) {
    return fail(error.code(), concat(file.origin(), " is not a usable ONNX file: ", error.what()));
  } catch (const protozero::exception& error) {
    return fail(ErrorCode::kInvalidFormat,
                concat(file.origin(), " is not a usable ONNX file: it is truncated or damaged (", error.what(), ")"));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kMemoryLimit, concat(file.origin(), ": not enough memory to read this ONNX file"));
  }
  file.keep(std::move(source));
  return file;
}

}  // namespace tandem
