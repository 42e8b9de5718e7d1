#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "comm/backends.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {
namespace {

constexpr const char* kNames[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "PMI_RANK", "PMI_SIZE",
    "SLURM_PROCID",         "SLURM_PTY_PORT"};

/// Of the environment variables of launchers, sets exactly these; the destructor removes them.
class Launcher {
 public:
  Launcher(std::initializer_list<std::pair<const char*, const char*>> variables) {
    clear();
    for (const auto& [name, value] : variables) setenv(name, value, 1);
  }
  ~Launcher() { clear(); }

 private:
  static void clear() {
    for (const char* name : kNames) unsetenv(name);
  }
};

TEST_CASE("without a launcher there is no launch") {
  const Launcher none{};
  CHECK_FALSE(mpi_launch().has_value());
}

TEST_CASE("mpirun and srun tell rank and size") {
  {
    const Launcher mpirun{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "2"}};
    const auto launch = mpi_launch();
    REQUIRE(launch.has_value());
    CHECK(launch->rank == 2);
    CHECK(launch->size == 4);
    CHECK(launch->by == "OMPI_COMM_WORLD_SIZE");
  }
  const Launcher srun{{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}};
  REQUIRE(mpi_launch().has_value());
  CHECK(mpi_launch()->size == 3);
}

TEST_CASE("a shell within an allocation is no launch") {
  const Launcher shell{{"SLURM_STEP_NUM_TASKS", "3"}};
  CHECK_FALSE(mpi_launch().has_value());
}

TEST_CASE("processes that srun starts without MPI are numbered") {
  const Launcher srun{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}};
  CHECK_FALSE(mpi_launch().has_value());
  REQUIRE(numbered_launch().has_value());
  CHECK(numbered_launch()->rank == 1);
  CHECK(numbered_launch()->size == 3);
  const Launcher shell{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_PTY_PORT", "40000"}};
  CHECK_FALSE(numbered_launch().has_value());
}

TEST_CASE("what MPI sets as it is initialized is no launcher's") {
  const pid_t child = ::fork();  // because keep_mpi_launch() cannot be undone
  if (child == 0) {
    const Launcher none{};
    keep_mpi_launch();
    setenv("PMIX_RANK", "0", 1);
    try {
      ::_exit(mpi_launch().has_value() ? 1 : 0);
    } catch (const Error&) {
      ::_exit(2);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a program that has called MPI_Init by itself has no launcher") {
  const Launcher singleton{{"PMIX_RANK", "0"}};
  CHECK_FALSE(mpi_launch().has_value());
  const Launcher srun{{"PMIX_RANK", "0"}, {"SLURM_PROCID", "0"}};
  const auto error = error_in([] { (void)mpi_launch(); });
  REQUIRE(error.has_value());
  CHECK(error->text().starts_with("launch: PMIX_RANK is set, SLURM_STEP_NUM_TASKS is not"));
}

TEST_CASE("a missing or bad variable is named") {
  {
    const Launcher half{{"OMPI_COMM_WORLD_SIZE", "4"}};
    const auto error = error_in([] { (void)mpi_launch(); });
    REQUIRE(error.has_value());
    CHECK(error->code() == Code::usage);
    CHECK(error->text().starts_with("launch: OMPI_COMM_WORLD_SIZE is set, OMPI_COMM_WORLD_RANK is not"));
  }
  {
    const Launcher bad{{"PMI_RANK", "0"}, {"PMI_SIZE", "two"}};
    const auto error = error_in([] { (void)mpi_launch(); });
    REQUIRE(error.has_value());
    CHECK(error->text().starts_with("launch: PMI_SIZE is 'two', not a number of at least 1\n  try: "));
  }
  const Launcher beyond{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  const auto error = error_in([] { (void)mpi_launch(); });
  REQUIRE(error.has_value());
  CHECK(error->text().starts_with(
      "launch: OMPI_COMM_WORLD_RANK is 2, which is no task of the 2 in OMPI_COMM_WORLD_SIZE"));
}

}  // namespace
}  // namespace ferry::test
