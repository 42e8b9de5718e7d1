// The rules that every legal graph keeps, however it was made. Reading and writing graph files, planning and the tests
// all ask here.
#pragma once

#include <cstddef>
#include <string_view>

#include "graph/graph.hpp"

namespace ferry {

/// Longest name of an op, entry, feed or fetch, in bytes: with a prefix of ferry's it still fits a safetensors file.
inline constexpr std::size_t kMaxNameBytes = 4000;
/// How deep bodies of control flow may be nested.
inline constexpr int kMaxNesting = 32;

/// Throws Error(plan), naming the op and its line, unless
///   - names are 1 to kMaxNameBytes bytes of UTF-8 without NUL;
///   - inputs and control inputs come before their op, and types are what inference gives;
///   - annotations name meshes of this graph, with no layouts or one for each output (an empty one: free), one entry
///   for
///     each axis, splits of dims that are there, and a reduction for what is partial;
///   - Assign sets a variable, whose sizes are known; Input, Variable and Assign are never in a body, Parameter only in
///     one;
///   - each body belongs to at most one op. The op's first inputs are a branch's predicate, or a loop's carried values,
///     which are the first parameters of its bodies; after them come the values that the bodies capture, body by body
///     as the op's definition names them. A body gives what its op asks for; bodies nest at most kMaxNesting deep;
///   - entries feed Input ops, fetch values and target ops that are there, each name once.
/// Bodies are checked with their graph. Linear in time and memory, without recursion. Thread-safe.
///
///     check_legal(graph);
void check_legal(const Graph& graph);

/// Throws Error(plan) unless `name` may name something; `what` says what, for the message.
void check_name(std::string_view name, std::string_view what);

}  // namespace ferry
