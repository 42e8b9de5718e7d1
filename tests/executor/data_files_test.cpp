// Tasks that read other files than the others; threads stand for the processes.
#include <doctest/doctest.h>

#include <optional>

#include "base/files/files.hpp"
#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/data/data.hpp"
#include "ops/math/reduce.hpp"
#include "tests/executor/in_processes.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// The sum of the numbers of a file, on all tasks or on one.
Value sum_of_file(Graph& g, bool on_all) {
  std::optional<Scope> there;
  if (on_all)
    there.emplace(g.on(g.mesh("t")));
  else
    there.emplace(g.device("/task:1"));
  return sum(read_csv(g, "numbers.csv", DType::float32, {2, 1}));
}

void write_numbers(const test::TempFolder& folder, const char* numbers) {
  local_files().write(folder / "numbers.csv", std::string_view(numbers));
}

TEST_CASE("tasks that read different files are refused; equal copies are not") {
  const test::TempFolder first, copy, other;
  write_numbers(first, "1\n2\n");
  write_numbers(copy, "1\n2\n");
  write_numbers(other, "1\n3\n");
  const auto run = [&](const test::TempFolder& of_task_2, bool on_all, auto check) {
    test::in_processes(
        3,
        [&](int rank, const Cluster& cluster) {
          Graph g;
          const Value total = sum_of_file(g, on_all);
          Session session(g, cluster, {.run = {.data_folder = rank == 2 ? of_task_2.path() : first.path()}});
          check(rank, [&] { return session.run({total})[0]; });
        },
        0, false);
  };
  const auto is_three = [](int rank, const auto& total) {
    const Tensor got = total();
    if (rank == 0) CHECK(got.number(0) == 3);
  };
  run(first, true, is_three);
  run(copy, true, is_three);
  run(other, false, is_three);  // task 2 does not read it
  run(other, true, [](int, const auto& total) {
    const Error error = test::error_of([&] { static_cast<void>(total()); });
    CHECK(error.code() == Code::file);
    CHECK(test::says(error, "reads another file \"numbers.csv\" on task 2 than on task 0"));
    CHECK(test::says(error, "task 2: 4 bytes with the hash "));
  });
}

TEST_CASE("a task without a data folder fails in its op") {
  const test::TempFolder folder;
  write_numbers(folder, "1\n2\n");
  test::in_processes(
      2,
      [&](int rank, const Cluster& cluster) {
        Graph g;
        const Value total = sum_of_file(g, true);
        Session session(g, cluster, {.run = {.data_folder = rank == 0 ? folder.path() : std::string()}});
        const Error error = test::error_of([&] { static_cast<void>(session.run({total})); });
        CHECK((rank == 0 || test::says(error, "data folder")));  // task 0 needs nothing from the other
        CHECK(error.text().find("seeds") == std::string::npos);
      },
      0, false);
}

}  // namespace
}  // namespace ferry
