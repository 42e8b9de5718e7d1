#include "executor/job/affinity.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <thread>

using namespace ferry;

namespace {

Cores cores_of(int count) {
  Cores cores;
  for (int i = 0; i < count; ++i) cores.cpus.push_back({i});
  return cores;
}

}  // namespace

TEST_CASE("the mask of this process has a core") {
  const Cores cores = allowed_cores();
  CHECK(cores.count() >= 1);
  CHECK(!cores.str().empty());
}

TEST_CASE("a mask prints as ranges") {
  Cores cores;
  cores.cpus = {{0, 4}, {1, 5}, {8}};
  CHECK(cores.str() == "0-1,4-5,8");
}

TEST_CASE("threads default to the cores divided by those who share them") {
  CHECK(choose_threads(0, cores_of(8), {2, 1}).threads == 4);
  CHECK(choose_threads(0, cores_of(2), {3, 1}).threads == 1);
  CHECK(choose_threads(0, cores_of(1), {1, 1}).threads == 1);
}

TEST_CASE("threads default to what a quota of processor time keeps busy, where that is less than the cores") {
  Cores cores = cores_of(8);
  cores.quota = 3;
  CHECK(choose_threads(0, cores, {1, 1}).threads == 3);
  CHECK(choose_threads(0, cores, {4, 1}).threads == 2);  // each task has a quota of its own
  CHECK(choose_threads(0, cores, {4, 4}).threads == 1);
  CHECK(choose_threads(6, cores, {1, 1}).threads == 6);
}

TEST_CASE("more threads than the mask has cores warns and uses the cores") {
  const ThreadChoice choice = choose_threads(2, cores_of(1), {1, 1});
  CHECK(choice.threads == 1);
  CHECK(choice.warning.starts_with("2 threads asked for, but this process may run on 1 core "));
  CHECK(choose_threads(2, cores_of(2), {2, 2}).warning.empty());
}

TEST_CASE("threads are pinned only where the launcher gave cores of our own") {
  Cores cores = cores_of(2);
  cores.whole_machine = true;
  CHECK(!may_pin(2, cores, 1));
  cores.whole_machine = false;
  CHECK(may_pin(2, cores, 1));
  CHECK(!may_pin(2, cores, 2));
  CHECK(!may_pin(3, cores, 1));
}

TEST_CASE("a pinned thread may run on one core only") {
  const Cores cores = allowed_cores();
  std::string after;
  std::thread([&] {
    pin_to_core(cores, 0);
    after = allowed_cores().str();
  }).join();
  Cores first;
  first.cpus = {cores.cpus[0]};
  CHECK(after == first.str());
}
