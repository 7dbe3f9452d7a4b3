#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/kernel/capabilities.h"
#include "core/kernel/program.h"
#include "core/schedule/demand.h"
#include "core/schedule/tile.h"
#include "core/schedule/value_lowerer.h"

namespace tandem {

/// The loop structure of a kernel.
enum class Form : uint8_t {
  kMap,       ///< Every output element on its own.
  kReduce,    ///< A reduction and what follows it.
  kContract,  ///< A contraction in register tiles and what follows it.
};
std::string_view name_of(Form form);

/// A decision: this node gets a buffer, made by one kernel, for this reason. Everything under it that isn't itself a
/// group is computed inside that kernel.
struct Group {
  NodeId root = kNoNode;
  Form form = Form::kMap;
  NodeId anchor = kNoNode;  ///< The reduction or contraction of the form.
  bool prepare = false;     ///< Depends on constants only: runs once.
  bool row_statistics =
      false;  ///< Reductions are computed inside, once per row: the loop order must keep rows outside.
  std::string reason;
  /// Groups whose results the kernel of this one computes too, a few rows at a time (strips.h); producers first.
  std::vector<Group> strips;
  std::optional<BufferRef> layout;  ///< Of the result, without a slot, where it was decided together with strips.
  int tile_rows = 0;  ///< Rows of a contraction's register tile where strips decide them; 0: the tile decides.
  /// Which part of the loops anybody sees the results of, by axis of the root (map) or of what the anchor accumulates
  /// (outputs, then reduced axes). Only reduced axes may be missing.
  std::vector<AxisDemand> demand;
  const AxisDemand& demand_of(size_t axis) const;
  /// Does a length along another axis depend on this one?
  bool is_lane(size_t axis) const;
  /// Are there elements of the result that nobody sees and that are not written? `rank`: axes of the loops that the
  /// result has.
  bool is_partial(size_t rank) const;
};

/// What scheduling is done for.
struct ScheduleOptions {
  Capabilities capabilities;
  Numerics numerics = Numerics::kFast;
  /// Contractions of bf16 values, widened to f32, may use the machine's bf16 dot products.
  bool bfloat16_dot = false;
  /// Tiles of contractions that were found to be better than the heuristic's (core/plan/tune.h). With a table, though
  /// it is empty, the schedule lists its contractions.
  std::shared_ptr<const TileTable> tiles = {};
  /// Lower equal groups once. Without it the schedule is the same and takes longer to make: for tests.
  bool share_lowering = true;
};

/// Decides which nodes get buffers (fuse.cc). Groups come in an order in which each uses only earlier ones.
std::vector<Group> choose_groups(const GraphModule& module);

/// The subscript of the group's root that shows the element `index` of its anchor, or nothing when what lies between
/// isn't a one-to-one rearrangement of elementwise ops.
std::optional<std::vector<Index>> root_index_of_anchor(const GraphModule& module, NodeId root, NodeId anchor,
                                                       const std::vector<Index>& index);

/// An output of the scheduled program.
struct ScheduledOutput {
  std::string name;
  BufferRef buffer;
  Shape shape;
};
/// An input of the scheduled program; `slot` is kNoSlot when no output depends on it.
struct ScheduledInput {
  std::string name;
  BufferRef buffer;
  Shape shape;
  bool used = false;
};
/// A constant to be written into its slot before the prepare calls run.
struct ScheduledConstant {
  uint32_t slot = 0;
  std::shared_ptr<const ConstantData> data;
};

/// What a call does, for profiles: expressions of the program's variables.
///
/// Operations are those of the graph: one for each element of an arithmetic op on floats and for each element that is
/// reduced, two for each product of a contraction; conversions, comparisons, choices and movement count nothing. Bytes
/// are the elements read and written, each once: not the padding of packed operands, not what a view leaves out.
/// Lengths that a buffer holds are not looked at: an axis that ends early counts as whole.
struct Work {
  Index flops = 0;
  Index bytes = 0;
};

/// A contraction in register tiles, and the step calls that compute it: those that pack what the step makes, then its
/// own.
struct ScheduledContraction {
  std::string key;               ///< contraction_key
  Tile tile;                     ///< What it has.
  std::vector<Tile> candidates;  ///< What it could have; the heuristic's first.
  size_t first_call = 0, last_call = 0;
};

/// A graph turned into kernels and calls, with the buffers that they use.
struct Schedule {
  std::vector<Group> groups;
  Program program;
  std::vector<Work> step_work;  ///< Of each step call.
  std::vector<ScheduledInput> inputs;
  std::vector<ScheduledOutput> outputs;
  std::vector<ScheduledConstant> constants;
  /// Those of a step that were lowered, when the options have a table of tiles. What is equal to one of them and
  /// repeats its kernels is not here.
  std::vector<ScheduledContraction> contractions;
  size_t repeated_groups = 0;  ///< Groups that were not lowered, being equal to others that were.
  /// Decisions and calls as text: one group a line with form, reason, kernel, buffers.
  std::string text(const GraphModule& module) const;
};

/// The whole stage: decisions, buffers, kernels, calls. Throws TensorError for a graph that can't be scheduled (a size
/// beyond what the target addresses).
Schedule make_schedule(const GraphModule& module, const ScheduleOptions& options);

}  // namespace tandem
