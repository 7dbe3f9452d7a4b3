#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/graph/constant.h"
#include "core/graph/text.h"
#include "core/index/index_text.h"

namespace tandem {

namespace {

/// One line with a reading position.
class Line {
 public:
  Line(std::string_view text, size_t number) : text_(text), number_(number) {}

  [[noreturn]] void fail(const std::string& problem) const {
    throw TensorError(concat("graph text, line ", number_, ", column ", position_ + 1, ": ", problem),
                      ErrorCode::kInvalidFormat);
  }
  void skip_spaces() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) position_++;
  }
  bool at_end() {
    skip_spaces();
    return position_ == text_.size() || text_[position_] == '#';
  }
  bool next_is(char c) {
    skip_spaces();
    return position_ < text_.size() && text_[position_] == c;
  }
  bool accept(char c) {
    if (!next_is(c)) return false;
    position_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(concat("expected '", c, "'"));
  }
  std::string_view word() {
    skip_spaces();
    const size_t begin = position_;
    while (position_ < text_.size() && is_word(text_[position_])) position_++;
    if (begin == position_) fail("expected a word or number");
    return text_.substr(begin, position_ - begin);
  }
  /// A word, or anything in backquotes, with them.
  std::string variable_name() {
    if (!next_is('`')) return std::string(word());
    const size_t end = text_.find('`', position_ + 1);
    if (end == std::string_view::npos) fail("a name has no second '`'");
    const std::string name(text_.substr(position_, end + 1 - position_));
    position_ = end + 1;
    return name;
  }
  std::string quoted() {
    expect('"');
    std::string out;
    while (position_ < text_.size() && text_[position_] != '"') {
      char c = text_[position_++];
      if (c == '\\' && position_ < text_.size()) {
        c = text_[position_++];
        if (c == 'n') c = '\n';
      }
      out += c;
    }
    expect('"');
    return out;
  }
  /// "[a, f(b, c)]" as {"a", "f(b, c)"}.
  std::vector<std::string_view> list() {
    expect('[');
    std::vector<std::string_view> parts;
    if (accept(']')) return parts;
    int depth = 0;
    skip_spaces();
    size_t begin = position_;
    for (; position_ < text_.size(); position_++) {
      const char c = text_[position_];
      if (depth == 0 && (c == ',' || c == ']')) {
        parts.push_back(text_.substr(begin, position_ - begin));
        begin = position_ + 1;
        if (c == ']') {
          position_++;
          return parts;
        }
      }
      depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    }
    fail("a list has no ']'");
  }
  int64_t integer() { return integer_of(word()); }
  int64_t integer_of(std::string_view part) const {
    const std::string copy(part);
    const size_t start = copy.find_first_not_of(' ');
    if (start == std::string::npos) fail("expected an integer");
    char* end = nullptr;
    const bool negative = copy[start] == '-';
    errno = 0;
    // Through u64, so that the largest u64 scalar is read as well.
    const int64_t value = negative ? std::strtoll(copy.c_str() + start, &end, 10)
                                   : static_cast<int64_t>(std::strtoull(copy.c_str() + start, &end, 10));
    if (errno != 0 || end == copy.c_str() + start || std::string_view(end).find_first_not_of(' ') != std::string::npos)
      fail(concat("\"", copy, "\" is not an integer"));
    return value;
  }
  double number_of(DType dtype, std::string_view part) const {
    const std::string copy(part);
    char* end = nullptr;
    const double value =
        dtype == DType::kF64 ? std::strtod(copy.c_str(), &end) : static_cast<double>(std::strtof(copy.c_str(), &end));
    if (end == copy.c_str() || std::string_view(end).find_first_not_of(' ') != std::string::npos)
      fail(concat("\"", copy, "\" is not a number"));
    return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
  }

 private:
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-' || c == '+';
  }

  std::string_view text_;
  size_t position_ = 0;
  size_t number_;
};

std::string plain_name(const std::string& name) { return name.front() == '`' ? name.substr(1, name.size() - 2) : name; }

class Parser {
 public:
  explicit Parser(const ConstantResolver& resolver) : resolver_(resolver) {}

  void read_line(Line line) {
    if (line.at_end()) return;
    if (line.accept('%')) return read_node(line);
    const std::string_view word = line.word();
    if (word == "variables")
      read_variables(line);
    else if (word == "outputs")
      read_outputs(line);
    else
      line.fail(concat("expected '%', 'variables' or 'outputs', not \"", word, "\""));
    if (!line.at_end()) line.fail("unexpected text at the end of the line");
  }
  GraphModule finish() {
    if (module_.outputs.empty()) throw TensorError("graph text: no outputs line", ErrorCode::kInvalidFormat);
    return std::move(module_);
  }

 private:
  void read_variables(Line& line) {
    do {
      const std::string name = line.variable_name();
      line.expect(':');
      const int64_t low = line.integer();
      if (line.word() != "..") line.fail("expected '..'");
      const int64_t high = line.integer();
      int64_t multiple = 1;
      if (!line.at_end() && !line.next_is(',')) {
        if (line.word() != "multiple") line.fail("expected 'multiple'");
        multiple = line.integer();
      }
      if (low > high || multiple < 1) line.fail(concat("variable ", name, " has no values"));
      if (!variables_.emplace(name, Index::variable(plain_name(name), low, high, multiple)).second)
        line.fail(concat("variable ", name, " is there twice"));
    } while (line.accept(','));
  }

  Index index(const Line& line, std::string_view part) const {
    auto result = parse_index(part, [this](std::string_view name) -> std::optional<Index> {
      const auto found = variables_.find(std::string(name));
      return found == variables_.end() ? std::nullopt : std::optional<Index>(found->second);
    });
    if (!result) line.fail(concat("\"", part, "\" is not an index expression: ", result.error().message));
    return *result;
  }
  std::vector<Index> index_list(Line& line) const {
    std::vector<Index> out;
    for (const std::string_view part : line.list()) out.push_back(index(line, part));
    return out;
  }
  std::vector<int32_t> integer_list(Line& line) const {
    std::vector<int32_t> out;
    for (const std::string_view part : line.list()) out.push_back(static_cast<int32_t>(line.integer_of(part)));
    return out;
  }
  NodeId node_number(Line& line) const {
    line.expect('%');
    const int64_t number = line.integer();
    const auto found = nodes_.find(number);
    if (found == nodes_.end()) line.fail(concat("%", number, " is not defined above"));
    return found->second;
  }

  void read_attribute(Line& line, const Node& node, Attributes& attributes, bool& has_values) {
    if (line.next_is('"')) {
      attributes.name = line.quoted();
      return;
    }
    const std::string_view key = line.word();
    line.expect('=');
    if (key == "axis")
      attributes.axis = static_cast<int32_t>(line.integer());
    else if (key == "count" || key == "number")
      attributes.count = static_cast<int32_t>(line.integer());
    else if (key == "order" || key == "flags")
      attributes.order = integer_list(line);
    else if (key == "before" || key == "begin")
      attributes.begin = index_list(line);
    else if (key == "after" || key == "size" || key == "strides" || key == "of")
      attributes.size = index_list(line);
    else if (key == "dilation")
      attributes.begin.push_back(index_list(line).at(0));
    else if (key == "step" && node.op == Op::kWindow)
      attributes.begin = index_list(line);
    else if (key == "step")
      attributes.size = index_list(line);
    else if (key == "value")
      read_value(line, node.dtype, attributes);
    else if (key == "values") {
      attributes.data = read_values(line, node, attributes.name);
      has_values = true;
    } else if (key == "hash")
      hash_ = std::strtoull(std::string(line.word()).c_str(), nullptr, 16);
    else
      line.fail(concat("unknown attribute \"", key, "\""));
  }

  static void read_value(Line& line, DType dtype, Attributes& attributes) {
    const std::string_view word = line.word();
    if (is_float(dtype))
      attributes.value = line.number_of(dtype, word);
    else
      attributes.integer = line.integer_of(word);
  }
  static std::shared_ptr<const ConstantData> read_values(Line& line, const Node& node, const std::string& name) {
    std::vector<std::byte> bytes;
    for (const std::string_view part : line.list()) {
      if (is_float(node.dtype))
        append_element(bytes, node.dtype, line.number_of(node.dtype, part));
      else
        append_integer(bytes, node.dtype, line.integer_of(part));
    }
    return constant_data(node.dtype, node.shape, std::move(bytes), name);
  }
  std::shared_ptr<const ConstantData> resolve(const Line& line, const Node& node, const std::string& name) const {
    auto data = resolver_ ? resolver_(name, node.dtype, node.shape) : nullptr;
    if (!data) line.fail(concat("no data for constant \"", name, "\""));
    if (hash_ && *hash_ != data->content_hash)
      line.fail(concat("the data of constant \"", name, "\" has another hash"));
    return data;
  }

  void read_node(Line& line) {
    const int64_t number = line.integer();
    if (nodes_.count(number) != 0) line.fail(concat("%", number, " is defined twice"));
    line.expect('=');
    const std::string_view op_text = line.word();
    const auto op = op_named(op_text);
    if (!op) line.fail(concat("unknown op \"", op_text, "\""));
    const std::string_view dtype_text = line.word();
    const auto dtype = dtype_named(dtype_text);
    if (!dtype) line.fail(concat("unknown dtype \"", dtype_text, "\""));
    Node stated{*op, *dtype, index_list(line), {}, {}, {}};
    if (line.next_is('%')) {
      do stated.operands.push_back(node_number(line));
      while (line.accept(','));
    }
    hash_.reset();
    bool has_values = false;
    while (!line.at_end()) read_attribute(line, stated, stated.attributes, has_values);
    if (*op == Op::kConstant && !has_values) stated.attributes.data = resolve(line, stated, stated.attributes.name);
    nodes_[number] = make(line, stated);
  }

  NodeId make(const Line& line, const Node& stated) {
    try {
      const NodeId id = module_.graph->make(stated.op, stated.operands, stated.attributes, stated.dtype, stated.shape);
      const Node& made = module_.graph->node(id);
      if (made.dtype != stated.dtype || !same(made.shape, stated.shape))
        line.fail(concat("stated as ", name_of(stated.dtype), text(stated.shape), ", but it is ", name_of(made.dtype),
                         text(made.shape)));
      return id;
    } catch (const TensorError& error) {
      if (error.code() == ErrorCode::kInvalidFormat) throw;
      line.fail(error.what());
    }
  }

  void read_outputs(Line& line) {
    do {
      module_.outputs.push_back(node_number(line));
      module_.output_names.push_back(line.quoted());
    } while (line.accept(','));
  }

  const ConstantResolver& resolver_;
  GraphModule module_;
  std::map<std::string, Index> variables_;
  std::map<int64_t, NodeId> nodes_;
  std::optional<uint64_t> hash_;
};

}  // namespace

GraphModule parse_graph(std::string_view text, const ConstantResolver& resolver) {
  Parser parser(resolver);
  size_t number = 1;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    parser.read_line(Line(line, number++));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parser.finish();
}

}  // namespace tandem
