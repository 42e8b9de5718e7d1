// may_fail(): which ops can end a step with an error because of the values of their inputs. Planning keeps such an op
// in its loop or branch, and the proof of a plan requires that it stays there.
#pragma once

#include <span>

#include "graph/op/op_def.hpp"
#include "graph/types/shape.hpp"

namespace ferry {

/// Whether the op can fail for some inputs of these types. An op of the user can fail for any inputs. An op on bounded
/// values can fail because their extents do not fit each other; a sum of two values is an exception, because planning
/// may change the order of a sum, which then fails for the same inputs. An op with kOnce fails before the first step,
/// wherever the graph has it.
[[nodiscard]] bool may_fail(const OpDef& def, std::span<const Type* const> inputs);

}  // namespace ferry
