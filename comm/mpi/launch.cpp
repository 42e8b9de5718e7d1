#include <charconv>
#include <cstdlib>
#include <string_view>

#include "comm/backends.hpp"

namespace ferry {
namespace {

/// The environment variables in which a launcher gives rank and size.
struct Names {
  const char* rank;
  const char* size;
  bool size_tells;  ///< the size alone also proves a launch, so that a missing rank is an error
};
constexpr Names kNames[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},  // Open MPI's mpirun
                            {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", false},            // srun --mpi=pmix
                            {"PMI_RANK", "PMI_SIZE", true}};                         // MPICH's mpirun

/// srun by itself, without --mpi=pmix or pmi2.
constexpr Names kSrun = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", false};

int number(const char* name, const char* other, int least) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    throw Error(Code::usage, std::string("launch: ") + other + " is set, " + name + " is not")
        .hint("start with mpirun or srun, or unset both");
  }
  const std::string_view digits = text;
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < least) {
    throw Error(Code::usage, std::string("launch: ") + name + " is '" + text + "', not a number of at least " +
                                 std::to_string(least));
  }
  return value;
}

std::optional<MpiLaunch> launch_now() {
  for (const Names& names : kNames) {
    if (std::getenv(names.rank) == nullptr && !(names.size_tells && std::getenv(names.size) != nullptr)) continue;
    return MpiLaunch{number(names.rank, names.size, 0), number(names.size, names.rank, 1), names.size};
  }
  return std::nullopt;
}

/// What keep_mpi_launch() has kept; the outer optional is empty before it was called.
std::optional<std::optional<MpiLaunch>>& kept() {
  static std::optional<std::optional<MpiLaunch>> kept;
  return kept;
}

}  // namespace

std::optional<MpiLaunch> mpi_launch() {
  return kept() ? *kept() : launch_now();
}

std::optional<MpiLaunch> numbered_launch() {
  if (std::getenv("SLURM_PTY_PORT") != nullptr) return std::nullopt;
  if (auto launch = mpi_launch()) return launch;
  if (std::getenv(kSrun.rank) == nullptr || std::getenv(kSrun.size) == nullptr) return std::nullopt;
  return MpiLaunch{number(kSrun.rank, kSrun.size, 0), number(kSrun.size, kSrun.rank, 1), kSrun.size};
}

void keep_mpi_launch() {
  kept() = launch_now();
}

}  // namespace ferry
