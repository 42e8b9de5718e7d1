#include "placement/class/share_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace ferry {
namespace {

TEST_CASE("of the values that one tile region makes for others one is put") {
  constexpr std::int64_t kElements = 2048;
  constexpr std::uint32_t kX = 0, kP = 1, kQ = 2;
  Plan plan;
  plan.topology = Topology::local(2);
  for (TaskInfo& task : plan.topology.tasks) task.memory_group = 0;
  plan.channels.resize(2, {.from = 0, .to = 1, .bytes = kElements * sizeof(float)});
  PlanTables tables(plan);
  ClassPlan role(tables);
  for (int b = 0; b < 3; ++b) {
    Buffer& buffer = role.role.buffers.emplace_back();
    buffer.bytes = kElements * sizeof(float);
    buffer.sizes = {kElements};
  }
  const auto kernel = [&](std::string_view op) {
    Instruction made;
    made.op = tables.string(op);
    role.facts.streams.insert(made.op);
    return made;
  };
  const auto message = [](Opcode what, std::uint32_t channel) {
    Instruction made;
    made.what = what;
    made.target = channel;
    return made;
  };
  Instruction tiles = message(Opcode::tiles, role.add(Region::Kind::tile));
  tiles.other = 512;
  role.enter(tiles.target);
  role.push(kernel("Neg"), {kX}, {kP});
  role.push(kernel("Exp"), {kX}, {kQ});
  role.enter(1);
  role.push(tiles, {kX}, {kP, kQ});
  for (const Opcode what : {Opcode::send, Opcode::send_wait}) {
    role.push(message(what, 0), {kP}, {});
    role.push(message(what, 1), {kQ}, {});
  }
  role.join();
  share_memory(role);
  CHECK(std::ranges::count_if(plan.channels, [](const Channel& channel) { return channel.put; }) == 1);
}

}  // namespace
}  // namespace ferry
