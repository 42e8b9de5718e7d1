#include "plan/plan.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

using namespace ferry;

namespace {

Topology ps_and_workers() {
  Topology topology = Topology::local(3);
  topology.tasks[0].job = "ps";
  topology.tasks[1].index_in_job = 0;
  topology.tasks[2].index_in_job = 1;
  return topology;
}

std::string refusal(const Topology& topology, const char* spec) {
  try {
    static_cast<void>(topology.resolve(DeviceSpec::parse(spec)));
  } catch (const Error& error) {
    CHECK(error.code() == Code::plan);
    return error.text();
  }
  return "accepted";
}

/// Two tasks; task 0 sends 12 bytes, both take part in an all-gather of 3 and 2 floats.
Plan sending_plan() {
  Plan plan;
  plan.topology = Topology::local(2);
  plan.groupings = {{{0, 1}}};
  plan.channels = {{.from = 0, .to = 1, .bytes = 12}};
  plan.schedules = {direct_schedule(CollectiveKind::all_gather, 2)};
  plan.collectives = {{.schedule = 0, .grouping = 0, .dtype = DType::float32, .parts = {3, 2}}};
  const Instruction collective{.what = Opcode::collective, .target = 0};
  PlanClass sender, receiver;
  sender.instructions = {{.what = Opcode::copy},
                         {.what = Opcode::send, .target = 0},
                         {.what = Opcode::send_wait, .target = 0},
                         collective};
  receiver.instructions = {
      {.what = Opcode::receive, .target = 0}, {.what = Opcode::receive_wait, .target = 0}, collective};
  sender.regions = {{Region::Kind::setup, {0, 0}}, {Region::Kind::step, {0, 4}}};
  receiver.regions = {{Region::Kind::setup, {0, 0}}, {Region::Kind::step, {0, 3}}};
  plan.classes = {sender, receiver};
  plan.class_of = {0, 1};
  return plan;
}

}  // namespace

TEST_CASE("a device resolves to a global task") {
  const Topology topology = ps_and_workers();
  CHECK(topology.resolve(DeviceSpec::parse("/task:2")) == 2);
  CHECK(topology.resolve(DeviceSpec::parse("/job:ps")) == 0);
  CHECK(topology.resolve(DeviceSpec::parse("/job:worker/task:1/cpu:0")) == 2);
  CHECK(topology.tasks_of(DeviceSpec::parse("/task:*")) == std::vector<int>{0, 1, 2});
  CHECK(topology.tasks_of(DeviceSpec::parse("/job:worker/task:*")) == std::vector<int>{1, 2});
  CHECK(topology.tasks_of(DeviceSpec::parse("/job:worker/task:0")) == std::vector<int>{1});
}

TEST_CASE("a group may be on one host or on several") {
  Topology topology = Topology::local(3);
  topology.tasks[1].host = 1;
  CHECK(topology.on_one_host(std::vector<std::int32_t>{2, 0}));
  CHECK_FALSE(topology.on_one_host(std::vector<std::int32_t>{0, 1, 2}));
}

TEST_CASE("GPUs that do not work together take two copies and the link of their hosts") {
  Topology topology;
  topology.on_host = {1, 4};
  topology.between_hosts = {2, 2};
  topology.host_gpu = {10, 8};
  topology.gpus_on_host = {3, 100};
  topology.gpus_between_hosts = {5, 50};
  for (const bool joined : {false, true}) {
    CHECK(topology.link(DeviceKind::cpu, true, joined) == topology.on_host);
    CHECK(topology.link(DeviceKind::cpu, false, joined) == topology.between_hosts);
  }
  CHECK(topology.link(DeviceKind::gpu, true, true) == topology.gpus_on_host);
  CHECK(topology.link(DeviceKind::gpu, false, true) == topology.gpus_between_hosts);
  CHECK(topology.link(DeviceKind::gpu, true, false) == LinkCost{21, 2});
  CHECK(topology.link(DeviceKind::gpu, false, false) == LinkCost{22, 4.0 / 3});
}

TEST_CASE("sums take the links of other messages unless they have their own") {
  Topology topology;
  CHECK(topology.sums(true) == topology.on_host);
  CHECK(topology.sums(false) == topology.between_hosts);
  topology.sums_between_hosts = {5, 50};
  CHECK(topology.sums(true) == topology.on_host);
  CHECK(topology.sums(false) == LinkCost{5, 50});
}

TEST_CASE("a device that is not there is refused with what is") {
  const Topology topology = ps_and_workers();
  const std::string task = refusal(topology, "/task:5");
  CHECK(task.find("'/task:5' is not there") != std::string::npos);
  CHECK(task.find("3 tasks: ps (task 0), worker (tasks 0 to 1)") != std::string::npos);
  CHECK(task.find("at least 6 tasks") != std::string::npos);
  CHECK(refusal(topology, "/job:worker/task:2").find("is not there") != std::string::npos);
  CHECK(refusal(topology, "/job:chief").find("--jobs chief=0") != std::string::npos);
  CHECK(refusal(topology, "/task:*").find("where one is wanted") != std::string::npos);
  CHECK_THROWS_AS(static_cast<void>(topology.tasks_of(DeviceSpec::parse("/job:chief/task:*"))), Error);
}

TEST_CASE("traffic counts messages, bytes and copies of a region") {
  const Plan plan = sending_plan();
  CHECK(traffic_of(plan, 0, 0) == Traffic{});
  CHECK(traffic_of(plan, 0, 1) ==
        Traffic{.sent_messages = 2, .sent_bytes = 12 + 12, .received_messages = 1, .received_bytes = 8, .copies = 1});
  CHECK(traffic_of(plan, 1, 1) ==
        Traffic{.sent_messages = 1, .sent_bytes = 8, .received_messages = 2, .received_bytes = 12 + 12});
}

TEST_CASE("a part begins where the parts before it end") {
  Plan plan;
  plan.groupings = {{{0, 2}, {1, 3}}, {{0, 1}, {2, 3}}};
  const Window both{{5, 7}, {{0, 0}, {1, 1}}};
  CHECK(begin_of(plan, both, 0) == std::vector<std::int64_t>{0, 0});
  CHECK(begin_of(plan, both, 1) == std::vector<std::int64_t>{0, 4});
  CHECK(begin_of(plan, both, 3) == std::vector<std::int64_t>{3, 4});
  const Window nested{{5}, {{0, 0}, {0, 1}}};  // parts of 3 and 2, cut again into 2, 1 and 1, 1
  CHECK(begin_of(plan, nested, 1) == std::vector<std::int64_t>{2});
  CHECK(begin_of(plan, nested, 3) == std::vector<std::int64_t>{4});
}

TEST_CASE("a task outside a grouping is no member") {
  const Grouping grouping = {{4, 2}, {1}};
  CHECK(membership(grouping, 2).member == 1);
  CHECK(membership(grouping, 1).group == &grouping[1]);
  CHECK(membership(grouping, 0).group == nullptr);
  CHECK(membership(grouping, 0).member == -1);
}
