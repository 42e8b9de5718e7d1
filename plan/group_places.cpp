#include "plan/group_places.hpp"

namespace ferry {

Membership GroupPlaces::of(std::uint32_t grouping, int task) {
  const auto [at, fresh] = known_.try_emplace(grouping);
  std::vector<Membership>& places = at->second;
  if (fresh) {
    places.resize(plan_.class_of.size());
    for (const std::vector<std::int32_t>& group : plan_.groupings[grouping])
      for (std::size_t member = 0; member < group.size(); ++member)
        places[group[member]] = {&group, static_cast<int>(member)};
  }
  return places[task];
}

std::vector<std::int64_t> GroupPlaces::begin(const Window& window, int task) {
  return begin_at(window, [&](std::uint32_t grouping) { return of(grouping, task); });
}

std::vector<std::int64_t> begin_at(const Window& window,
                                   const std::function<Membership(std::uint32_t grouping)>& place) {
  std::vector<std::int64_t> begin(window.sizes.size(), 0);
  std::vector<std::int64_t> sizes = window.sizes;
  for (const SplitDim& split : window.splits) {
    const Membership mine = place(split.grouping);
    if (mine.group == nullptr) continue;
    const Part part = part_of(sizes[split.dim], static_cast<std::int64_t>(mine.group->size()), mine.member);
    begin[split.dim] += part.begin;
    sizes[split.dim] = part.size;
  }
  for (const RowsRead& rows : window.rows)
    for (const SplitDim& split : window.splits)
      if (const Membership mine = place(split.grouping); split.dim == rows.dim && mine.group != nullptr)
        begin[rows.dim] = Halo{window.sizes[rows.dim], static_cast<std::int64_t>(mine.group->size()), {rows.reads}}
                              .rows_read(mine.member)
                              .begin;
  return begin;
}

std::vector<std::int64_t> begin_of(const Plan& plan, const Window& window, int task) {
  return begin_at(window, [&](std::uint32_t grouping) { return membership(plan.groupings[grouping], task); });
}

}  // namespace ferry
