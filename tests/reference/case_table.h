#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "tests/reference/cases.h"

namespace tandem::reference {

/// What the files of tests/cases hold, by file name: the table as code. Adding a case: add it here, then run the unit
/// tests with TANDEM_BLESS=1 once, which writes the files.
std::map<std::string, std::string> case_files();

Fill uniform(double low, double high, uint32_t seed);
Fill values(std::vector<std::string> list);

/// Collects cases that are built with the Tensor API.
class CaseBuilder {
 public:
  /// A new input, numbered in order.
  Tensor input(Shape shape, DType dtype, Fill fill);
  /// A named constant. Throws std::logic_error when the case has another one of this name.
  Tensor weight(const std::string& name, const Shape& shape, DType dtype, const Fill& fill);

  /// Adds a case made of the inputs and weights since the last one.
  void add(const std::string& name, Tolerance tolerance, const std::vector<Tensor>& outputs, bool denormals = false,
           std::map<std::string, int64_t> variables = {});
  const std::vector<Case>& cases() const { return cases_; }

 private:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Case next_;
  std::map<std::string, Tensor> weights_;  ///< Of the next case.
  std::vector<Case> cases_;
};

// One function for each file.
void add_elementwise_cases(CaseBuilder& builder);
void add_integer_cases(CaseBuilder& builder);
void add_cast_cases(CaseBuilder& builder);
void add_movement_cases(CaseBuilder& builder);
void add_reduction_cases(CaseBuilder& builder);
void add_contraction_cases(CaseBuilder& builder);
void add_network_cases(CaseBuilder& builder);
void add_variable_cases(CaseBuilder& builder);
void add_found_cases(CaseBuilder& builder);

}  // namespace tandem::reference
