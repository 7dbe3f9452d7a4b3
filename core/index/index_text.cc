#include "core/index/index_text.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/index/node.h"

namespace tandem {

using namespace index_detail;

namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_word_start(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}

bool is_word_part(char letter) { return is_word_start(letter) || is_digit(letter) || letter == '.'; }

/// May a variable of this name stand without backquotes?
bool is_plain_name(const std::string& name) {
  if (!is_word_start(name[0]) || !std::all_of(name.begin(), name.end(), is_word_part)) return false;
  if (name == "min" || name == "max" || name == "lane") return false;
  return !((name[0] == 'i' || name[0] == 'v') && name.size() > 1 &&
           std::all_of(name.begin() + 1, name.end(), is_digit));
}

/// `tight`: the text must bind as strongly as a leaf.
std::string text_of(const Index& a, bool tight) {
  const auto operand = [&](size_t i) { return text_of(a.operands()[i], true); };
  const auto enclose = [&](const std::string& inner) { return tight ? "(" + inner + ")" : inner; };
  switch (a.kind()) {
    case IndexKind::kConstant:
      return a.constant() < 0 ? enclose(std::to_string(a.constant())) : std::to_string(a.constant());
    case IndexKind::kVariable:
      return is_plain_name(a.name()) ? a.name() : "`" + a.name() + "`";
    case IndexKind::kLoop:
      return concat("i", a.id());
    case IndexKind::kLane:
      return "lane";
    case IndexKind::kValue:
      return concat("v", a.id());
    case IndexKind::kSum: {
      std::string out;
      for (const Index::Term& term : a.terms()) {
        std::string number = std::to_string(term.coefficient);
        const bool negative = number[0] == '-';
        if (negative) number.erase(0, 1);
        out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
        if (number != "1") out += number + "*";
        const bool product = term.factor.kind() == IndexKind::kProduct;
        out += text_of(term.factor, !product && (number != "1" || negative));
      }
      std::string number = std::to_string(a.offset());
      if (a.offset() > 0) out += " + " + number;
      if (a.offset() < 0) out += " - " + number.substr(1);
      return enclose(out);
    }
    case IndexKind::kProduct: {
      std::string out;
      for (size_t i = 0; i < a.operands().size(); ++i) out += (i == 0 ? "" : "*") + operand(i);
      return enclose(out);
    }
    case IndexKind::kFloorDiv:
      return enclose(operand(0) + "/" + operand(1));
    case IndexKind::kMod:
      return enclose(operand(0) + "%" + operand(1));
    case IndexKind::kMin:
    case IndexKind::kMax: {
      std::string out = a.kind() == IndexKind::kMin ? "min(" : "max(";
      for (size_t i = 0; i < a.operands().size(); ++i) out += (i == 0 ? "" : ", ") + text_of(a.operands()[i], false);
      return out + ")";
    }
  }
  return "";
}

/// Recursive descent; throws TensorError with kInvalidFormat.
class Parser {
 public:
  Parser(std::string_view text, const std::function<std::optional<Index>(std::string_view)>& leaf_of)
      : text_(text), leaf_of_(leaf_of) {}

  Index whole() {
    Index result = sum();
    if (next() != '\0') error("unexpected text");
    return result;
  }

 private:
  [[noreturn]] void error(const std::string& what) const {
    throw TensorError(concat("index expression '", text_, "', at character ", place_, ": ", what),
                      ErrorCode::kInvalidFormat);
  }

  char next() {
    while (place_ < text_.size() && text_[place_] == ' ') ++place_;
    return place_ < text_.size() ? text_[place_] : '\0';
  }

  bool accept(char letter) {
    if (next() != letter) return false;
    ++place_;
    return true;
  }

  void expect(char letter) {
    if (!accept(letter)) error(concat("'", letter, "' expected"));
  }

  Index sum() {
    if (++depth_ > kDeepest) error("nested too deeply");
    Index result = accept('-') ? product(true) : product(false);
    while (true) {
      if (accept('+')) {
        result = result + product(false);
      } else if (accept('-')) {
        result = result + product(true);
      } else {
        --depth_;
        return result;
      }
    }
  }

  /// The sign stands before the whole product: a - b % 2 is a - (b % 2).
  Index product(bool negative) {
    bool signed_number = negative && is_digit(next());
    Index result = is_digit(next()) ? number(negative) : primary();
    while (true) {
      if (accept('*')) {
        result = result * primary();
      } else if (next() == '/' || next() == '%') {
        if (signed_number) result = Index(-1) * result;
        signed_number = false;
        const char operation = text_[place_++];
        const Index divisor = primary();
        if (!provably_at_least(divisor, 1)) error("a divisor must be positive");
        result = operation == '/' ? floor_div(result, divisor) : floor_mod(result, divisor);
      } else {
        return negative && !signed_number ? Index(-1) * result : result;
      }
    }
  }

  /// The sign is read with the digits, because the smallest int64 has no positive counterpart.
  Index number(bool negative) {
    int64_t value = 0;
    while (place_ < text_.size() && is_digit(text_[place_])) {
      const int64_t digit = text_[place_] - '0';
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, negative ? -digit : digit, &value)) {
        error("a number of more than 64 bits");
      }
      ++place_;
    }
    return value;
  }

  Index primary() {
    const char first = next();
    if (is_digit(first)) return number(false);
    if (accept('(')) {
      Index result = sum();
      expect(')');
      return result;
    }
    const size_t start = place_;
    if (first == '`') {
      const size_t end = text_.find('`', place_ + 1);
      if (end == std::string_view::npos) error("a backquote is not closed");
      place_ = end + 1;
    } else if (is_word_start(first)) {
      while (place_ < text_.size() && is_word_part(text_[place_])) ++place_;
    } else {
      error("a number, a name or '(' expected");
    }
    const std::string_view name = text_.substr(start, place_ - start);
    if (name == "min" || name == "max") return extreme(name == "min");
    const std::optional<Index> leaf = leaf_of_(name);
    if (!leaf) error(concat("unknown name '", name, "'"));
    return *leaf;
  }

  Index extreme(bool smallest) {
    expect('(');
    Index result = sum();
    while (accept(',')) result = smallest ? min(result, sum()) : max(result, sum());
    expect(')');
    return result;
  }

  static constexpr int kDeepest = 200;

  std::string_view text_;
  const std::function<std::optional<Index>(std::string_view)>& leaf_of_;
  size_t place_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Index::text() const { return text_of(*this, false); }

Result<Index> parse_index(std::string_view text,
                          const std::function<std::optional<Index>(std::string_view name)>& leaf_of) {
  try {
    return Parser(text, leaf_of).whole();
  } catch (const TensorError& error) {
    return tl::unexpected<JitError>(error.to_error());
  } catch (const InternalError& error) {
    return fail(ErrorCode::kInvalidFormat, concat("index expression '", text, "': ", error.what()));
  }
}

Result<Index> parse_index(std::string_view text, const std::vector<Index>& leaves) {
  return parse_index(text, [&](std::string_view name) -> std::optional<Index> {
    for (const Index& leaf : leaves) {
      if (leaf.text() == name) return leaf;
    }
    return std::nullopt;
  });
}

}  // namespace tandem
