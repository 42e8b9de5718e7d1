// Counters as JSON: the format of --stats (docs/reference/stats_format.md).
#pragma once

#include <string>

#include "executor/session/session.hpp"

namespace ferry {

/// One JSON object, with a newline at its end.
[[nodiscard]] std::string stats_json(const RunStats& stats);

}  // namespace ferry
