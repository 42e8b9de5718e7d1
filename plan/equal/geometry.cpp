#include "plan/equal/geometry.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "graph/types/halo.hpp"

namespace ferry::equal {
namespace {

/// Elements of a flattened array: they start at `first` and form nested runs, the innermost first. A run (count,
/// stride) has `count` elements that are `stride` apart. Runs that continue one another are merged.
struct Flat {
  std::int64_t first = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  bool operator==(const Flat&) const = default;
};

Flat flat(const Box& box, std::span<const std::int64_t> sizes) {
  Flat all;
  std::int64_t stride = 1;
  for (std::size_t d = sizes.size(); d > 0; --d) {
    const DimPart& extent = box[d - 1];
    if (extent.size == 0) return {};
    all.first += extent.begin * stride;
    if (extent.size > 1) {
      if (!all.runs.empty() && stride == all.runs.back().first * all.runs.back().second)
        all.runs.back().first *= extent.size;
      else
        all.runs.emplace_back(extent.size, stride);
    }
    stride *= sizes[d - 1];
  }
  return all;
}

enum Question : std::int64_t { elements, joins, exchanges, copies, sums, encloses };

void add(std::vector<std::int64_t>& key, const Partition& value) {
  key.push_back(value.window);
  key.push_back(static_cast<std::int64_t>(value.sizes.size()));
  key.insert(key.end(), value.sizes.begin(), value.sizes.end());
}

}  // namespace

Geometry::Geometry(const Plan& plan) : plan_(plan), tasks_(plan.classes.size()) {
  for (std::size_t task = 0; task < plan.class_of.size(); ++task)
    tasks_[plan.class_of[task]].push_back(static_cast<std::int32_t>(task));
  for (const Grouping& grouping : plan.groupings) {
    auto& spots = positions_.emplace_back(plan.class_of.size());
    for (std::size_t g = 0; g < grouping.size(); ++g)
      for (std::size_t m = 0; m < grouping[g].size(); ++m)
        spots[grouping[g][m]] = {static_cast<std::int32_t>(g), static_cast<std::int32_t>(m)};
  }
}

std::optional<Box> Geometry::box(const Partition& value, std::int32_t task) const {
  Box box;
  for (const std::int64_t size : value.sizes) box.push_back({0, size});
  if (value.window == kNone) return box;
  for (const SplitDim& split : plan_.windows[value.window].splits) {
    const GroupSpot at = position(split.grouping, task);
    if (at.group < 0 || split.dim >= box.size()) return std::nullopt;
    const auto members = plan_.groupings[split.grouping][at.group].size();
    DimPart& extent = box[split.dim];
    const Part part = part_of(extent.size, static_cast<std::int64_t>(members), at.member);
    extent = {extent.begin + part.begin, part.size};
  }
  return box;
}

bool Geometry::same_elements(std::uint32_t plan_class, const Partition& a, const Partition& b) {
  if (!is_part(a.window) || !is_part(b.window)) return false;
  std::vector<std::int64_t> key{elements, plan_class};
  add(key, a);
  add(key, b);
  const auto [at, fresh] = known_.try_emplace(std::move(key), 1);
  if (fresh)
    for (const std::int32_t task : tasks_[plan_class]) {
      const auto one = box(a, task), other = box(b, task);
      if (!one || !other || flat(*one, a.sizes) != flat(*other, b.sizes)) at->second = 0;
    }
  return at->second == 1;
}

int Geometry::joined_dim(std::uint32_t grouping, const Partition& parts, const Partition& whole, std::int32_t holder,
                         std::int32_t guest) {
  if (!is_part(parts.window) || !is_part(whole.window)) return -1;
  std::vector<std::int64_t> key{joins, grouping, holder, guest};
  add(key, parts);
  add(key, whole);
  const auto [at, fresh] = known_.try_emplace(std::move(key), -1);
  if (!fresh) return static_cast<int>(at->second);
  // The part that the members have together; nothing if members that should have this whole part differ.
  const auto together = [&](const std::vector<std::int32_t>& group) {
    std::optional<Box> all;
    for (std::size_t m = 0; m < group.size(); ++m) {
      if (holder >= 0 ? static_cast<std::int32_t>(m) != holder : static_cast<std::int32_t>(m) == guest) continue;
      const auto one = box(whole, group[m]);
      if (!one || (all && *all != *one)) return std::optional<Box>();
      all = one;
    }
    return all;
  };
  const auto fits = [&](const std::vector<std::int32_t>& group, std::size_t d) {
    const auto all = together(group);
    if (!all) return false;
    const auto members = static_cast<std::int64_t>(group.size()) - (guest >= 0 ? 1 : 0);
    std::int64_t next = (*all)[d].begin, member = 0;
    for (std::size_t m = 0; m < group.size(); ++m) {
      if (static_cast<std::int32_t>(m) == guest) continue;
      const auto part = box(parts, group[m]);
      if (!part) return false;
      Box wanted = *all;
      wanted[d] = {next, part_of((*all)[d].size, members, member++).size};
      if (*part != wanted) return false;
      next = wanted[d].end();
    }
    return true;
  };
  for (std::size_t d = 0; d < parts.sizes.size() && at->second < 0; ++d)
    if (std::ranges::all_of(plan_.groupings[grouping], [&](const auto& group) { return fits(group, d); }))
      at->second = static_cast<std::int64_t>(d);
  return static_cast<int>(at->second);
}

std::optional<std::pair<int, int>> Geometry::exchanged_dims(std::uint32_t grouping, const Partition& before,
                                                            const Partition& after) {
  if (!is_part(before.window) || !is_part(after.window)) return std::nullopt;
  std::vector<std::int64_t> key{exchanges, grouping};
  add(key, before);
  add(key, after);
  const auto [at, fresh] = known_.try_emplace(std::move(key), -1);
  const auto rank = static_cast<std::int64_t>(before.sizes.size());
  const auto fits = [&](const std::vector<std::int32_t>& group, std::size_t from, std::size_t to) {
    std::vector<Box> had, has;
    for (const std::int32_t task : group) {
      const auto one = box(before, task), other = box(after, task);
      if (!one || !other) return false;
      had.push_back(*one);
      has.push_back(*other);
    }
    Box all = had[0];  // the elements of all members together
    for (const Box& box : had) all[from].size = box[from].end() - all[from].begin;
    const auto members = static_cast<std::int64_t>(group.size());
    std::int64_t next = all[from].begin;
    for (std::size_t m = 0; m < group.size(); ++m) {
      const Part of_from = part_of(all[from].size, members, static_cast<std::int64_t>(m)),
                 of_to = part_of(all[to].size, members, static_cast<std::int64_t>(m));
      Box wanted = all, given = all;
      given[from] = {next, of_from.size};
      wanted[to] = {all[to].begin + of_to.begin, of_to.size};
      if (had[m] != given || has[m] != wanted) return false;
      next += of_from.size;
    }
    return true;
  };
  for (std::int64_t from = 0; fresh && from < rank; ++from)
    for (std::int64_t to = 0; to < rank && at->second < 0; ++to)
      if (from != to && std::ranges::all_of(plan_.groupings[grouping], [&](const auto& group) {
            return fits(group, static_cast<std::size_t>(from), static_cast<std::size_t>(to));
          }))
        at->second = from * rank + to;
  if (at->second < 0) return std::nullopt;
  return std::pair(static_cast<int>(at->second / rank), static_cast<int>(at->second % rank));
}

bool Geometry::in_task_order(const Partition& value) const {
  std::int64_t last = 0;
  for (std::size_t task = 0; task < plan_.class_of.size(); ++task)
    if (const auto part = box(value, static_cast<std::int32_t>(task)); part && !part->empty()) {
      if ((*part)[0].begin < last) return false;
      last = (*part)[0].begin;
    }
  return true;
}

bool Geometry::same_as_member(std::uint32_t grouping, const Partition& a, std::int32_t holder, const Partition& b,
                              std::int32_t guest) {
  if (!is_part(a.window) || !is_part(b.window)) return false;
  std::vector<std::int64_t> key{copies, grouping, holder, guest};
  add(key, a);
  add(key, b);
  const auto [at, fresh] = known_.try_emplace(std::move(key), 1);
  if (fresh)
    for (const auto& group : plan_.groupings[grouping]) {
      const auto given = box(a, group[holder]);
      for (std::size_t m = 0; m < group.size(); ++m)
        if (static_cast<std::int32_t>(m) != guest && (!given || box(b, group[m]) != given)) at->second = 0;
    }
  return at->second == 1;
}

bool Geometry::is_within(std::uint32_t inner, std::uint32_t outer, std::int32_t guest) {
  const auto [at, fresh] = known_.try_emplace({encloses, inner, outer, guest}, 1);
  if (!fresh) return at->second == 1;
  std::set<std::int32_t> met;  // groups of `inner` that were checked; groups of `outer` share none of them
  for (std::size_t g = 0; g < plan_.groupings[outer].size(); ++g) {
    const std::vector<std::int32_t>& group = plan_.groupings[outer][g];
    for (std::size_t m = 0; m < group.size(); ++m) {
      if (static_cast<std::int32_t>(m) == guest) continue;
      const GroupSpot here = position(inner, group[m]);
      if (here.group < 0) at->second = 0;
      if (here.group < 0 || !met.insert(here.group).second) continue;
      for (const std::int32_t other : plan_.groupings[inner][here.group])
        if (const GroupSpot there = position(outer, other);
            there.group != static_cast<std::int32_t>(g) || there.member == guest)
          at->second = 0;
    }
  }
  return at->second == 1;
}

bool Geometry::sums_exactly(std::uint32_t grouping, std::int32_t guest, const std::vector<std::uint32_t>& owed) {
  std::vector<std::int64_t> key{sums, grouping, guest};
  key.insert(key.end(), owed.begin(), owed.end());
  const auto [at, fresh] = known_.try_emplace(std::move(key), 1);
  if (!fresh) return at->second == 1;
  for (const auto& group : plan_.groupings[grouping]) {
    std::set<std::vector<std::int32_t>> seen;
    std::size_t members = 0, product = 1;
    for (std::size_t m = 0; m < group.size(); ++m) {
      if (static_cast<std::int32_t>(m) == guest) continue;
      ++members;
      std::vector<std::int32_t> places;
      product = 1;
      for (const std::uint32_t one : owed) {
        const GroupSpot here = position(one, group[m]);
        places.push_back(here.member);
        if (here.group >= 0) product *= plan_.groupings[one][here.group].size();
      }
      seen.insert(std::move(places));
    }
    if (seen.size() != members || product != members) at->second = 0;
  }
  return at->second == 1;
}

}  // namespace ferry::equal
