// Replicas: the same part of a variable on several tasks. The bytes of replicas must be equal
// (ExecutionOptions::check_replicas).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "comm/transport.hpp"
#include "executor/state/variables.hpp"

namespace ferry {

/// Compares all parts that several tasks have, by a hash of 8 bytes for each part, in one exchange. If some differ, the
/// job ends: Error(numeric) on task 0 names the first such variable, its tasks and `step`, and the other tasks throw
/// the resulting error of Transport::exchange(). `line_of` gives the user's line of a variable. All tasks call it.
void require_same_replicas(VariableStore& variables, std::int64_t step, Transport& transport, const Deadline& deadline,
                           const std::function<SourceLine(const std::string& name)>& line_of);

}  // namespace ferry
