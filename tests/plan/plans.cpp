#include "tests/plan/plans.hpp"

namespace ferry::test {
namespace {

enum Text : std::uint32_t { kFile, kX, kY, kMatMul, kW };

Attrs attrs_of_each_type() {
  return {{"bool", true},
          {"int", std::int64_t{-3}},
          {"float", -0.0},
          {"text", std::string("a \"quoted\" é")},
          {"ints", Ints{1, -2, 3}},
          {"floats", Floats{0.5, 1e300}},
          {"dtype", DType::int64},
          {"shape", Shape{2, "batch", Dim::at_most(3), Dim::unknown()}},
          {"tensor", Tensor::of<float>({2}, {1.5F, -0.0F})},
          {"body", SubgraphRef{2}}};
}

Buffer buffer(std::uint64_t offset, std::vector<std::int64_t> sizes, std::uint32_t name) {
  Buffer result;
  result.offset = offset;
  result.sizes = std::move(sizes);
  result.bytes = static_cast<std::uint64_t>(checked_count(result.sizes)) * size_of(result.dtype);
  result.name = name;
  return result;
}

Instruction instruction(Opcode what, std::uint32_t target, Range inputs, Range outputs) {
  Instruction result;
  result.what = what;
  result.target = target;
  result.inputs = inputs;
  result.outputs = outputs;
  result.name = kY;
  result.line = 0;
  return result;
}

PlanClass busy_class() {
  PlanClass role;
  role.threads = 2;
  role.devices = {{DeviceKind::cpu, 0, 1024, 256}, {DeviceKind::gpu, 1, 512, 0}};
  role.queues = {{1, PlanQueue::Role::compute}, {1, PlanQueue::Role::collective}};
  role.buffers = {buffer(0, {2, 3}, kX), buffer(64, {2, 3}, kY), buffer(128, {}, kNone),
                  buffer(256, {4}, kY),  buffer(0, {3}, kW),     buffer(0, {6}, kX)};
  role.buffers[2].dtype = DType::boolean;
  role.buffers[2].bytes = 1;
  role.buffers[3].bounded = true;
  role.buffers[0].window = 0;
  role.buffers[4].space = Buffer::Space::state;
  role.buffers[5].view_of = 0;
  role.operands = {0, 1, 2, 0, 1};
  role.waits = {{1, 3}, {0, 2}};
  role.variables = {{kW, 4}};
  Instruction kernel = instruction(Opcode::kernel, kNone, {0, 2}, {4, 1});
  kernel.op = kMatMul;
  kernel.attrs = 0;
  kernel.strand = 0;
  kernel.waits = {0, 2};
  kernel.in_place = 1;
  kernel.scratch = 3;
  Instruction loop = instruction(Opcode::loop, 2, {2, 1}, {0, 0});
  loop.other = 3;
  Instruction branch = instruction(Opcode::branch, 4, {2, 1}, {0, 0});
  branch.other = 5;
  branch.strand = 1;
  role.instructions = {kernel,
                       instruction(Opcode::feed, 0, {0, 0}, {0, 1}),
                       instruction(Opcode::send, 0, {0, 1}, {0, 0}),
                       instruction(Opcode::send_wait, 0, {0, 1}, {0, 0}),
                       instruction(Opcode::collective, 0, {0, 1}, {1, 1}),
                       instruction(Opcode::collective_wait, 0, {0, 1}, {1, 1}),
                       instruction(Opcode::fetch, 0, {1, 1}, {0, 0}),
                       loop,
                       branch,
                       instruction(Opcode::copy, kNone, {0, 1}, {1, 1}),
                       instruction(Opcode::copy, kNone, {0, 1}, {1, 1})};
  role.regions = {{Region::Kind::setup, {0, 1}}, {Region::Kind::step, {1, 8}},    {Region::Kind::condition, {9, 1}},
                  {Region::Kind::body, {10, 1}}, {Region::Kind::branch, {11, 0}}, {Region::Kind::branch, {11, 0}}};
  role.stretches = {{1, 2}, {4, 3}};
  return role;
}

PlanClass receiving_class() {
  PlanClass role;
  role.devices = {{DeviceKind::cpu, 0, 128, 0}};
  role.buffers = {buffer(0, {2, 3}, kX), buffer(64, {2, 3}, kY)};
  role.operands = {0, 1};
  role.instructions = {
      instruction(Opcode::receive, 0, {0, 0}, {0, 1}), instruction(Opcode::receive_wait, 0, {0, 0}, {0, 1}),
      instruction(Opcode::collective, 0, {0, 1}, {1, 1}), instruction(Opcode::collective_wait, 0, {0, 1}, {1, 1})};
  role.regions = {{Region::Kind::setup, {0, 0}}, {Region::Kind::step, {0, 4}}};
  role.serving = {3, {{0, {0, 1}, {1, 1}}}};
  return role;
}

Schedule exchange() {
  using Kind = ScheduleStep::Kind;
  constexpr MemberRef kNext{MemberRef::By::shift, 1}, kFirst{MemberRef::By::number, 0};
  Schedule schedule{CollectiveKind::all_reduce,
                    "by hand",
                    2,
                    0,
                    false,
                    true,
                    1,
                    {{Kind::receive_slot, kNext, kFirst, ScheduleStep::kAll, 1, 0},
                     {Kind::send_input, kNext, kFirst, 1},
                     {Kind::wait, {}, {}},
                     {Kind::fold, kNext, kFirst, ScheduleStep::kAll, ScheduleStep::kAll, ScheduleStep::kOfPeer, 0}}};
  schedule.period = 2;
  return schedule;
}

}  // namespace

Plan every_field() {
  Plan plan;
  plan.topology = Topology::local(2, 2);
  plan.topology.tasks[1].job = "ps";
  plan.topology.tasks[1].index_in_job = 0;
  plan.topology.tasks[1].host = 1;
  plan.topology.tasks[1].host_name = "node1";
  plan.topology.tasks[1].gpus = 2;
  plan.topology.tasks[1].memory_bytes = 1ULL << 40;
  plan.topology.tasks[1].host_memory_bytes = 1ULL << 41;
  plan.topology.tasks[1].memory_group = 3;
  plan.topology.tasks[1].gpu_memory_bytes = 1ULL << 36;
  plan.topology.tasks[1].gpu_group = 4;
  plan.topology.host_gpu = {1e-5, 2e10};
  plan.topology.gpus_between_hosts = {3e-5, 4e10};
  plan.strings = {"model.cpp", "x", "y", "MatMul", "w"};
  plan.lines = {{kFile, 12}};
  plan.attrs = {attrs_of_each_type(), Attrs()};
  plan.groupings = {{{0, 1}}, {{1}, {0}}};
  plan.windows = {
      {{4, 3}, {{0, 0}}},
      {{4, 3}, {{0, 0}}, Window::Has::got, 0, {{-1, 2, 3}}},
      {{4, 3}, {{0, 0}, {1, 1}}, Window::Has::given, 0, {{-1, 2, 3, 4, {-5, 6, 7}}}, {{1, {-1, 1, 3, 2, {}}}}},
      {{4, 3}, {{0, 0}}, Window::Has::read, 0, {}, {{0, {0, 1, 4, 1, {-1, 2, 3}}}}}};
  plan.feeds = {{kX, 0, DType::float32, {2, 3}, false}};
  plan.fetches = {{kY, 1, DType::int64, {4}, true}};
  plan.channels = {{0, 1, DType::float32, 24, 2, kX, 0, true}};
  plan.schedules = {exchange(), {CollectiveKind::broadcast, "none", 2, 1, true, false, 0, {}, true, Via::library}};
  plan.collectives = {{0, 0, Reduce::sum, DType::float32, {6}, kY, 0, 1}};
  plan.classes = {busy_class(), receiving_class()};
  plan.class_of = {0, 1};
  plan.bucket_bytes = 1 << 20;
  return plan;
}

}  // namespace ferry::test
