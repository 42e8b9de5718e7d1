// The rules for every legal graph, from a file or from a program. They are checked when a graph file is read or written
// and before a graph is planned.
#pragma once

#include <cstddef>
#include <string_view>

#include "graph/graph.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The longest name of an op, entry, feed or fetch, in bytes. The rest is for a prefix of ferry's in a safetensors
/// file, where names have at most 4096 bytes.
inline constexpr std::size_t kMaxNameBytes = 4000;
/// How deep bodies of control flow may be nested.
inline constexpr int kMaxNesting = 32;

/// Throws Error(plan), with the op and its line, unless
///   - names are 1 to kMaxNameBytes bytes of UTF-8 without NUL;
///   - inputs and control inputs come before their op, and types equal the inferred types;
///   - an annotation's mesh exists, and there is no layout or one for each output. A layout is empty or describes each
///     axis; it splits only dims that exist, and has a reduction for each partial axis;
///   - Assign sets a variable; all sizes of a variable are known; Input, Variable and Assign are never in a body,
///     Parameter is only in a body;
///   - each body belongs to at most one op. The op's first inputs are a branch's predicate, or a loop's carried values,
///     which are the first parameters of its bodies. Then come the values that the bodies capture, body by body, in the
///     order of the attributes in the op definition. Results of a body have the types that its op needs. Bodies nest at
///     most kMaxNesting deep;
///   - entries feed Input ops, fetch values and target ops that exist. No two feeds, and no two fetches, of an entry
///     have the same name.
/// Bodies are checked with their graph. The check is linear in time and memory, without recursion. Thread-safe.
///
///     check_legal(graph);
void check_legal(const Graph& graph);

/// Throws Error(plan) unless `name` is a legal name; `what` describes the owner of the name in the message.
void check_name(std::string_view name, std::string_view what);

}  // namespace ferry
#pragma GCC visibility pop
