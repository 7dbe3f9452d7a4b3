#include "tests/reference/compare.h"

#include <cmath>

#include "core/base/text.h"
#include "core/graph/constant.h"
#include "tests/reference/scalar.h"

namespace tandem::reference {

namespace {

std::string place(const Extents& shape, size_t index) {
  Extents position(shape.size());
  auto rest = static_cast<int64_t>(index);
  for (size_t i = shape.size(); i-- > 0;) {
    position[i] = rest % shape[i];
    rest /= shape[i];
  }
  return concat("[", join(position), "]");
}

std::optional<std::string> wrong_size(const ReferenceResult& expected, size_t bytes) {
  const size_t need = expected.values.size() * size_of(expected.dtype);
  if (bytes == need) return std::nullopt;
  return concat("the result has ", bytes, " bytes, ", name_of(expected.dtype), "[", join(expected.shape), "] needs ",
                need);
}

/// Collects differing elements and keeps the worst.
struct Report {
  const ReferenceResult& expected;
  size_t count = 0;
  double worst = -1;
  std::string text;

  void add(size_t i, const std::string& actual, const std::string& wanted, double allowed, double severity) {
    count++;
    if (!(severity > worst)) return;
    worst = severity;
    text = concat("element ", place(expected.shape, i), " is ", actual, ", the reference has ", wanted,
                  allowed < 0 ? "" : concat(" +- ", allowed));
  }
  std::optional<std::string> finish() const {
    if (count == 0) return std::nullopt;
    return concat(text, " (", count, " of ", expected.values.size(), " elements differ)");
  }
};

/// As many digits as the dtype has.
std::string element_text(DType dtype, double value) {
  return dtype == DType::kF64 ? number_text(value) : number_text(static_cast<float>(value));
}

bool same_number(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

}  // namespace

std::optional<std::string> mismatch(const ReferenceResult& expected, std::span<const std::byte> actual, double slack) {
  if (auto problem = wrong_size(expected, actual.size())) return problem;
  Report report{expected, 0, -1, {}};
  for (size_t i = 0; i < expected.values.size(); i++) {
    if (std::isinf(expected.error[i])) continue;
    if (!is_float(expected.dtype)) {
      const int64_t value = constant_integer(expected.dtype, actual.data(), i);
      if (value != expected.integers[i])
        report.add(i, std::to_string(value), std::to_string(expected.integers[i]), -1, INFINITY);
      continue;
    }
    const double value = constant_element(expected.dtype, actual.data(), i);
    const double wanted = expected.values[i];
    if (std::isnan(wanted) || std::isinf(wanted)) {
      const bool equal = std::isnan(wanted) ? std::isnan(value) : value == wanted;
      if (!equal)
        report.add(i, element_text(expected.dtype, value), element_text(expected.dtype, wanted), -1, INFINITY);
      continue;
    }
    // The truth itself need not be a number of the dtype: its rounding is always allowed.
    const double allowed = slack * expected.error[i] + std::fabs(round_to(expected.dtype, wanted) - wanted);
    const double difference = std::fabs(value - wanted);
    if (!(difference <= allowed))
      report.add(i, element_text(expected.dtype, value), number_text(wanted), allowed, difference / (allowed + 1e-300));
  }
  return report.finish();
}

std::optional<std::string> mismatch_exact(const ReferenceResult& expected, std::span<const std::byte> actual) {
  if (auto problem = wrong_size(expected, actual.size())) return problem;
  Report report{expected, 0, -1, {}};
  for (size_t i = 0; i < expected.values.size(); i++) {
    if (is_float(expected.dtype)) {
      const double value = constant_element(expected.dtype, actual.data(), i);
      if (!same_number(value, expected.values[i]))
        report.add(i, element_text(expected.dtype, value), element_text(expected.dtype, expected.values[i]), -1,
                   std::fabs(value - expected.values[i]));
    } else if (const int64_t value = constant_integer(expected.dtype, actual.data(), i);
               value != expected.integers[i]) {
      report.add(i, std::to_string(value), std::to_string(expected.integers[i]), -1, 1);
    }
  }
  return report.finish();
}

std::vector<std::byte> to_bytes(const ReferenceResult& result) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < result.values.size(); i++) {
    if (is_float(result.dtype))
      append_element(bytes, result.dtype, result.values[i]);
    else
      append_integer(bytes, result.dtype, result.integers[i]);
  }
  return bytes;
}

double decided(const ReferenceResult& result) {
  if (result.error.empty()) return 1;
  size_t count = 0;
  for (const double error : result.error) count += std::isfinite(error) ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(result.error.size());
}

}  // namespace tandem::reference
