// Writes plan files that a broken planner could have made, for command_faults.py: broken_plans FOLDER. Each is a good
// plan, changed in one place.
#include <algorithm>
#include <functional>
#include <iostream>

#include "base/files/files.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "plan/file/plan_file.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

/// Two tasks with two collectives (rows, columns), then a message of task 1 (the question) and its answer by task 0.
Plan good_plan() {
  Graph g;
  const MeshId dp = g.mesh("dp");
  Value rows, columns, question, answer;
  {
    auto all = g.on(dp);
    const Value x = g.constant(Tensor(DType::float32, {6, 4})).laid({split(0)}).named("x");
    rows = sum(x, {0}).named("rows");
    columns = max(x * 2.0, {0}).named("columns");
  }
  {
    auto here = g.device("/task:1");
    question = (rows + columns).named("question");
  }
  {
    auto here = g.device("/task:0");
    answer = (question + 1.0).named("answer");
  }
  {
    auto here = g.device("/task:1");
    question = (answer * question).named("done");
  }
  return test::planned(g, {question}, 2);
}

using Instructions = std::vector<Instruction>;

PlanClass& class_of(Plan& plan, int task) {
  return plan.classes[plan.class_of[task]];
}

/// The k-th instruction with that opcode, from 0.
Instructions::iterator nth(PlanClass& c, Opcode what, int k = 0) {
  for (auto at = c.instructions.begin(); at != c.instructions.end(); ++at)
    if (at->what == what && k-- == 0) return at;
  throw Error(Code::bug, "the plan has too few of " + std::string(name_of(what)));
}

/// Removes the first instruction with that opcode.
void drop(PlanClass& c, Opcode what) {
  test::erase_instruction(c, static_cast<std::size_t>(nth(c, what) - c.instructions.begin()));
}

void one_place_for_all(Plan& plan) {
  for (Buffer& buffer : class_of(plan, 1).buffers)
    if (buffer.space == Buffer::Space::step) buffer.offset = 0;
}

/// The second send of task 1 has the channel of its first one.
void one_tag_for_two(Plan& plan) {
  PlanClass& c = class_of(plan, 1);
  nth(c, Opcode::send, 1)->target = nth(c, Opcode::send)->target;
  nth(c, Opcode::send_wait, 1)->target = nth(c, Opcode::send_wait)->target;
}

/// Task 1 waits for the answer before it sends the question.
void answer_first(Plan& plan) {
  PlanClass& c = class_of(plan, 1);
  const auto send = nth(c, Opcode::send), wait = nth(c, Opcode::receive_wait);
  std::rotate(send, send + 1, wait + 1);
}

const std::pair<const char*, std::function<void(Plan&)>> kBroken[] = {
    {"good", [](Plan&) {}},
    {"misaligned", [](Plan& p) { class_of(p, 1).buffers[0].offset += 4; }},
    {"overlapping", one_place_for_all},
    {"no_receive", [](Plan& p) { drop(class_of(p, 0), Opcode::receive), drop(class_of(p, 0), Opcode::receive_wait); }},
    {"no_send", [](Plan& p) { drop(class_of(p, 1), Opcode::send), drop(class_of(p, 1), Opcode::send_wait); }},
    {"tags", one_tag_for_two},
    {"orders",
     [](Plan& p) { std::swap(*nth(class_of(p, 1), Opcode::collective), *nth(class_of(p, 1), Opcode::collective, 1)); }},
    {"deadlock", answer_first},
};

}  // namespace
}  // namespace ferry

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    for (const auto& [name, change] : ferry::kBroken) {
      ferry::Plan plan = ferry::good_plan();
      change(plan);
      ferry::local_files().write(argv[1] + std::string("/") + name + ".plan", ferry::encode_plan(plan));
    }
  } catch (const ferry::Error& error) {
    std::cerr << error.text() << "\n";
    return 1;
  }
  return 0;
}
