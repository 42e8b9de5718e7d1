// All ops that ferry comes with.
#pragma once

#include "graph/op/op_def.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The ops of all families and of the graph itself: what a graph file may hold. Copy it to add your own:
///
///     OpSet ops = default_ops();
///     ops.add(kMyOp);
[[nodiscard]] const OpSet& default_ops();

}  // namespace ferry
#pragma GCC visibility pop
