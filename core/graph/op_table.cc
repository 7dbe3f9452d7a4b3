#include <array>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace tandem {

namespace {

// The words of ops.def as enumerators; a prefix is needed since `float` is a keyword.
constexpr OpClass class_leaf = OpClass::kLeaf;
constexpr OpClass class_unary = OpClass::kUnary;
constexpr OpClass class_binary = OpClass::kBinary;
constexpr OpClass class_ternary = OpClass::kTernary;
constexpr OpClass class_movement = OpClass::kMovement;
constexpr OpClass class_nary = OpClass::kNary;
constexpr OpClass class_reduce = OpClass::kReduce;
constexpr OpClass class_contract = OpClass::kContract;
constexpr TypeRule rule_same = TypeRule::kSame;
constexpr TypeRule rule_compare = TypeRule::kCompare;
constexpr TypeRule rule_float = TypeRule::kFloat;
constexpr TypeRule rule_integer = TypeRule::kInteger;
constexpr TypeRule rule_select = TypeRule::kSelect;
constexpr TypeRule rule_given = TypeRule::kGiven;
constexpr TypeRule rule_first = TypeRule::kFirst;

constexpr OpInfo op_table[] = {
#define TANDEM_OP(identifier, text, op_class, arity, rule, meaning) \
  {text, class_##op_class, arity, rule_##rule, meaning},
#include "core/graph/ops.def"
};

static_assert(sizeof(op_table) / sizeof(op_table[0]) == static_cast<size_t>(kOpCount));

}  // namespace

const OpInfo& info(Op op) {
  TANDEM_CHECK(static_cast<int>(op) < kOpCount, "op number " + std::to_string(static_cast<int>(op)));
  return op_table[static_cast<int>(op)];
}

std::optional<Op> op_named(std::string_view text) {
  for (int i = 0; i < kOpCount; i++)
    if (text == op_table[i].text) return static_cast<Op>(i);
  return std::nullopt;
}

}  // namespace tandem
