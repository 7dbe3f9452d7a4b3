#include "tests/bench/gigaam_onnx.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "core/base/text.h"
#include "tests/support/onnx_writer.h"

namespace tandem::bench {
namespace {

using testing::ProtoWriter;
using testing::raw_bytes;
using Dims = std::vector<int64_t>;

// Numbers of onnx.proto.
constexpr int kFloat = 1, kInt64 = 7;
constexpr int kIntAttribute = 2, kFloatAttribute = 1, kIntsAttribute = 7;
constexpr int64_t kToTheEnd = int64_t{1} << 62;

std::string attribute(const std::string& name, int64_t value) {
  return ProtoWriter().bytes(1, name).varint(3, static_cast<uint64_t>(value)).varint(20, kIntAttribute).text();
}
std::string attribute(const std::string& name, float value) {
  return ProtoWriter().bytes(1, name).fixed32(2, &value).varint(20, kFloatAttribute).text();
}
std::string attribute(const std::string& name, const Dims& values) {
  ProtoWriter writer;
  writer.bytes(1, name);
  for (const int64_t value : values) writer.varint(8, static_cast<uint64_t>(value));
  return writer.varint(20, kIntsAttribute).text();
}

std::string value_info(const std::string& name, int type, const std::vector<std::string>& dims) {
  ProtoWriter shape;
  for (const std::string& dim : dims) {
    const bool number = dim[0] >= '0' && dim[0] <= '9';
    shape.bytes(1, number ? ProtoWriter().varint(1, std::stoull(dim)).text() : ProtoWriter().bytes(2, dim).text());
  }
  const std::string tensor = ProtoWriter().varint(1, static_cast<uint64_t>(type)).bytes(2, shape.text()).text();
  return ProtoWriter().bytes(1, name).bytes(2, ProtoWriter().bytes(1, tensor).text()).text();
}

/// Collects nodes and initializers; large ones go to the data file at once.
class Writer {
 public:
  Writer(const std::string& file, const WeightFile& weights, const GigaAmConfig& config)
      : file_(file), data_(file + ".data", std::ios::binary), weights_(weights), config_(config), e_(*config.encoder) {}

  void run() {
    const std::string mask = subsample();
    add_tables();
    for (int64_t i = 0; i < e_.n_layers; ++i) layer(concat("encoder.layers.", i, "."), mask);
    node("LogSoftmax", {linear(x_, "head.decoder_layers.0", 1)}, {attribute("axis", int64_t{-1})}, "log_probs");
    node("Identity", {lengths_}, {}, "encoded_lengths");
    finish();
  }

 private:
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& attributes = {}, std::string output = "") {
    if (output.empty()) output = concat(op, "_", ++count_);
    ProtoWriter writer;
    for (const std::string& input : inputs) writer.bytes(1, input);
    writer.bytes(2, output).bytes(3, "n_" + output).bytes(4, op);
    for (const std::string& one : attributes) writer.bytes(5, one);
    graph_.bytes(1, writer.text());
    return output;
  }

  /// The two halves of axis 2, of `size` elements each.
  std::pair<std::string, std::string> split(const std::string& x, int64_t size) {
    const std::string name = concat("Split_", ++count_);
    ProtoWriter writer;
    writer.bytes(1, x).bytes(1, axes({size, size})).bytes(2, name + "_a").bytes(2, name + "_b");
    writer.bytes(3, "n_" + name).bytes(4, "Split").bytes(5, attribute("axis", int64_t{2}));
    graph_.bytes(1, writer.text());
    return {name + "_a", name + "_b"};
  }

  std::string constant(const Dims& dims, const std::vector<int64_t>& values) {
    return small("i64", kInt64, dims, raw_bytes(values));
  }
  std::string constant(float value) { return small("f32", kFloat, {}, raw_bytes(std::vector<float>{value})); }
  std::string axes(const Dims& values) { return constant({static_cast<int64_t>(values.size())}, values); }
  std::string small(const std::string& kind, int type, const Dims& dims, const std::string& raw) {
    const auto [found, is_new] = constants_.emplace(concat(kind, dims.size(), raw), "");
    if (is_new) {
      found->second = concat("constant_", constants_.size());
      initializers_.bytes(5, testing::onnx_tensor(found->second, type, dims, raw));
    }
    return found->second;
  }

  /// An initializer whose values lie in the data file.
  std::string large(const std::string& name, const Dims& dims, const std::vector<float>& values) {
    const auto offset = static_cast<int64_t>(data_.tellp());
    data_.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(float)));
    if (!data_) throw std::runtime_error(file_ + ".data can't be written");
    ProtoWriter writer;
    for (const int64_t dim : dims) writer.varint(1, static_cast<uint64_t>(dim));
    writer.varint(2, kFloat).bytes(8, name);
    const auto entry = [&](const char* key, const std::string& value) {
      writer.bytes(13, ProtoWriter().bytes(1, key).bytes(2, value).text());
    };
    entry("location", std::filesystem::path(file_ + ".data").filename().string());
    entry("offset", std::to_string(offset));
    entry("length", std::to_string(values.size() * sizeof(float)));
    writer.varint(14, 1);
    initializers_.bytes(5, writer.text());
    return name;
  }

  std::vector<float> values(const std::string& name, float scale = 1) const {
    const WeightTensor* tensor = weights_.find(name);
    if (tensor == nullptr) throw std::runtime_error("no weight " + name);
    std::vector<float> result = *tensor->values<float>();
    for (float& value : result) value *= scale;
    return result;
  }
  std::string weight(const std::string& name, float scale = 1) {
    return large(name, weights_.find(name)->shape, values(name, scale));
  }

  std::string layer_norm(const std::string& x, const std::string& name) {
    return node("LayerNormalization", {x, weight(name + ".weight"), weight(name + ".bias")},
                {attribute("axis", int64_t{-1}), attribute("epsilon", 1e-5f)});
  }

  /// x [.., in] by the transposed weight [out, in], plus bias.
  std::string linear(const std::string& x, const std::string& name, float scale) {
    const Dims& shape = weights_.find(name + ".weight")->shape;
    const std::vector<float> rows = values(name + ".weight", scale);
    const auto out = static_cast<size_t>(shape[0]), in = static_cast<size_t>(shape[1]);
    std::vector<float> columns(rows.size());
    for (size_t o = 0; o < out; ++o)
      for (size_t i = 0; i < in; ++i) columns[i * out + o] = rows[o * in + i];
    const std::string product = node("MatMul", {x, large(name + ".weight_t", {shape[1], shape[0]}, columns)});
    return node("Add", {weight(name + ".bias", scale), product});
  }

  std::string silu(const std::string& x) { return node("Mul", {x, node("Sigmoid", {x})}); }

  /// bool [b, extent of the axis]: before the lane's length.
  std::string frame_mask(const std::string& x, int64_t axis) {
    const std::string extent =
        node("Gather", {node("Shape", {x}), constant({}, {axis})}, {attribute("axis", int64_t{0})});
    const std::string numbers = node("Range", {constant({}, {0}), extent, constant({}, {1})});
    return node("Less", {node("Unsqueeze", {numbers, axes({0})}), node("Unsqueeze", {lengths_, axes({1})})});
  }
  std::string as_float(const std::string& x) { return node("Cast", {x}, {attribute("to", int64_t{kFloat})}); }
  std::string zero_tail(const std::string& x) {
    return node("Mul", {x, as_float(node("Unsqueeze", {frame_mask(x, 2), axes({1})}))});
  }
  std::string swap_axes(const std::string& x) { return node("Transpose", {x}, {attribute("perm", Dims{0, 2, 1})}); }

  std::string subsample() {
    const int64_t k = e_.subs_kernel_size, pad = (k - 1) / 2;
    x_ = zero_tail("features");
    for (int64_t i = 0; i < e_.stages(); ++i) {
      const std::string name = concat("encoder.pre_encode.conv.", 2 * i);
      const std::string y = node("Conv", {x_, weight(name + ".weight"), weight(name + ".bias")},
                                 {attribute("kernel_shape", Dims{k}), attribute("strides", Dims{2}),
                                  attribute("pads", Dims{pad, pad}), attribute("group", int64_t{1})});
      lengths_ = node("Div", {node("Add", {lengths_, constant({}, {2 * pad - k + 2})}), constant({}, {2})});
      x_ = zero_tail(node("Relu", {y}));
    }
    x_ = swap_axes(x_);
    const std::string valid = frame_mask(x_, 1);
    keep_ = node("Unsqueeze", {as_float(valid), axes({2})});
    return node("Unsqueeze", {node("Where", {valid, constant(0.0f), constant(-10000.0f)}), axes({1, 2})});
  }

  void add_tables() {
    const int64_t size = e_.head_size(), most = e_.pos_emb_max_len;
    std::vector<float> cosine, sine;
    for (int64_t t = 0; t < most; ++t)
      for (int64_t i = 0; i < size; ++i) {
        const double power = -2.0 * static_cast<double>(i % (size / 2)) / static_cast<double>(size);
        const double angle = static_cast<double>(t) * std::pow(static_cast<double>(most), power);
        cosine.push_back(static_cast<float>(std::cos(angle)));
        sine.push_back(static_cast<float>(std::sin(angle)));
      }
    const std::string frames =
        node("Unsqueeze",
             {node("Gather", {node("Shape", {x_}), constant({}, {1})}, {attribute("axis", int64_t{0})}), axes({0})});
    const auto table = [&](const std::string& name, const std::vector<float>& all) {
      return node("Slice", {large(name, {1, most, 1, size}, all), axes({0}), frames, axes({1}), axes({1})});
    };
    cosine_ = table("rotary_cos", cosine);
    sine_ = table("rotary_sin", sine);
  }

  std::string reshape(const std::string& x, const Dims& shape) { return node("Reshape", {x, axes(shape)}); }

  std::string rotate(const std::string& x) {
    const int64_t half = e_.head_size() / 2;
    const auto part = [&](int64_t begin, int64_t end) {
      return node("Slice", {x, axes({begin}), axes({end}), axes({3}), axes({1})});
    };
    const std::string turned =
        node("Concat", {node("Neg", {part(half, kToTheEnd)}), part(0, half)}, {attribute("axis", int64_t{3})});
    return node("Add", {node("Mul", {x, cosine_}), node("Mul", {turned, sine_})});
  }

  std::string attention(const std::string& x, const std::string& name, const std::string& mask) {
    const Dims split = {0, 0, e_.n_heads, e_.head_size()}, joined = {0, 0, e_.d_model};
    const auto heads = [&](const std::string& y) {
      return node("Transpose", {reshape(y, split)}, {attribute("perm", Dims{0, 2, 1, 3})});
    };
    const std::string rotated = reshape(rotate(reshape(x, split)), joined);
    const std::string q = heads(linear(rotated, name + "linear_q", 1));
    const std::string k = heads(linear(rotated, name + "linear_k", 1));
    const std::string v = heads(linear(x, name + "linear_v", 1));
    const std::string kt = node("Transpose", {k}, {attribute("perm", Dims{0, 1, 3, 2})});
    const float root = std::sqrt(static_cast<float>(e_.head_size()));
    const std::string scores = node("MatMul", {q, node("Div", {kt, constant(root)})});
    const std::string shares = node("Softmax", {node("Add", {scores, mask})}, {attribute("axis", int64_t{-1})});
    const std::string sums = node("Transpose", {node("MatMul", {shares, v})}, {attribute("perm", Dims{0, 2, 1, 3})});
    return linear(reshape(sums, joined), name + "linear_out", 1);
  }

  std::string convolution(const std::string& x, const std::string& name) {
    const std::string both = linear(x, name + "pointwise_conv1", 1);
    const auto [first, second] = split(both, e_.d_model);
    std::string y = node("Mul", {first, node("Sigmoid", {second})});
    y = swap_axes(node("Mul", {y, keep_}));
    const int64_t pad = (e_.conv_kernel_size - 1) / 2;
    y = node("Conv", {y, weight(name + "depthwise_conv.weight"), weight(name + "depthwise_conv.bias")},
             {attribute("kernel_shape", Dims{e_.conv_kernel_size}), attribute("strides", Dims{1}),
              attribute("pads", Dims{pad, pad}), attribute("group", e_.d_model)});
    y = layer_norm(swap_axes(y), name + "batch_norm");
    return linear(silu(y), name + "pointwise_conv2", 1);
  }

  std::string feed_forward(const std::string& x, const std::string& name) {
    return linear(silu(linear(x, name + ".linear1", 1)), name + ".linear2", 0.5f);
  }

  void layer(const std::string& name, const std::string& mask) {
    const auto add = [&](const std::string& change) { x_ = node("Add", {x_, change}); };
    add(feed_forward(layer_norm(x_, name + "norm_feed_forward1"), name + "feed_forward1"));
    add(attention(layer_norm(x_, name + "norm_self_att"), name + "self_attn.", mask));
    add(convolution(layer_norm(x_, name + "norm_conv"), name + "conv."));
    add(feed_forward(layer_norm(x_, name + "norm_feed_forward2"), name + "feed_forward2"));
    x_ = layer_norm(x_, name + "norm_out");
  }

  void finish() {
    graph_.bytes(2, "gigaam");
    std::string graph = graph_.text() + initializers_.text();
    const std::string features = std::to_string(config_.mel.features),
                      classes = std::to_string(config_.head->num_classes);
    graph += ProtoWriter()
                 .bytes(11, value_info("features", kFloat, {"b", features, "t"}))
                 .bytes(11, value_info("feature_lengths", kInt64, {"b"}))
                 .bytes(12, value_info("log_probs", kFloat, {"b", "frames", classes}))
                 .bytes(12, value_info("encoded_lengths", kInt64, {"b"}))
                 .text();
    std::ofstream model(file_, std::ios::binary);
    model << testing::onnx_model(graph);
    data_.flush();
    if (!model.flush() || !data_) throw std::runtime_error(file_ + " can't be written");
  }

  const std::string file_;
  std::ofstream data_;
  const WeightFile& weights_;
  const GigaAmConfig& config_;
  const ConformerConfig& e_;
  ProtoWriter graph_, initializers_;
  std::map<std::string, std::string> constants_;
  int count_ = 0;
  std::string x_, lengths_ = "feature_lengths", keep_, cosine_, sine_;
};

}  // namespace

void write_gigaam_onnx(const std::string& file, const WeightFile& weights, const GigaAmConfig& config) {
  if (!config.encoder || config.encoder->subsampling != Subsampling::kConv1d ||
      config.encoder->conv_norm != ConvolutionNorm::kLayerNorm || !config.head || config.head->kind != GigaAmHead::kCtc)
    throw std::runtime_error("only GigaAM v3 with a CTC head is written");
  Writer(file, weights, config).run();
}

}  // namespace tandem::bench
