#include "plan/requirements.hpp"

#include "tests/plan/plans.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// A job with everything that test::every_field() requires.
Topology job() {
  Topology there = Topology::local(2, 2);
  for (TaskInfo& task : there.tasks) {
    task.gpus = 2;
    task.gpu_group = 0;
    task.memory_group = 0;
  }
  return there;
}

TEST_CASE("a plan requires tasks, threads and GPUs") {
  const Plan plan = test::every_field();
  CHECK_NOTHROW(require_tasks(plan, job()));
  const auto refused = [&](const Topology& there) { return test::error_of([&] { require_tasks(plan, there); }); };
  CHECK(test::says(refused(Topology::local(3, 2)), "the plan is for 2 tasks, this job has 3"));
  Topology few_threads = job();
  few_threads.tasks[0].threads = 1;
  CHECK(test::says(refused(few_threads), "the plan is for 2 threads on task 0, which has 1"));
  Topology one_gpu = job();
  one_gpu.tasks[0].gpus = 1;
  CHECK(test::says(refused(one_gpu), "the plan is for gpu:1 of task 0, which has 1 GPU"));
}

TEST_CASE("a plan with puts requires shared memory") {
  Plan plan = test::every_field();
  Topology apart = job();
  apart.tasks[1].memory_group = 1;
  CHECK_NOTHROW(require_memory(plan, job()));
  CHECK(test::says(test::error_of([&] { require_memory(plan, apart); }), "tasks 0 and 1 that share memory"));
  plan.channels[0].put = false;
  CHECK_NOTHROW(require_memory(plan, apart));
}

TEST_CASE("a plan with collectives of GPUs requires that they work together") {
  Plan plan = test::every_field();
  Topology apart = job();
  apart.tasks[1].gpu_group = -1;
  apart.tasks[1].no_gpu_group = "no library";
  CHECK_NOTHROW(require_gpu_groups(plan, apart));
  plan.collectives[0].schedule = 1;  // by the library
  CHECK_NOTHROW(require_gpu_groups(plan, job()));
  CHECK(test::says(test::error_of([&] { require_gpu_groups(plan, apart); }), "task 1 does not here: no library"));
}

}  // namespace
}  // namespace ferry
