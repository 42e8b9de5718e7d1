#include "placement/class/class_plan.hpp"

#include "base/error.hpp"

namespace ferry {
namespace {

class ClassChecker {
 public:
  explicit ClassChecker(const ClassPlan& plan) : plan_(plan), role_(plan.role) {}

  void run() const {
    for (std::uint32_t b = 0; b < role_.buffers.size(); ++b) buffer(b);
    for (std::uint32_t r = 0; r < plan_.regions(); ++r) region(r);
    for (const PlanVariable& variable : role_.variables)
      require(variable.buffer < role_.buffers.size(), "a variable has a buffer that is not there");
  }

 private:
  static void require(bool holds, const std::string& what) {
    if (!holds) throw Error(Code::bug, what);
  }

  void buffer(std::uint32_t b) const {
    const std::uint32_t of = role_.buffers[b].view_of;
    const std::string name = "buffer %" + std::to_string(b);
    require(of == kNone || of < role_.buffers.size(), name + " is a view of one that is not there");
    require(of == kNone || role_.buffers[of].view_of == kNone, name + " is a view of a view");
    require(role_.buffers[b].device < role_.devices.size(), name + " is on a device that is not there");
  }

  void region(std::uint32_t r) const {
    if (!plan_.joined()) {
      for (const Instruction& i : plan_.list(r)) instruction(i, r);
      return;
    }
    require(plan_.list(r).empty(), "a region has instructions that were not joined");
    const Range range = role_.regions[r].instructions;
    require(std::uint64_t{range.first} + range.count <= role_.instructions.size(), "a region ends behind the class");
    for (const std::uint32_t i : range) instruction(role_.instructions[i], r);
  }

  void instruction(const Instruction& i, std::uint32_t r) const {
    const auto where = [&] {
      return std::string(name_of(i.what)) + " in region " + std::to_string(r) +
             (i.name == kNone ? "" : " of " + std::string(plan_.tables().text(i.name)));
    };
    for (const Range range : {i.inputs, i.outputs}) {
      require(std::uint64_t{range.first} + range.count <= role_.operands.size(), where() + ": no such operands");
      for (const BufferId b : role_.operands_of(range)) require(b < role_.buffers.size(), where() + ": no such buffer");
    }
    require(i.scratch == kNone || i.scratch < role_.buffers.size(), where() + ": no such scratch buffer");
    require((i.may & kMovable) == 0 || plan_.may_spread(r), where() + ": movable where only thread 0 runs");
    require(i.strand < role_.strands(), where() + ": on a thread or queue that is not there");
    if (i.what == Opcode::loop || i.what == Opcode::branch)
      require(i.region() < plan_.regions() && i.other_region() < plan_.regions(), where() + ": no such region");
    if (i.what == Opcode::tiles) require(i.region() < plan_.regions(), where() + ": no such region");
  }

  const ClassPlan& plan_;
  const PlanClass& role_;
};

}  // namespace

ClassPlan::ClassPlan(PlanTables& tables) : tables_(&tables) {
  (void)add(Region::Kind::setup, Region::Kind::step);
}

void ClassPlan::reserve(std::size_t instructions, std::size_t operands) {
  lists_[1].reserve(instructions);
  role.operands.reserve(operands);
}

std::uint32_t ClassPlan::add(Region::Kind kind) {
  role.regions.push_back({kind, {}});
  lists_.emplace_back();
  return regions() - 1;
}

std::pair<std::uint32_t, std::uint32_t> ClassPlan::add(Region::Kind first, Region::Kind second) {
  const std::uint32_t at = add(first);
  return {at, add(second)};
}

void ClassPlan::push(Instruction instruction, const Buffers& in, const Buffers& out) {
  add_operands(instruction, in, out);
  lists_[region_].push_back(instruction);
}

Range ClassPlan::operands(std::span<const BufferId> buffers) {
  const auto begin = static_cast<std::uint32_t>(role.operands.size());
  role.operands.insert(role.operands.end(), buffers.begin(), buffers.end());
  return {begin, static_cast<std::uint32_t>(buffers.size())};
}

PlanClass ClassPlan::snapshot() const {
  ClassPlan copy = *this;
  if (!copy.joined()) copy.join();
  return std::move(copy.role);
}

std::vector<std::uint32_t> count_touches(const ClassPlan& plan) {
  const PlanClass& role = plan.role;
  std::vector<std::uint32_t> touches(role.buffers.size(), 0);
  const auto count = [&](const std::vector<Instruction>& list) {
    for (const Instruction& i : list)
      for (const Range range : {i.inputs, i.outputs})
        for (const BufferId b : role.operands_of(range)) ++touches[b];
  };
  count(role.instructions);
  for (std::uint32_t r = 0; r < plan.regions() && !plan.joined(); ++r) count(plan.list(r));
  for (const Buffer& buffer : role.buffers)
    if (buffer.view_of != kNone) ++touches[buffer.view_of];
  return touches;
}

// The other lists are inserted into the step's list, which is by far the longest.
void ClassPlan::join() {
  std::vector<Instruction>& all = lists_[1];
  const auto setup = static_cast<std::uint32_t>(lists_[0].size());
  role.regions[0].instructions = {0, setup};
  role.regions[1].instructions = {setup, static_cast<std::uint32_t>(all.size())};
  all.insert(all.begin(), lists_[0].begin(), lists_[0].end());
  for (std::size_t r = 2; r < lists_.size(); ++r) {
    role.regions[r].instructions = {static_cast<std::uint32_t>(all.size()),
                                    static_cast<std::uint32_t>(lists_[r].size())};
    all.insert(all.end(), lists_[r].begin(), lists_[r].end());
  }
  role.instructions = std::move(all);
  for (std::vector<Instruction>& list : lists_) list = {};
  joined_ = true;
}

void check_class(const ClassPlan& plan) {
  ClassChecker(plan).run();
}

}  // namespace ferry
