#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

bool owns_regions(const Instruction& i) {
  return i.what == Opcode::loop || i.what == Opcode::branch;
}

bool has_messages(const Instruction& i) {
  return i.what == Opcode::collective || i.what == Opcode::send || i.what == Opcode::receive;
}

/// Finds the sites: regions of different classes that are the same side of the same op of the graph are one site.
class Sites {
 public:
  Sites(const Plan& plan, Tables& tables) : plan_(plan), tables_(tables) {}

  void find() {
    tables_.sites.resize(2);
    tables_.sites[0].name = "setup";
    tables_.sites[1].name = "step";
    for (std::uint32_t c = 0; c < plan_.classes.size(); ++c) {
      class_ = c;
      tables_.site_of.emplace_back(plan_.classes[c].regions.size(), kNone);
      for (RegionId region : {0U, 1U}) enter(region, region);
    }
    for (std::size_t s = tables_.sites.size(); s > 2; --s)  // parents come before their children
      if (tables_.sites[s - 1].has_messages) tables_.sites[tables_.sites[s - 1].parent].has_messages = true;
  }

 private:
  void enter(RegionId region, std::uint32_t site) {
    tables_.site_of[class_][region] = site;
    tables_.sites[site].regions.push_back({class_, region});
    const PlanClass& c = plan_.classes[class_];
    const Range range = c.regions[region].instructions;
    std::map<std::pair<Opcode, std::uint32_t>, std::uint32_t> met;  // by opcode and name: earlier instructions
    for (const std::uint32_t k : range) {
      const Instruction& i = c.instructions[k];
      if (has_messages(i)) tables_.sites[site].has_messages = true;
      if (!owns_regions(i)) continue;
      const std::uint32_t before = met[{i.what, i.name}]++;
      enter(i.region(), site_for({site, i.what, i.name, before, 0}));
      enter(i.other_region(), site_for({site, i.what, i.name, before, 1}));
    }
  }

  using Key = std::tuple<std::uint32_t, Opcode, std::uint32_t, std::uint32_t, int>;

  std::uint32_t site_for(const Key& key) {
    const auto [at, fresh] = numbers_.try_emplace(key, static_cast<std::uint32_t>(tables_.sites.size()));
    if (fresh) {
      const auto& [parent, what, name, before, side] = key;
      Site site;
      site.parent = parent;
      site.name = formatted("{}/{}{}:{}", as_is(tables_.sites[parent].name), plan_.string(name),
                            before > 0 ? "#" + std::to_string(before + 1) : "", side);
      tables_.sites.push_back(std::move(site));
    }
    return at->second;
  }

  const Plan& plan_;
  Tables& tables_;
  std::uint32_t class_ = 0;
  std::map<Key, std::uint32_t> numbers_;
};

}  // namespace

Tables::Tables(const Plan& plan) : tasks_of(plan.classes.size()) {
  for (std::size_t task = 0; task < plan.class_of.size(); ++task)
    tasks_of[plan.class_of[task]].push_back(static_cast<std::int32_t>(task));
  for (const Grouping& grouping : plan.groupings) {
    std::vector<GroupPosition>& here = places.emplace_back(plan.class_of.size());
    std::vector<std::size_t> there(plan.classes.size(), 0);
    std::size_t size = grouping.empty() ? 0 : grouping[0].size();
    for (std::size_t g = 0; g < grouping.size(); ++g) {
      if (grouping[g].size() != size) size = 0;
      for (std::size_t m = 0; m < grouping[g].size(); ++m) {
        const auto task = static_cast<std::size_t>(grouping[g][m]);
        here[task] = {static_cast<std::int32_t>(g), static_cast<std::int32_t>(m)};
        ++there[plan.class_of[task]];
      }
    }
    members.push_back(size);
    std::vector<bool>& covered = covers.emplace_back();
    for (std::size_t c = 0; c < there.size(); ++c) covered.push_back(there[c] == tasks_of[c].size());
    std::vector<std::uint32_t>& classes = classes_of.emplace_back();
    for (std::uint32_t c = 0; c < there.size(); ++c)
      if (there[c] > 0) classes.push_back(c);
  }
  Sites(plan, *this).find();
}

}  // namespace ferry::verifier
