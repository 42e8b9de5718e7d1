#include "placement/class/order_queues.hpp"

#include <vector>

#include "placement/class/dependences.hpp"
#include "placement/class/strand_clocks.hpp"

namespace ferry {
namespace {

class Orderer {
 public:
  explicit Orderer(PlanClass& plan) : plan_(plan) {}

  void run() {
    if (plan_.queues.empty()) return;
    for (RegionId region = 0; region < plan_.regions.size(); ++region) {
      if (plan_.regions[region].kind == Region::Kind::tile) continue;
      const Range range = plan_.regions[region].instructions;
      region == 1 ? add_waits_by_needs(range) : add_waits_in_order(range);
    }
  }

 private:
  void add_waits_by_needs(Range range) {
    const Dependences needs(plan_, range);
    StrandClocks clocks(plan_.strands(), plan_.threads);
    for (std::uint32_t i = 0; i < range.count; ++i) {
      Instruction& instruction = plan_.instructions[range[i]];
      std::vector<Wait> waits;
      for (const std::uint32_t need : needs[i]) waits.push_back({clocks.strand(need), clocks.count(need)});
      if (instruction.what == Opcode::join)
        for (std::uint32_t queue = plan_.threads; queue < plan_.strands(); ++queue)
          waits.push_back({queue, clocks.done(queue)});
      waits = clocks.needed(instruction.strand, std::move(waits));
      clocks.add(instruction.strand, waits);
      set(instruction, waits);
    }
  }

  void add_waits_in_order(Range range) {
    std::vector<std::uint32_t> counts(plan_.strands(), 0);
    std::uint32_t before = 0;
    for (const std::uint32_t i : range) {
      Instruction& instruction = plan_.instructions[i];
      if (before != instruction.strand && before >= plan_.threads) set(instruction, {{before, counts[before]}});
      before = instruction.strand;
      ++counts[before];
    }
  }

  void set(Instruction& instruction, const std::vector<Wait>& waits) {
    if (waits.empty()) return;
    instruction.waits = {static_cast<std::uint32_t>(plan_.waits.size()), static_cast<std::uint32_t>(waits.size())};
    plan_.waits.insert(plan_.waits.end(), waits.begin(), waits.end());
  }

  PlanClass& plan_;
};

}  // namespace

void order_queues(ClassPlan& plan) {
  Orderer(plan.role).run();
}

}  // namespace ferry
