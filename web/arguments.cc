#include "web/arguments.h"

#include <charconv>
#include <cstdlib>

#include "core/base/text.h"

namespace tandem::web {

namespace {

/// Takes what stands before the separator off a text.
std::string_view cut(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

template <typename Integer>
bool read_whole(std::string_view text, Integer& value) {
  // A double's -0 is not the integer 0.
  if (text == "-0") return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

int64_t integer(std::string_view text) {
  int64_t value = 0;
  if (!read_whole(text, value)) throw TensorError(concat("\"", text, "\" is no whole number of 64 bits"));
  return value;
}

double real(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

Number number(std::string_view text) {
  int64_t whole = 0;
  if (read_whole(text, whole)) return whole;
  uint64_t large = 0;
  if (read_whole(text, large)) return large;
  return real(text);
}

const Tensor& tensor(std::string_view text) {
  return held_tensor(text.empty() ? 0 : static_cast<uint32_t>(integer(text.substr(1))));
}

int axis(std::string_view text) {
  const int64_t value = integer(text);
  if (value != static_cast<int>(value)) throw TensorError(concat("axis ", value, " does not exist"));
  return static_cast<int>(value);
}

}  // namespace

DType dtype_or_throw(std::string_view name) {
  if (const auto dtype = dtype_named(name)) return *dtype;
  throw TensorError(concat("\"", name,
                           "\" is no element type; use bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32 or "
                           "f64"),
                    ErrorCode::kInvalidArgument);
}

std::string_view Arguments::next() { return cut(rest_, '\n'); }

template <>
Number Arguments::take<Number>() {
  return number(next());
}

template <>
Operand Arguments::take<Operand>() {
  const std::string_view text = next();
  if (!text.empty() && text[0] == '%') return tensor(text);
  return number(text);
}

void Arguments::read(std::string_view text, Tensor& value) const { value = tensor(text); }
void Arguments::read(std::string_view text, std::vector<Tensor>& value) const {
  while (!text.empty()) value.push_back(tensor(cut(text, ';')));
}
void Arguments::read(std::string_view text, int& value) const { value = axis(text); }
void Arguments::read(std::string_view text, int64_t& value) const { value = integer(text); }
void Arguments::read(std::string_view text, std::vector<int>& value) const {
  while (!text.empty()) value.push_back(axis(cut(text, ';')));
}
void Arguments::read(std::string_view text, std::vector<int64_t>& value) const {
  while (!text.empty()) value.push_back(integer(cut(text, ';')));
}
void Arguments::read(std::string_view text, bool& value) const { value = text == "true"; }
void Arguments::read(std::string_view text, double& value) const { value = real(text); }
void Arguments::read(std::string_view text, DType& value) const { value = dtype_or_throw(text); }
void Arguments::read(std::string_view text, Dim& value) const { value = parse_dim(text, scope_.variables()); }
void Arguments::read(std::string_view text, Shape& value) const { value = parse_shape(text, scope_.variables()); }
void Arguments::read(std::string_view text, std::vector<DimPair>& value) const {
  while (!text.empty()) {
    std::string_view pair = cut(text, ';');
    const std::string_view first = cut(pair, ':');
    value.emplace_back(parse_dim(first, scope_.variables()), parse_dim(pair, scope_.variables()));
  }
}

}  // namespace tandem::web
