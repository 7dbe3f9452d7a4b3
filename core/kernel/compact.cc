#include "core/kernel/compact.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/kernel/type_rules.h"

namespace tandem {
namespace {

class Compactor {
 public:
  explicit Compactor(Kernel kernel) : old_(std::move(kernel)) {
    const size_t count = old_.instructions.size();
    live_.assign(count, false);
    owner_.assign(count, kNoValue);
    sets_.resize(count);
    new_id_.assign(count, kNoValue);
    new_counter_.resize(old_.loop_count);
  }

  Kernel run() {
    survey(0, kNoValue);
    mark_needed();
    // A hint stays where there is something to do anyway.
    for (const ValueId hint : hints_)
      if (owner_[hint] == kNoValue || live_[owner_[hint]]) mark(hint);
    mark_needed();
    result_.blocks.clear();
    move_block(0);
    collect_variables();
    result_.name = std::move(old_.name);
    result_.buffers = std::move(old_.buffers);
    result_.range = old_.range;
    result_.range_loop = old_.range_loop;
    result_.loop_count = loop_count_;
    result_.flops = old_.flops;
    return std::move(result_);
  }

 private:
  // Notes the control instruction around each instruction and the writers of each variable; stores are the roots.
  void survey(BlockId block, ValueId control) {
    for (ValueId value : old_.blocks[block]) {
      const Instruction& instruction = old_.instructions[value];
      owner_[value] = control;
      if (instruction.opcode == Opcode::kStore) mark(value);
      if (instruction.opcode == Opcode::kPrefetch) hints_.push_back(value);
      if (instruction.opcode == Opcode::kSet) sets_[instruction.operands[0]].push_back(value);
      if (instruction.opcode != Opcode::kLoop && instruction.opcode != Opcode::kIf) continue;
      if (instruction.opcode == Opcode::kLoop && less_equal(instruction.end, instruction.index) == Truth::kAlways)
        continue;
      survey(instruction.body, value);
      if (instruction.otherwise != 0) survey(instruction.otherwise, value);
    }
  }

  void mark_needed() {
    while (!work_.empty()) {
      const ValueId value = work_.back();
      work_.pop_back();
      mark_used_by(value);
    }
  }

  void mark(ValueId value) {
    if (live_[value]) return;
    live_[value] = true;
    work_.push_back(value);
  }

  void mark_used_by(ValueId value) {
    Instruction& instruction = old_.instructions[value];
    for (int i = 0; i < info(instruction.opcode).operands; i++) mark(instruction.operands[i]);
    for_each_index(instruction, [&](const Index& index) {
      index.for_each_leaf([&](const Index& leaf) {
        if (leaf.kind() == IndexKind::kValue) mark(leaf.id());
      });
    });
    if (owner_[value] != kNoValue) mark(owner_[value]);
    if (instruction.opcode != Opcode::kGet) return;
    for (ValueId set : sets_[instruction.operands[0]]) mark(set);
  }

  BlockId move_block(BlockId block) {
    const BlockId number = static_cast<BlockId>(result_.blocks.size());
    result_.blocks.emplace_back();
    std::vector<ValueId> moved;
    for (ValueId value : old_.blocks[block])
      if (live_[value]) moved.push_back(move_instruction(value));
    result_.blocks[number] = std::move(moved);
    return number;
  }

  ValueId move_instruction(ValueId value) {
    const ValueId number = static_cast<ValueId>(result_.instructions.size());
    new_id_[value] = number;
    Instruction instruction = std::move(old_.instructions[value]);
    for (int i = 0; i < info(instruction.opcode).operands; i++)
      instruction.operands[i] = new_id_[instruction.operands[i]];
    for_each_index(instruction, [&](Index& index) { renumber(index); });
    if (instruction.opcode == Opcode::kLoop) note_loop(instruction);
    const bool control = instruction.opcode == Opcode::kLoop || instruction.opcode == Opcode::kIf;
    const BlockId body = instruction.body, otherwise = instruction.otherwise;
    result_.instructions.push_back(std::move(instruction));
    if (control) {
      const BlockId new_body = move_block(body);
      BlockId new_otherwise = otherwise == 0 ? 0 : move_block(otherwise);
      if (new_otherwise != 0 && result_.blocks[new_otherwise].empty()) {
        result_.blocks.pop_back();
        new_otherwise = 0;
      }
      result_.instructions[number].body = new_body;
      result_.instructions[number].otherwise = new_otherwise;
    }
    return number;
  }

  // Most expressions have no value leaves and keep their node; leaves are collected on the way.
  void renumber(Index& index) {
    bool changes = false;
    index.for_each_leaf([&](const Index& leaf) {
      if (leaf.kind() == IndexKind::kVariable) note_variable(leaf);
      if (leaf.kind() == IndexKind::kValue && new_id_[leaf.id()] != leaf.id()) changes = true;
      if (leaf.kind() == IndexKind::kLoop && new_counter_[leaf.id()]) changes = true;
    });
    if (!changes) return;
    index = index.substitute([&](const Index& leaf) -> std::optional<Index> {
      if (leaf.kind() == IndexKind::kLoop) return new_counter_[leaf.id()];
      if (leaf.kind() != IndexKind::kValue) return std::nullopt;
      return Index::value(new_id_[leaf.id()], leaf.lower(), leaf.upper());
    });
  }

  // A counter remembers the bounds of its loop: those must not name values by their old numbers.
  void note_loop(const Instruction& loop) {
    loop_count_ = std::max(loop_count_, loop.loop + 1);
    bool has_values = false;
    for (const Index& bound : {loop.index, loop.end})
      bound.for_each_leaf([&](const Index& leaf) {
        has_values = has_values || leaf.kind() == IndexKind::kValue ||
                     (leaf.kind() == IndexKind::kLoop && new_counter_[leaf.id()]);
      });
    if (has_values) new_counter_[loop.loop] = loop_counter(loop);
  }

  void note_variable(const Index& leaf) {
    const auto [place, added] = variables_.emplace(leaf.name(), leaf);
    TANDEM_CHECK(added || place->second == leaf,
                 concat("kernel ", old_.name, " uses variable ", leaf.name(), " with two different bounds"));
  }

  void collect_variables() {
    const auto note = [&](const Index& leaf) {
      if (leaf.kind() == IndexKind::kVariable) note_variable(leaf);
    };
    for (const BufferParameter& buffer : old_.buffers) buffer.elements.for_each_leaf(note);
    old_.range.for_each_leaf(note);
    for (const auto& entry : variables_) result_.variables.push_back(entry.second);
  }

  Kernel old_, result_;
  std::vector<bool> live_;
  std::vector<ValueId> owner_, new_id_, work_, hints_;
  std::vector<std::vector<ValueId>> sets_;
  std::vector<std::optional<Index>> new_counter_;
  uint32_t loop_count_ = 1;
  std::map<std::string, Index> variables_;
};

}  // namespace

Kernel compact(Kernel kernel) { return Compactor(std::move(kernel)).run(); }

}  // namespace tandem
