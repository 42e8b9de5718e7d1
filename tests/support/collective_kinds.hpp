// All kinds of collectives.
#pragma once

#include "plan/schedule/schedule.hpp"

namespace ferry::test {

inline constexpr CollectiveKind kCollectiveKinds[] = {
    CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather, CollectiveKind::all_to_all,
    CollectiveKind::broadcast,  CollectiveKind::scatter,        CollectiveKind::gather,     CollectiveKind::reduce};

}  // namespace ferry::test
