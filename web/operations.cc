// The table of tensor operations that JavaScript has: a row gives the methods of tensor.js their name, arguments and
// meaning. jit.d.ts describes them; a test compares both, and the table with core/tensor.

#include <string>
#include <tuple>
#include <vector>

#include "core/base/text.h"
#include "core/tensor/nn.h"
#include "web/arguments.h"
#include "web/boundary.h"

namespace tandem::web {

namespace {

using Tensors = std::vector<Tensor>;

/// A tensor operation.
struct Operation {
  const char* name;
  /// Names of the arguments in order, `name=text` for one that may be left out; those behind '|' are properties of an
  /// object.
  const char* parameters;
  /// "": one tensor, "[]": an array, "h c": an object with these properties.
  const char* results;
  std::vector<const char*> kinds;
  Tensors (*call)(Arguments&);
};

Tensors results_of(Tensor tensor) { return {std::move(tensor)}; }
Tensors results_of(Tensors tensors) { return tensors; }
Tensors results_of(LstmOutput state) { return {std::move(state.h), std::move(state.c)}; }

/// Takes the arguments of a function from their text; the type of each gives its form.
template <auto function>
struct Adapter;
template <typename Result, typename... Parameters, Result (*function)(Parameters...)>
struct Adapter<function> {
  static std::vector<const char*> kinds() { return {kind_of<std::decay_t<Parameters>>...}; }
  static Tensors call(Arguments& arguments) {
    // Braces fix the order of reading.
    std::tuple<std::decay_t<Parameters>...> all{arguments.take<std::decay_t<Parameters>>()...};
    return results_of(std::apply(function, std::move(all)));
  }
};
template <typename Result, typename... Parameters, Result (Tensor::*method)(Parameters...) const>
struct Adapter<method> {
  static std::vector<const char*> kinds() { return {kind_of<Tensor>, kind_of<std::decay_t<Parameters>>...}; }
  static Tensors call(Arguments& arguments) {
    std::tuple<Tensor, std::decay_t<Parameters>...> all{arguments.take<Tensor>(),
                                                        arguments.take<std::decay_t<Parameters>>()...};
    return results_of(std::apply(method, std::move(all)));
  }
};

template <auto function>
Operation operation(const char* name, const char* parameters, const char* results = "") {
  return {name, parameters, results, Adapter<function>::kinds(), &Adapter<function>::call};
}

[[noreturn]] void refuse_numbers(const char* operation) {
  throw TensorError(concat(operation, ": both operands are numbers; one must be a tensor (full() makes one)"));
}

template <Op op>
Tensor binary_of(const Operand& x, const Operand& y) {
  const Tensor* left = std::get_if<Tensor>(&x);
  const Tensor* right = std::get_if<Tensor>(&y);
  if (left && right) return binary(op, *left, *right);
  if (left) return binary(op, *left, std::get<Number>(y));
  if (right) return binary(op, std::get<Number>(x), *right);
  refuse_numbers(name_of(op));
}
template <Op op>
Tensor flipped_of(const Operand& x, const Operand& y) {
  return binary_of<op>(y, x);
}
template <Op op>
Tensor unary_of(const Tensor& x) {
  return unary(op, x);
}
template <Op op>
Operation binary_operation(const char* name) {
  return operation<&binary_of<op>>(name, "x y");
}
template <Op op>
Operation unary_operation(const char* name) {
  return operation<&unary_of<op>>(name, "x");
}

Tensor where_of(const Tensor& condition, const Operand& x, const Operand& y) {
  const Tensor* left = std::get_if<Tensor>(&x);
  const Tensor* right = std::get_if<Tensor>(&y);
  if (left && right) return where(condition, *left, *right);
  if (left) return where(condition, *left, std::get<Number>(y));
  if (right) return where(condition, std::get<Number>(x), *right);
  refuse_numbers("where");
}

Tensor softmax_of(const Tensor& x, int axis, const Tensor& lengths) {
  return lengths.empty() ? softmax(x, axis) : softmax(x, axis, lengths);
}
LstmOutput lstm_cell_of(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w_ih, const Tensor& w_hh,
                        const Tensor& b_ih, const Tensor& b_hh) {
  return lstm_cell(x, h, c, w_ih, w_hh, b_ih, b_hh);
}

Tensor conv1d_of(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
                 int64_t dilation, int64_t groups) {
  return conv1d(x, weight, bias, {stride, padding, dilation, groups});
}

/// One number for both axes, or one for each.
std::array<int64_t, 2> two(const char* name, const std::vector<int64_t>& values) {
  if (values.size() == 1) return {values[0], values[0]};
  if (values.size() == 2) return {values[0], values[1]};
  throw TensorError(concat("conv2d: ", name, " has ", values.size(), " numbers; give one, or one for each of 2 axes"));
}

Tensor conv2d_of(const Tensor& x, const Tensor& weight, const Tensor& bias, const std::vector<int64_t>& stride,
                 const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation, int64_t groups) {
  return conv2d(x, weight, bias, {two("stride", stride), two("padding", padding), two("dilation", dilation), groups});
}

void add_movement(std::vector<Operation>& all) {
  all.insert(
      all.end(),
      {operation<&Tensor::reshape>("reshape", "x shape"), operation<&Tensor::permute>("permute", "x order"),
       operation<&Tensor::transpose>("transpose", "x a b"), operation<&Tensor::unsqueeze>("unsqueeze", "x axis"),
       operation<&Tensor::squeeze>("squeeze", "x axis"), operation<&Tensor::flatten>("flatten", "x first=0 last=-1"),
       operation<&Tensor::expand>("expand", "x shape"), operation<&Tensor::pad>("pad", "x amounts value=0"),
       operation<&Tensor::reflect_pad>("reflectPad", "x amounts"), operation<&Tensor::shrink>("shrink", "x ranges"),
       operation<&Tensor::slice>("slice", "x axis begin end=9223372036854775807 step=1"),
       operation<&Tensor::flip>("flip", "x axes"),
       operation<&Tensor::window>("window", "x axis size step=1 dilation=1"),
       operation<&Tensor::split>("split", "x axis sizes", "[]"),
       operation<&Tensor::chunk>("chunk", "x axis parts", "[]"), operation<&Tensor::gather>("gather", "x axis indices"),
       operation<&Tensor::limit>("limit", "x axis lengths fill=0"), operation<&Tensor::cast>("cast", "x dtype"),
       operation<&Tensor::bitcast>("bitcast", "x dtype")});
}

void add_reductions(std::vector<Operation>& all) {
  const char* const parameters = "x axes= keepdims=false";
  all.insert(all.end(), {operation<&Tensor::sum>("sum", parameters), operation<&Tensor::prod>("prod", parameters),
                         operation<&Tensor::max>("max", parameters), operation<&Tensor::min>("min", parameters),
                         operation<&Tensor::mean>("mean", parameters),
                         operation<&Tensor::var>("var", "x axes= keepdims=false correction=0"),
                         operation<&Tensor::any>("any", parameters), operation<&Tensor::all>("all", parameters),
                         operation<&Tensor::argmax>("argmax", "x axis keepdims=false"),
                         operation<&Tensor::cumsum>("cumsum", "x axis")});
}

void add_sources(std::vector<Operation>& all) {
  all.insert(all.end(),
             {operation<&full>("full", "shape value dtype=f32"), operation<&zeros>("zeros", "shape dtype=f32"),
              operation<&arange>("arange", "n dtype=i64"), operation<&size_tensor>("sizeTensor", "dim dtype=i64"),
              operation<static_cast<Tensor (*)(const Tensors&, int)>(&tandem::concat)>("concat", "tensors axis"),
              operation<&stack>("stack", "tensors axis"), operation<&where_of>("where", "condition x y"),
              operation<&embedding>("embedding", "indices table")});
}

void add_elementwise(std::vector<Operation>& all) {
  all.insert(all.end(), {binary_operation<Op::kAdd>("add"),
                         binary_operation<Op::kSub>("sub"),
                         binary_operation<Op::kMul>("mul"),
                         binary_operation<Op::kDiv>("div"),
                         binary_operation<Op::kMod>("mod"),
                         binary_operation<Op::kPow>("pow"),
                         binary_operation<Op::kMin>("minimum"),
                         binary_operation<Op::kMax>("maximum"),
                         binary_operation<Op::kAnd>("bitwiseAnd"),
                         binary_operation<Op::kOr>("bitwiseOr"),
                         binary_operation<Op::kXor>("bitwiseXor"),
                         binary_operation<Op::kShl>("shiftLeft"),
                         binary_operation<Op::kShr>("shiftRight"),
                         binary_operation<Op::kLess>("less"),
                         binary_operation<Op::kLessEqual>("lessEqual"),
                         binary_operation<Op::kEqual>("equal"),
                         binary_operation<Op::kNotEqual>("notEqual"),
                         operation<&flipped_of<Op::kLess>>("greater", "x y"),
                         operation<&flipped_of<Op::kLessEqual>>("greaterEqual", "x y"),
                         unary_operation<Op::kNeg>("neg"),
                         unary_operation<Op::kAbs>("abs"),
                         unary_operation<Op::kSqrt>("sqrt"),
                         unary_operation<Op::kExp>("exp"),
                         unary_operation<Op::kLog>("log"),
                         unary_operation<Op::kSin>("sin"),
                         unary_operation<Op::kCos>("cos"),
                         unary_operation<Op::kTanh>("tanh"),
                         unary_operation<Op::kSigmoid>("sigmoid"),
                         unary_operation<Op::kErf>("erf"),
                         unary_operation<Op::kFloor>("floor"),
                         unary_operation<Op::kCeil>("ceil"),
                         unary_operation<Op::kTrunc>("trunc"),
                         unary_operation<Op::kRound>("round"),
                         unary_operation<Op::kNot>("logicalNot")});
}

void add_layers(std::vector<Operation>& all) {
  all.insert(
      all.end(),
      {operation<&matmul>("matmul", "a b"), operation<&linear>("linear", "x weight bias="),
       operation<&conv1d_of>("conv1d", "x weight bias= | stride=1 padding=0 dilation=1 groups=1"),
       operation<&conv2d_of>("conv2d", "x weight bias= | stride=1 padding=0 dilation=1 groups=1"),
       operation<&softmax_of>("softmax", "x axis lengths="), operation<&log_softmax>("logSoftmax", "x axis"),
       operation<&layer_norm>("layerNorm", "x weight bias= eps=0.00001"),
       operation<&batch_norm>("batchNorm", "x mean variance weight bias eps=0.00001"), operation<&relu>("relu", "x"),
       operation<&leaky_relu>("leakyRelu", "x slope=0.01"), operation<&elu>("elu", "x alpha=1"),
       operation<&silu>("silu", "x"), operation<&gelu>("gelu", "x"), operation<&softplus>("softplus", "x"),
       operation<&glu>("glu", "x axis"), operation<&lstm_cell_of>("lstmCell", "x h c wIh wHh bIh= bHh=", "h c")});
}

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> made;
    add_movement(made);
    add_reductions(made);
    add_sources(made);
    add_elementwise(made);
    add_layers(made);
    return made;
  }();
  return all;
}

}  // namespace

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

/// The table as text, a line per operation: name, parameters, results and kinds, with tabs between.
TANDEM_EXPORT const char* tandem_operations() {
  std::string out;
  for (const Operation& one : operations())
    out += concat(one.name, "\t", one.parameters, "\t", one.results, "\t", join(one.kinds, " "), "\n");
  return answer(std::move(out));
}

/// Adds nodes to the graph that is being built: the descriptions of the results, a line each; null: failed.
TANDEM_EXPORT const char* tandem_operation(uint32_t number, const char* arguments) {
  return guarded(static_cast<const char*>(nullptr), [&]() -> Result<const char*> {
    BuildScope& scope = BuildScope::current();
    Arguments all(arguments, scope);
    std::string out;
    for (Tensor& result : operations()[number].call(all)) out += scope.add(std::move(result)) + "\n";
    return answer(std::move(out));
  });
}
