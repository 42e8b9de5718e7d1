// The lists of passes. The pipeline and tests that run one pass use them.
#pragma once

#include <span>
#include <string_view>

#include "placement/class/class_plan.hpp"
#include "placement/program/program.hpp"

namespace ferry {

template <class Form>
struct FormPass {
  std::string_view name;
  void (*run)(Form&);
};

/// The passes between `select` and `number_messages`, in order.
[[nodiscard]] std::span<const FormPass<Program>> program_passes();

/// The passes after `lower`, in order. Each runs once for each plan class.
[[nodiscard]] std::span<const FormPass<ClassPlan>> class_passes();

}  // namespace ferry
