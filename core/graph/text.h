#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace tandem {

/// The text of a graph, one node a line:
///
///   variables t: 1 .. 1500, b: 2 .. 8 multiple 2
///   %0 = input f32[b, t] number=0 "samples"
///   %1 = constant f32[64, 32] "encoder.weight" hash=8d1c02f1a3b4c5d6
///   %2 = constant i64[3] "" values=[1, 2, 3]
///   %3 = pad f32[b, t + 2] %0, %4 before=[0, 1] after=[0, 1]
///   outputs %3 "padded"
///
/// Nodes that no output needs are left out, and the numbers are counted anew, so that equal graphs have equal texts.
struct TextOptions {
  /// Adds "# encoder.0 / conv1d" behind each node that knows where it came from.
  bool origins = false;
};
std::string print_graph(const GraphModule& module, const TextOptions& options = {});

/// Finds the data of a constant that a text names without its values. Returning nothing is an error of the reader.
using ConstantResolver =
    std::function<std::shared_ptr<const ConstantData>(std::string_view name, DType dtype, const Shape& shape)>;

/// Reads what `print_graph` wrote: print(parse(text)) == text. A "#" starts a comment; `hash=` may be left out. The
/// stated dtype and shape of each node are compared with what the rules infer. Throws TensorError (InvalidFormat) with
/// the number of the line.
GraphModule parse_graph(std::string_view text, const ConstantResolver& resolver = {});

}  // namespace tandem
