#include "core/index/index.h"

#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/index/node.h"

namespace tandem {

using namespace index_detail;

namespace {

std::shared_ptr<const IndexNode> constant_node(int64_t value) {
  auto node = std::make_shared<IndexNode>();
  node->offset = value;
  node->lower = value;
  node->upper = value;
  node->multiple = value == kNoLower ? int64_t{1} << 62 : (value < 0 ? -value : value);
  const Index wrapped = IndexBuilder::finish(std::move(node));
  return wrapped.node().shared_from_this();
}

constexpr int64_t kFirstShared = -16;
constexpr int64_t kLastShared = 256;

/// Small numbers are made once: most coefficients, strides and extents are among them.
std::shared_ptr<const IndexNode> shared_constant(int64_t value) {
  using Table = std::array<std::shared_ptr<const IndexNode>, kLastShared - kFirstShared + 1>;
  static const Table table = [] {
    Table made;
    for (int64_t number = kFirstShared; number <= kLastShared; ++number) {
      made[static_cast<size_t>(number - kFirstShared)] = constant_node(number);
    }
    return made;
  }();
  return table[static_cast<size_t>(value - kFirstShared)];
}

int64_t round_up(int64_t value, int64_t multiple) {
  return value == kNoLower ? value
                           : checked_multiply(floor_quotient(checked_add(value, multiple - 1), multiple), multiple);
}

int64_t round_down(int64_t value, int64_t multiple) {
  return value == kNoUpper ? value : floor_quotient(value, multiple) * multiple;
}

}  // namespace

Index::Index(int64_t value)
    : node_(value >= kFirstShared && value <= kLastShared ? shared_constant(value) : constant_node(value)) {}

Index Index::variable(std::string name, int64_t min, int64_t max, int64_t multiple) {
  TANDEM_CHECK(!name.empty() && min <= max && multiple >= 1,
               concat("variable '", name, "' in [", min, ", ", max, "], a multiple of ", multiple));
  auto node = std::make_shared<IndexNode>();
  node->kind = IndexKind::kVariable;
  node->lower = round_up(min, multiple);
  node->upper = round_down(max, multiple);
  TANDEM_CHECK(node->lower <= node->upper,
               concat("variable '", name, "': no multiple of ", multiple, " in [", min, ", ", max, "]"));
  node->multiple = multiple;
  node->name = std::move(name);
  return IndexBuilder::finish(std::move(node));
}

Index Index::loop(uint32_t id, const Index& extent, int64_t step) { return loop_between(id, 0, extent, step); }

Index Index::loop_between(uint32_t id, const Index& begin, const Index& end, int64_t step) {
  TANDEM_CHECK(step >= 1, concat("loop i", id, " with step ", step));
  auto node = std::make_shared<IndexNode>();
  node->kind = IndexKind::kLoop;
  node->id = id;
  node->offset = step;
  node->multiple = greatest_common_divisor(begin.multiple(), step);
  node->lower = begin.lower();
  node->upper = end.upper();
  if (node->upper != kNoUpper && node->upper != kNoLower) {
    node->upper = round_down(node->upper - 1, node->multiple);
    if (begin.is_constant() && node->upper >= begin.constant()) {
      node->upper = begin.constant() + round_down(checked_add(node->upper, -begin.constant()), step);
    }
  }
  // A loop that never runs has no values; its interval must still be one.
  node->upper = std::max(node->upper, node->lower);
  node->operands = {begin, end};
  return IndexBuilder::finish(std::move(node));
}

Index Index::lane(int64_t lanes) {
  TANDEM_CHECK(lanes >= 1, concat("a vector of ", lanes, " lanes"));
  auto node = std::make_shared<IndexNode>();
  node->kind = IndexKind::kLane;
  node->offset = lanes;
  node->upper = lanes - 1;
  return IndexBuilder::finish(std::move(node));
}

Index Index::value(uint32_t id, int64_t min, int64_t max) {
  TANDEM_CHECK(min <= max, concat("value v", id, " in [", min, ", ", max, "]"));
  auto node = std::make_shared<IndexNode>();
  node->kind = IndexKind::kValue;
  node->id = id;
  node->lower = min;
  node->upper = max;
  return IndexBuilder::finish(std::move(node));
}

IndexKind Index::kind() const { return node_->kind; }

int64_t Index::constant() const {
  TANDEM_CHECK(is_constant(), concat("'", text(), "' is not a number"));
  return node_->offset;
}

int64_t Index::lower() const { return node_->lower; }
int64_t Index::upper() const { return node_->upper; }
int64_t Index::multiple() const { return node_->multiple; }
uint64_t Index::hash() const { return node_->hash; }
const std::string& Index::name() const { return node_->name; }
uint32_t Index::id() const { return node_->id; }
int64_t Index::offset() const { return node_->offset; }
const std::vector<Index::Term>& Index::terms() const { return node_->terms; }

const std::vector<Index>& Index::operands() const {
  static const std::vector<Index> none;
  return is_leaf(kind()) ? none : node_->operands;
}

const Index& Index::loop_begin() const {
  TANDEM_CHECK(kind() == IndexKind::kLoop, concat("'", text(), "' is not a loop counter"));
  return node_->operands[0];
}

const Index& Index::loop_end() const {
  TANDEM_CHECK(kind() == IndexKind::kLoop, concat("'", text(), "' is not a loop counter"));
  return node_->operands[1];
}

int64_t Index::loop_step() const {
  TANDEM_CHECK(kind() == IndexKind::kLoop, concat("'", text(), "' is not a loop counter"));
  return node_->offset;
}

int64_t Index::lanes() const {
  TANDEM_CHECK(kind() == IndexKind::kLane, concat("'", text(), "' is not a lane number"));
  return node_->offset;
}

bool operator==(const Index& a, const Index& b) {
  if (a.node_ == b.node_) return true;
  return a.node_->hash == b.node_->hash && compare(a, b) == 0;
}

}  // namespace tandem
