// Formats the result of --tune.
#pragma once

#include <string>

#include "executor/session/session.hpp"

namespace ferry {

/// The chosen bucket size first, then the other sizes, from the fastest to the slowest. Example: "--tune: a step takes
/// 1.204 ms with buckets of 256 KiB; 1.31 ms with buckets as the links suggest, 2.31 ms with each value alone".
[[nodiscard]] std::string tuning_text(const Tuned& tuned);

}  // namespace ferry
