#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/reference/evaluate.h"

namespace tandem::reference {

/// How close a result must be to the reference.
enum class Tolerance {
  kExact,    ///< The value of `Mode::kRounded`, bit for bit up to which NaN it is.
  kBounded,  ///< Within the error that roundings on the way explain (see ReferenceResult::error).
};

/// Compares dense row-major bytes with an exact-mode result. Returns nothing when all elements agree, else a sentence
/// naming the worst element, its value, the reference, the allowed difference and how many elements differ. `slack`
/// multiplies the bound. Elements whose bound is infinite are undecided and not compared.
std::optional<std::string> mismatch(const ReferenceResult& expected, std::span<const std::byte> actual,
                                    double slack = 1);

/// Compares with a rounded-mode result: equal numbers, signs of zero included; all NaNs are equal.
std::optional<std::string> mismatch_exact(const ReferenceResult& expected, std::span<const std::byte> actual);

/// The result as the bytes of its dtype (for feeding it to another graph, or checking the checker).
std::vector<std::byte> to_bytes(const ReferenceResult& result);

/// Share of elements that are decided, 0 .. 1: a test should demand that most are.
double decided(const ReferenceResult& result);

}  // namespace tandem::reference
