#pragma once

#include "core/weights/weight_file.h"

namespace tandem {

/// Reads the constant tensors of an ONNX model: initializers and `Constant` nodes of the main graph, of every nested
/// sub-graph (branches, loop bodies) and of the model's functions. The nodes themselves are not looked at.
///
/// An initializer has its own name, a constant that of the node's output. When a name appears again in another
/// sub-graph with other contents, the later tensor is called "<path>/<name>", with the path of nodes and attributes
/// that leads to it; a repetition with the same contents is dropped. Raw data is viewed in place, other data is copied.
/// Tensors of types that the engine does not have, external data and sparse tensors are listed in `unreadable()`.
/// Model producer, graph name and metadata go into `metadata()`.
/// Errors: kInvalidFormat (not an ONNX model, truncated, sizes that do not fit, with the tensor's name), kUnsupported
/// (nested deeper than 64 sub-graphs), kMemoryLimit.
Result<WeightFile> read_onnx(ByteSource source, std::string origin);

}  // namespace tandem
