#pragma once

#include <utility>

#include "core/backend/index_program.h"
#include "core/jit/session.h"

namespace tandem {

/// A symbolic size and its present bounds.
struct Session::Variable {
  std::string name;
  int64_t min;
  int64_t max;
};

/// What a session was told before prepare().
struct Session::Declarations {
  struct Input {
    std::string name;
    std::optional<std::pair<DType, Shape>> own;  ///< Element type and shape; nothing: they come with prepare().
  };
  struct State {
    std::string name;
    DType dtype;
    Shape shape;
  };
  struct Output {
    std::string name;
    std::optional<DType> dtype;
  };
  /// Elements `first` .. `first + size() - 1` of the inputs, states or outputs.
  struct Array {
    const char* kind;  ///< "input", "state" or "output".
    std::string name;
    int64_t count;  ///< As declared, which may be out of range.
    size_t first;
    bool own;  ///< Element type and shape are declared.

    bool valid() const { return count >= 0 && count <= kMostElements; }
    size_t size() const { return valid() ? static_cast<size_t>(count) : 0; }
  };
  std::string name;
  std::vector<Input> inputs;
  std::vector<State> states;
  std::vector<Output> outputs;
  std::vector<Variable> variables;
  std::vector<Array> arrays;

  Variable* find(std::string_view variable);
  /// "declared: b, t": for messages.
  std::string variable_names() const;
};

/// What prepare() made. Records stay where they are: views point at them.
struct Session::Prepared {
  static constexpr size_t kUnused = SIZE_MAX;

  /// A dimension of an output that changes with the variables.
  struct LiveDim {
    size_t output;
    size_t axis;
    IndexProgram extent;
  };
  /// A state's two buffers: read by a step, written by it.
  struct StateLink {
    uint32_t current;
    uint32_t next;
    /// The new value is also an output of another name, which must keep its place: copied, not exchanged.
    bool shared;
    size_t bytes;
  };

  std::shared_ptr<Plan> plan;  ///< Of this session alone.
  std::vector<BufferRecord> inputs, states, outputs;
  std::vector<LiveDim> live_dims;
  std::vector<StateLink> links;
  std::vector<size_t> plan_variable;  ///< Per declared variable: its place in the plan's values, or kUnused.
  std::vector<int64_t> maxima;        ///< Values of one call, in the plan's order: all at their upper bounds.
  std::vector<int64_t> values;        ///< Of the present call.
  std::vector<bool> named;            ///< Per declared variable: named in the present call.
};

}  // namespace tandem
