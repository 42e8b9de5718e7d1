#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/format.hpp"
#include "comm/backends.hpp"
#include "comm/launch_variables.hpp"

namespace ferry {
namespace {

constexpr const char* kHowToLaunch = "start with mpirun or srun, or unset both, which another launch may have left";
constexpr Launcher kOfMpi[] = {Launcher::mpirun, Launcher::srun, Launcher::mpich};

/// The variable in which the launcher sets `what`.
const char* variable_of(Launcher launcher, LaunchVariable::Meaning what) {
  const auto* const found = std::ranges::find_if(kLaunchVariables, [&](const LaunchVariable& variable) {
    return variable.by == launcher && variable.meaning == what;
  });
  FERRY_ASSERT(found != std::end(kLaunchVariables), "each launcher says rank and size");
  return found->name.data();
}

int number(const char* name, const char* other, int least) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    throw Error(Code::usage, std::string("launch: ") + other + " is set, " + name + " is not").hint(kHowToLaunch);
  }
  const std::string_view digits = text;
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < least) {
    throw Error(Code::usage, "launch: {} is '{}', not a number of at least {}", as_is(name), text, least)
        .hint(kHowToLaunch);
  }
  return value;
}

MpiLaunch launch_by(const char* rank, const char* size) {
  const MpiLaunch launch{number(rank, size, 0), number(size, rank, 1), size};
  if (launch.rank >= launch.size)
    throw Error(Code::usage, std::string("launch: ") + rank + " is " + std::to_string(launch.rank) +
                                 ", which is no task of the " + std::to_string(launch.size) + " in " + size)
        .hint(kHowToLaunch);
  return launch;
}

std::optional<MpiLaunch> launch_now() {
  for (const Launcher launcher : kOfMpi) {
    const char* const rank = variable_of(launcher, LaunchVariable::Meaning::rank);
    const char* const size = variable_of(launcher, LaunchVariable::Meaning::size);
    // Shells in an allocation of SLURM also have a size. With other launchers, a size without a rank proves that the
    // rank is missing.
    const bool size_tells = launcher != Launcher::srun && std::getenv(size) != nullptr;
    if (std::getenv(rank) == nullptr && !size_tells) continue;
    // Open MPI sets PMIX_RANK in a program that calls MPI_Init and that no launcher has started.
    const bool by_itself = launcher == Launcher::srun && std::getenv(size) == nullptr &&
                           std::getenv(variable_of(launcher, LaunchVariable::Meaning::number)) == nullptr;
    if (by_itself) continue;
    return launch_by(rank, size);
  }
  if (std::getenv("PMI_PORT") != nullptr && std::getenv("PMI_ID") != nullptr)
    throw Error(Code::usage,
                "launch: PMI_PORT is set, PMI_SIZE is not: mpiexec -pmi-port does not say how many tasks there are")
        .hint("start with mpiexec without -pmi-port");
  return std::nullopt;
}

/// The result that keep_mpi_launch() keeps. The outer optional is empty before its first call.
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
  // srun without --mpi=pmix or pmi2
  const char* const rank = variable_of(Launcher::srun, LaunchVariable::Meaning::number);
  const char* const size = variable_of(Launcher::srun, LaunchVariable::Meaning::size);
  if (std::getenv(rank) == nullptr || std::getenv(size) == nullptr) return std::nullopt;
  return launch_by(rank, size);
}

void keep_mpi_launch() {
  kept() = launch_now();
}

}  // namespace ferry
