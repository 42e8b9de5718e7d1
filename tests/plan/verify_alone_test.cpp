// Verifies plans made by hand, linked without the code of the planner's passes: the verifier does not depend on them.
#include <doctest/doctest.h>

#include "plan/verify/verify.hpp"

namespace ferry {
namespace {

enum Text : std::uint32_t { kConstant, kWhile, kX, kGo, kFar };
enum : std::uint32_t { kBufferX, kBufferGo, kBufferFar };  // each class has these buffers
enum Part : std::size_t { setup, step, condition, body };

/// The instructions of one task, by region.
struct Role {
  std::vector<Instruction> parts[4];
  PlanClass c;

  Role() {
    c.devices = {{DeviceKind::cpu, 0, 128, 64}};
    c.buffers = {buffer(Buffer::Space::step, 0, kX), buffer(Buffer::Space::state, 0, kGo),
                 buffer(Buffer::Space::step, 64, kFar)};
    c.buffers[kBufferGo].dtype = DType::boolean;
    c.buffers[kBufferGo].sizes = {};
    c.buffers[kBufferGo].bytes = 1;
    for (std::uint32_t b = 0; b < 3; ++b) c.operands.push_back(b);
    for (const std::uint32_t b : {kBufferX, kBufferGo, kBufferFar}) make(setup, b);
  }
  static Buffer buffer(Buffer::Space space, std::uint64_t offset, std::uint32_t name) {
    Buffer b;
    b.space = space;
    b.offset = offset;
    b.sizes = {4};
    b.bytes = 16;
    b.name = name;
    return b;
  }
  void add(Part part, Opcode what, std::uint32_t target, Range inputs, Range outputs, std::uint32_t name) {
    Instruction i;
    i.what = what;
    i.target = target;
    i.inputs = inputs;
    i.outputs = outputs;
    i.name = name;
    parts[part].push_back(i);
  }
  void make(Part part, std::uint32_t buffer) {
    add(part, Opcode::kernel, kNone, {}, {buffer, 1}, kX);
    parts[part].back().op = kConstant;
    parts[part].back().attrs = buffer == kBufferGo ? 1 : 0;
  }
  void send(Part part, std::uint32_t channel, std::uint32_t buffer) {
    add(part, Opcode::send, channel, {buffer, 1}, {}, kX);
    add(part, Opcode::send_wait, channel, {buffer, 1}, {}, kX);
  }
  void receive(Part part, std::uint32_t channel, std::uint32_t buffer) {
    add(part, Opcode::receive, channel, {}, {buffer, 1}, kX);
    add(part, Opcode::receive_wait, channel, {}, {buffer, 1}, kX);
  }
  void loop() {
    make(condition, kBufferGo);
    add(step, Opcode::loop, condition, {kBufferGo, 1}, {}, kWhile);
    parts[step].back().other = body;
  }
  PlanClass finished() {
    const bool loops = !parts[body].empty();
    const Region::Kind kinds[] = {Region::Kind::setup, Region::Kind::step, Region::Kind::condition, Region::Kind::body};
    for (std::size_t part = 0; part < (loops ? 4U : 2U); ++part) {
      c.regions.push_back(
          {kinds[part],
           {static_cast<std::uint32_t>(c.instructions.size()), static_cast<std::uint32_t>(parts[part].size())}});
      c.instructions.insert(c.instructions.end(), parts[part].begin(), parts[part].end());
    }
    return c;
  }
};

Channel channel(std::int32_t from, std::int32_t to) {
  Channel made;
  made.from = from;
  made.to = to;
  made.bytes = 16;
  made.name = kX;
  return made;
}

Plan plan_of(std::vector<Role> roles, std::vector<Channel> channels) {
  Plan plan;
  plan.topology.tasks.resize(roles.size());
  plan.strings = {"Constant", "while", "x", "go", "far"};
  plan.attrs = {{{"value", Tensor(DType::float32, {4})}}, {{"value", Tensor(DType::boolean, {})}}};
  plan.channels = std::move(channels);
  for (Role& role : roles) {
    plan.class_of.push_back(static_cast<std::uint32_t>(plan.classes.size()));
    plan.classes.push_back(role.finished());
  }
  return plan;
}

TEST_CASE("a plan made by hand passes") {
  Role from, to;
  from.send(step, 0, kBufferX);
  to.receive(step, 0, kBufferX);
  const Verdict verdict = verify(plan_of({from, to}, {channel(0, 1)}));
  CHECK_MESSAGE(verdict.pass, verdict.reason);
}

TEST_CASE("two tasks that both send first, each waiting until it has left") {
  Role a, b;
  a.send(step, 0, kBufferX);
  a.receive(step, 1, kBufferFar);
  b.send(step, 1, kBufferX);
  b.receive(step, 0, kBufferFar);
  CHECK(verify(plan_of({a, b}, {channel(0, 1), channel(1, 0)})).reason ==
        "the plan would deadlock:\n  task 0 waits in send_wait 'x' for task 1\n"
        "  task 1 waits in send_wait 'x' for task 0");
}

// In the body task 0 sends to 1, 1 to 2 and 2 to 3, and each may be an iteration ahead of the next. Task 3 enters the
// loop only after a message that task 0 sends behind its loop. Task 0 can end one or two iterations without task 3, so
// that three iterations deadlock.
TEST_CASE("a loop that stalls in its third iteration") {
  Role roles[4];
  for (std::uint32_t t = 0; t < 4; ++t) {
    if (t == 3) roles[t].receive(step, 3, kBufferFar);
    if (t > 0) roles[t].receive(body, t - 1, kBufferX);
    if (t < 3) roles[t].send(body, t, kBufferX);
    roles[t].loop();
    if (t == 0) roles[t].send(step, 3, kBufferFar);
  }
  const Verdict verdict = verify(
      plan_of({roles[0], roles[1], roles[2], roles[3]}, {channel(0, 1), channel(1, 2), channel(2, 3), channel(0, 3)}));
  CHECK_MESSAGE(verdict.reason ==
                    "the plan would deadlock:\n  task 0 waits in loop 'while' for task 3\n"
                    "  task 3 waits in receive_wait 'x' for task 0",
                verdict.reason);
}

TEST_CASE("regions nested too deep, or in a circle, are refused before they are walked") {
  Role role;
  role.loop();
  role.make(body, kBufferX);
  Plan plan = plan_of({role}, {});
  CHECK(verify(plan).pass);
  PlanClass& c = plan.classes[0];
  const Instruction loop = c.instructions[c.regions[step].instructions.first];
  for (std::uint32_t depth = 0; depth < 2000; ++depth) {
    const auto at = static_cast<std::uint32_t>(c.instructions.size());
    const auto first = static_cast<std::uint32_t>(c.regions.size());
    c.instructions.push_back(loop);
    c.instructions.back().target = depth + 1 < 2000 ? first + 2 : 2;
    c.instructions.back().other = depth + 1 < 2000 ? first + 3 : 3;
    c.regions.push_back({Region::Kind::condition, {at, 0}});
    c.regions.push_back({Region::Kind::body, {at, 1}});
  }
  c.instructions[c.regions[step].instructions.first].target = 4;
  c.instructions[c.regions[step].instructions.first].other = 5;
  CHECK(verify(plan).reason == "malformed plan: regions are nested too deep");
}

}  // namespace
}  // namespace ferry
