// Tests of the texts of forms: what is printed is read as it was, and faults are found where they are.
#include <doctest/doctest.h>

#include <string>

#include "kernels/kernel.hpp"
#include "ops/math/math.hpp"
#include "placement/program/select.hpp"
#include "tests/plans/class_form.hpp"
#include "tests/plans/program_form.hpp"
#include "tests/plans/walk_forms.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/random_plan.hpp"

namespace ferry {
namespace {

Signature signature_of(const std::vector<Value>& fetches, const std::vector<Value>& targets,
                       const test::Feeds& feeds = {}) {
  Signature signature;
  for (const Value& fetch : fetches) signature.fetches.push_back(fetch.id());
  for (const Value& target : targets) signature.targets.push_back(target.op().id());
  for (const auto& [value, sizes] : feeds) signature.feeds.push_back({value, 0, sizes});
  return signature;
}

void check_mesh(std::uint64_t seed, test::RandomPlanOptions made) {
  CAPTURE(seed);
  const test::RandomMeshGraph random = test::random_mesh_graph(seed, made);
  PlanOptions options;
  options.fuse_from = made.fuse_from;
  Topology topology = random.topology;
  for (TaskInfo& task : topology.tasks) task.threads = 1 + static_cast<int>(seed % 3);
  CHECK(test::differing_form(*random.graph, signature_of(random.fetches, random.targets), topology, test::AllKernels(),
                             options) == "");
}

std::string fault_of_program(const std::string& text) {
  Graph graph;
  const Value x = graph.constant({1, 2});
  const Value y = -x;
  const Signature signature = signature_of({y}, {});
  const Topology topology = Topology::local(2);
  const test::AllKernels kernels;
  const Program context = select(graph, signature, topology, kernels, {});
  try {
    (void)test::parse_program(text, context);
    return "none";
  } catch (const Error& error) {
    return error.text();
  }
}

std::string fault_of_class(const std::string& text) {
  try {
    (void)test::parse_classes(text, Topology::local(1));
    return "none";
  } catch (const Error& error) {
    return error.text();
  }
}

}  // namespace

TEST_CASE("forms of random graphs are read as they were printed") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const int tasks = 1 + static_cast<int>(seed % 4);
    const test::RandomGraph made = test::random_graph(seed, 40, tasks);
    CAPTURE(seed);
    Topology topology = Topology::local(tasks);
    for (TaskInfo& task : topology.tasks) task.threads = 1 + static_cast<int>(seed % 3);
    CHECK(test::differing_form(*made.graph, signature_of(made.fetches, made.targets, test::feeds_of(made)), topology,
                               test::AllKernels(), {}) == "");
  }
}

TEST_CASE("forms of random graphs on meshes are read as they were printed") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) check_mesh(seed, {});
  for (std::uint64_t seed = 30; seed < 40; ++seed) check_mesh(seed, {.tasks = 6, .hosts = 2, .fuse_from = 1});
  for (std::uint64_t seed = 40; seed < 50; ++seed)
    check_mesh(seed, {.tasks = 3, .shares_memory = true, .fuse_from = 1});
}

TEST_CASE("a program's text may have other blanks, and nothing else") {
  const std::string text =
      "program of 2 values\nregion 0 step\n  %0 = Constant() int32[2]  # constant\n  %1 = Neg(%0) int32[2]  # neg\n";
  CHECK(fault_of_program(text) == "none");
  CHECK(fault_of_program("program  of 2 values\n\nregion 0  step\n%0=Constant( ) int32[ 2 ] # constant\n") == "none");
  CHECK(fault_of_program("program of 2 value\n") == "line 1, column 14: expected 'values', found 'value'");
  CHECK(fault_of_program("program of 2 values\nregion 0 step\n  %0 = Constant() int32[2] wants  # constant\n") ==
        "line 3, column 28: expected '#', found 'wants  # constant'");
  CHECK(fault_of_program("program of 2 values\nregion 0 step\n  %2 = Constant() int32[2]  # constant\n") ==
        "line 3, column 6: expected numbers of values below that in the first line before this, found '= Constant() "
        "int32[2]  # constant'");
  CHECK(fault_of_program("program of 2 values\nregion 0 step\n  %0 = Constant() int32[2]  # other\n") ==
        "line 3, column 36: expected the name of an op of the graph before this, found ''");
  CHECK(fault_of_program("program of 2 values\nregion 1 step\n") ==
        "line 2, column 9: expected regions in order before this, found ' step'");
}

TEST_CASE("a class's text may have other blanks, and nothing else") {
  const std::string head =
      "fetches\n  y int32[2] to task 0\nclass 0: task 0, 1 thread, cpu:0 0 bytes a step and 0 kept\n";
  const std::string tail = "for later passes\n  fuse from 0 elements\n";
  CHECK(fault_of_class(head + "  %0 y int32[2] step+0\n  step\n    0 fetch y (%0) port 0\n" + tail) == "none");
  CHECK(fault_of_class(head + "%0 y int32[2] step + 0\n\nstep\n 0 fetch y   (%0)   port 0\n" + tail) == "none");
  CHECK(fault_of_class(head + "  %1 y int32[2] step+0\n") ==
        "line 4, column 5: expected buffers in order before this, found ' y int32[2] step+0'");
  CHECK(fault_of_class(head + "  %0 y int32[2] arena+0\n") ==
        "line 4, column 17: expected step, state, sizes or tile, found 'arena+0'");
  CHECK(fault_of_class(head + "  step\n    0 fetch y (%0) port 0 again\n") ==
        "line 5, column 27: expected the end of the line, found 'again'");
}

}  // namespace ferry
