// default_ops(): all ops of ferry.
#pragma once

#include "graph/op/op_def.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The ops of all families and of the graph itself, which graph files may use. To add your own ops, copy the set:
///
///     static constexpr OpDef kTwice{.name = "Twice", .types = "T->T", .index = "...->..."};
///     OpSet ops = default_ops();
///     ops.add(kTwice);
[[nodiscard]] const OpSet& default_ops();

}  // namespace ferry
#pragma GCC visibility pop
