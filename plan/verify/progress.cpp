// Progress: proves that a plan cannot deadlock even if nothing is buffered. Every site (setup, step, each side of a
// loop or branch) is walked on its own, with one walker for each class that has it. A send ends when its receive has
// started, a receive when its send has started. A loop or branch with messages inside is a meeting of all classes that
// have it. The start of a collective counts as a meeting, too. In a run, members do not wait for each other there. But
// a plan that ends even if they wait also ends if they do not, and this way collectives come in the same order on all
// members.
//
// One walk of each site is enough. Each message starts and ends in one site (check_messages), so walks that end can be
// repeated and nested: there is a run in which no class enters a site before all classes have left the previous site.
// An instruction that can run now can still run after other classes have run more instructions. So if one run ends, all
// runs end, for any number of iterations and steps, and however far apart the tasks are.
#include <algorithm>
#include <map>
#include <optional>

#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

class SiteWalk {
 public:
  struct Started {
    std::vector<bool> sends, receives;  // of each channel
  };

  SiteWalk(const Plan& plan, const Tables& tables, std::uint32_t site, Started& started)
      : plan_(plan),
        tables_(tables),
        site_(tables.sites[site]),
        started_(started),
        walker_of_(plan.classes.size(), kNone) {
    for (const Site::ClassRegion& of : site_.regions) {
      const Range range = plan.classes[of.plan_class].regions[of.region].instructions;
      walker_of_[of.plan_class] = static_cast<std::uint32_t>(walkers_.size());
      walkers_.push_back({of.plan_class, range.first, range.first + range.count});
    }
  }

  void check() {
    for (std::uint32_t w = 0; w < walkers_.size(); ++w) ready_.push_back(w);
    while (!ready_.empty()) {
      const std::uint32_t w = ready_.back();
      ready_.pop_back();
      while (walkers_[w].next != walkers_[w].end && step(w, current(w))) ++walkers_[w].next;
    }
    for (std::uint32_t w = 0; w < walkers_.size(); ++w)
      if (walkers_[w].next != walkers_[w].end) report(w);
  }

 private:
  struct Walker {
    std::uint32_t plan_class, next, end;
  };

  /// The walkers that wait for one another, and the walkers among them that have arrived.
  struct Meeting {
    std::vector<std::uint32_t> all, arrived;
  };

  [[nodiscard]] const Instruction& current(std::uint32_t w) const {
    return plan_.classes[walkers_[w].plan_class].instructions[walkers_[w].next];
  }

  /// Runs the instruction if it can run now. Returns whether it did.
  bool step(std::uint32_t w, const Instruction& i) {
    switch (i.what) {
      case Opcode::send:
        started_.sends[i.channel()] = true;
        wake(plan_.channels[i.channel()].to);
        return true;
      case Opcode::receive:
        started_.receives[i.channel()] = true;
        wake(plan_.channels[i.channel()].from);
        return true;
      case Opcode::send_wait:
        return started_.receives[i.channel()];
      case Opcode::receive_wait:
        return started_.sends[i.channel()];
      case Opcode::collective_wait:
        return true;  // all members have met at its start
      case Opcode::collective:
        return meet(w, i);
      case Opcode::loop:
      case Opcode::branch:
        return !has_messages(w, i) || meet(w, i);
      default:
        return true;
    }
  }

  [[nodiscard]] std::uint32_t inner_site(std::uint32_t w, RegionId region) const {
    return tables_.site_of[walkers_[w].plan_class][region];
  }
  [[nodiscard]] bool has_messages(std::uint32_t w, const Instruction& i) const {
    return tables_.sites[inner_site(w, i.region())].has_messages ||
           tables_.sites[inner_site(w, i.other_region())].has_messages;
  }

  void wake(std::int32_t task) {
    const std::uint32_t w = walker_of_[plan_.class_of[task]];
    if (w != kNone) ready_.push_back(w);
  }

  /// Arrives at a meeting. Returns true if all walkers have arrived. The last one moves all others past the meeting.
  bool meet(std::uint32_t w, const Instruction& i) {
    Meeting& meeting = meeting_of(w, i);
    if (std::find(meeting.arrived.begin(), meeting.arrived.end(), w) == meeting.arrived.end())
      meeting.arrived.push_back(w);
    if (meeting.arrived.size() < meeting.all.size()) return false;
    for (std::uint32_t other : meeting.all) {
      if (other == w) continue;
      ++walkers_[other].next;
      ready_.push_back(other);
    }
    return true;
  }

  Meeting& meeting_of(std::uint32_t w, const Instruction& i) {
    const bool collective = i.what == Opcode::collective;
    const auto [at, fresh] =
        meetings_.try_emplace({collective, collective ? i.collective() : inner_site(w, i.region())}, Meeting{});
    if (!fresh) return at->second;
    if (collective) {
      for (std::uint32_t c : tables_.classes_of[plan_.collectives[i.collective()].grouping])
        at->second.all.push_back(walker_of_[c]);
    } else {
      for (const Site::ClassRegion& of : tables_.sites[inner_site(w, i.region())].regions)
        at->second.all.push_back(walker_of_[of.plan_class]);
    }
    return at->second;
  }

  // ---- Refusals ----

  [[nodiscard]] std::int32_t task_of(std::uint32_t w) const { return tables_.tasks_of[walkers_[w].plan_class][0]; }
  [[nodiscard]] bool ended(std::uint32_t w) const { return walkers_[w].next == walkers_[w].end; }

  /// A walker that the blocked walker `w` waits for.
  std::optional<std::uint32_t> waits_for(std::uint32_t w) {
    const Instruction& i = current(w);
    if (i.what == Opcode::send_wait || i.what == Opcode::receive_wait) {
      const Channel& channel = plan_.channels[i.channel()];
      const std::int32_t task = i.what == Opcode::send_wait ? channel.to : channel.from;
      return walker_of_[plan_.class_of[task]];
    }
    const Meeting& meeting = meeting_of(w, i);
    for (std::uint32_t other : meeting.all)
      if (std::find(meeting.arrived.begin(), meeting.arrived.end(), other) == meeting.arrived.end()) return other;
    return std::nullopt;
  }

  /// Follows the chain of waits from a blocked walker until a walker repeats, and rejects the plan with this cycle.
  [[noreturn]] void report(std::uint32_t start) {
    std::vector<std::uint32_t> chain{start};
    for (;;) {
      const auto next = waits_for(chain.back());
      if (!next || ended(*next))
        reject("the plan would wait for ever: task " + std::to_string(task_of(chain.back())) + " waits in " +
               describe(plan_, current(chain.back())) + " for " +
               (next ? "task " + std::to_string(task_of(*next)) + ", which has ended its " + site_.name : "nobody"));
      const auto seen = std::find(chain.begin(), chain.end(), *next);
      if (seen == chain.end()) {
        chain.push_back(*next);
        continue;
      }
      chain.erase(chain.begin(), seen);
      break;
    }
    const auto is_collective = [&](std::uint32_t w) { return current(w).what == Opcode::collective; };
    if (std::all_of(chain.begin(), chain.end(), is_collective)) reject_order(chain);
    // In a run nobody waits at the start of a collective, so a cycle with such a start need not be a deadlock. But then
    // the tasks have no common order of messages.
    const bool starts = std::any_of(chain.begin(), chain.end(), is_collective);
    std::string text =
        starts ? "the messages come in different orders on different tasks:" : "the plan would deadlock:";
    for (std::size_t k = 0; k < chain.size(); ++k)
      text += "\n  task " + std::to_string(task_of(chain[k])) + " waits in " + describe(plan_, current(chain[k])) +
              " for task " + std::to_string(task_of(chain[(k + 1) % chain.size()]));
    reject(text);
  }

  /// For a cycle of collectives only: each task waits for a task that starts another collective first.
  [[noreturn]] void reject_order(const std::vector<std::uint32_t>& chain) {
    std::string text = "the collectives come in different orders on different tasks:";
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const std::size_t next = (k + 1) % chain.size();
      text += "\n  task " + std::to_string(task_of(chain[next])) + " comes to " +
              described(plan_, current(chain[next]).collective()) + " before " +
              described(plan_, current(chain[k]).collective());
    }
    reject(text);
  }

  const Plan& plan_;
  const Tables& tables_;
  const Site& site_;
  Started& started_;
  std::vector<std::uint32_t> walker_of_;  // of each class
  std::vector<Walker> walkers_;
  std::vector<std::uint32_t> ready_;
  std::map<std::pair<bool, std::uint32_t>, Meeting> meetings_;
};

}  // namespace

void check_progress(const Plan& plan, const Tables& tables) {
  SiteWalk::Started started{std::vector<bool>(plan.channels.size()), std::vector<bool>(plan.channels.size())};
  for (std::uint32_t site = 0; site < tables.sites.size(); ++site)
    if (tables.sites[site].has_messages) SiteWalk(plan, tables, site, started).check();
}

}  // namespace ferry::verifier
