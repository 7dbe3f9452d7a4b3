#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/schedule/access.h"
#include "core/schedule/program_builder.h"

namespace tandem {

/// A load that an expression makes, in terms of the subscript that it was walked with.
struct BufferAccess {
  NodeId node;
  Index offset;  ///< In elements.
};

/// What an expression reads and where it changes, found by a dry walk.
struct AccessSummary {
  std::vector<BufferAccess> loads;
  std::vector<Breakpoint> breakpoints;
  std::vector<Index> others;  ///< Subscripts that matter in other ways (counted axes, gathered rows, limited axes).
  std::vector<std::pair<NodeId, std::vector<Index>>> limits;  ///< Axes that end early, with the subscript.
  bool has_reduction = false;
};

/// A kernel while it is made. Several lowerings may write into one, one after the other.
struct KernelContext {
  KernelBuilder builder;
  ValueLowerer lowerer;

  explicit KernelContext(const ProgramBuilder& program)
      : lowerer(*program.module.graph, program.buffers, program.slot_elements, builder, program.options.capabilities,
                program.options.numerics) {}
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;
};

/// Computes a few rows of a group's result inside a kernel that others write into too.
class RowLowering {
 public:
  virtual ~RowLowering() = default;
  /// `index`: the subscript of the first row in what the group accumulates (contract) or in its root (map); the axes
  /// that are neither rows nor outside them don't matter. `rows`: subscripts along the row axis.
  virtual void emit(const std::vector<Index>& index, const std::vector<Index>& rows) = 0;
};

/// Walks the expression under `node` (whose own buffer, if it has one, is ignored).
AccessSummary summarise(const ProgramBuilder& program, NodeId node, const std::vector<Index>& index);

/// Axes of `shape`, outermost first, in which a group's root is stored and its loops run.
std::vector<size_t> choose_axis_order(const ProgramBuilder& program, const Group& group);

/// Strides of a buffer whose axes lie in memory in this order; sizes at the variables' maxima.
Shape ordered_strides(const Shape& shape, const std::vector<size_t>& order);

/// Opens `if (0 < count)` unless that is certain; true when it did, and close_if() must follow.
bool open_if_positive(KernelBuilder& builder, const Index& count);

/// Emits a loop over [begin, end) in vectors: a main loop of `lanes` elements and a rest with a count. Small constant
/// ranges use fewer lanes. `body(first, lanes, count)` is called once per piece of code; `first` is the number of the
/// first lane's element.
void emit_vector_loop(KernelBuilder& builder, const Index& begin, const Index& end, int lanes,
                      const std::function<void(const Index& first, int lanes, std::optional<Index> count)>& body);

/// Emits the reductions under `node` whose subscripts need no other counters than those in `open` (and aren't emitted
/// yet): once per row, before the loop over the row's elements begins.
void pin_row_statistics(const ProgramBuilder& program, ValueLowerer& lowerer, NodeId node,
                        const std::vector<Index>& index, const std::vector<Index>& open);

/// The smallest of 1, 2, 4, 8, 16 that is at least `count`.
int lanes_for(int64_t count);

/// Product of the dimensions at their maxima.
int64_t maximum_elements(const Shape& shape);

/// A short name for a kernel: form, the ops that it computes last, and its extents.
std::string kernel_name(const ProgramBuilder& program, const Group& group);

/// Each form's lowering: makes the kernel and adds its call. `target` is where the root's elements go.
void lower_map(ProgramBuilder& program, const Group& group, const BufferRef& target, const std::vector<size_t>& order);
void lower_reduce(ProgramBuilder& program, const Group& group, const BufferRef& target,
                  const std::vector<size_t>& order);
void lower_contract(ProgramBuilder& program, const Group& group, const BufferRef& target);

/// Lowerings of rows. What packs operands of a contraction is added to the program at once.
std::unique_ptr<RowLowering> rows_of_contract(ProgramBuilder& program, const Group& group, const BufferRef& target,
                                              KernelContext& kernel);
std::unique_ptr<RowLowering> rows_of_map(ProgramBuilder& program, const Group& group, const BufferRef& target,
                                         size_t row_axis, KernelContext& kernel);

}  // namespace tandem
