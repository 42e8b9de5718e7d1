// The environment variables by which launchers tell a process its job and task.
#pragma once

#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// Who sets a variable: Open MPI's mpirun, srun, the mpirun of MPICH; or what starts the tasks of a job over TCP, such
/// as `ferry launch` and torchrun.
enum class Launcher { mpirun, srun, mpich, tcp };

struct LaunchVariable {
  /// rank and size: as ferry reads them, one of each for a launcher. number: another one that differs between tasks.
  enum class Says { rank, size, number, other };

  std::string_view name;
  Launcher by;
  Says says;
  bool own = false;     ///< `ferry launch` gives it to each task, and takes it from no user
  bool secret = false;  ///< to be shown to nobody
};

inline constexpr LaunchVariable kLaunchVariables[] = {
    {"OMPI_COMM_WORLD_RANK", Launcher::mpirun, LaunchVariable::Says::rank},
    {"OMPI_COMM_WORLD_SIZE", Launcher::mpirun, LaunchVariable::Says::size},
    {"PMI_RANK", Launcher::mpich, LaunchVariable::Says::rank},
    {"PMI_SIZE", Launcher::mpich, LaunchVariable::Says::size},
    {"PMIX_RANK", Launcher::srun, LaunchVariable::Says::rank},
    {"SLURM_STEP_NUM_TASKS", Launcher::srun, LaunchVariable::Says::size},
    {"SLURM_PROCID", Launcher::srun, LaunchVariable::Says::number},
    {"RANK", Launcher::tcp, LaunchVariable::Says::rank, true},
    {"WORLD_SIZE", Launcher::tcp, LaunchVariable::Says::size, true},
    {"LOCAL_RANK", Launcher::tcp, LaunchVariable::Says::number, true},
    {"LOCAL_WORLD_SIZE", Launcher::tcp, LaunchVariable::Says::other, true},
    {"MASTER_ADDR", Launcher::tcp, LaunchVariable::Says::other, true},
    {"MASTER_PORT", Launcher::tcp, LaunchVariable::Says::other, true},
    {"FERRY_RENDEZVOUS", Launcher::tcp, LaunchVariable::Says::other},
    {"FERRY_INTERFACE", Launcher::tcp, LaunchVariable::Says::other},
    {"FERRY_RENDEZVOUS_SERVED", Launcher::tcp, LaunchVariable::Says::other, true},
    {"FERRY_SECRET", Launcher::tcp, LaunchVariable::Says::other, true, true}};

}  // namespace ferry
#pragma GCC visibility pop
