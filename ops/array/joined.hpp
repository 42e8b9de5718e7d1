// What placement knows of ops that join values: where their inputs' bytes lie in the output.
#pragma once

#include <cstddef>
#include <optional>

#include "graph/op/attrs.hpp"
#include "graph/op/op_def.hpp"

namespace ferry {

/// The dim along which the op joins its inputs, of `rank` dims, to its output; nothing when it does something else.
[[nodiscard]] std::optional<std::size_t> joined_dim(const OpDef& def, const Attrs& attrs, std::size_t rank);

}  // namespace ferry
