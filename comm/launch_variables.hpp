// The environment variables with which launchers describe a process's job and task.
#pragma once

#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// The program that sets a variable: Open MPI's mpirun, srun, the mpiexec of MPICH and Intel MPI; or, for `tcp`, a
/// program that starts the tasks of a job over TCP, such as `ferry launch`, torchrun and Kubeflow's trainer.
enum class Launcher { mpirun, srun, mpich, tcp };

struct LaunchVariable {
  /// The meaning of a variable. rank and size: the variables that ferry reads; each launcher of an MPI has one of each.
  /// number: another variable that differs between tasks.
  enum class Says { rank, size, number, other };

  std::string_view name;
  Launcher by;
  Says says;
  bool own = false;     ///< `ferry launch` sets it for each task; users cannot set it
  bool secret = false;  ///< must not be shown
};

inline constexpr LaunchVariable kLaunchVariables[] = {
    {"OMPI_COMM_WORLD_RANK", Launcher::mpirun, LaunchVariable::Says::rank},
    {"OMPI_COMM_WORLD_SIZE", Launcher::mpirun, LaunchVariable::Says::size},
    {"PMI_RANK", Launcher::mpich, LaunchVariable::Says::rank},
    {"PMI_SIZE", Launcher::mpich, LaunchVariable::Says::size},
    {"PMI_FD", Launcher::mpich, LaunchVariable::Says::number},
    {"PMI_PORT", Launcher::mpich, LaunchVariable::Says::other},
    {"PMI_ID", Launcher::mpich, LaunchVariable::Says::number},
    {"PMIX_RANK", Launcher::srun, LaunchVariable::Says::rank},
    {"SLURM_STEP_NUM_TASKS", Launcher::srun, LaunchVariable::Says::size},
    {"SLURM_PROCID", Launcher::srun, LaunchVariable::Says::number},
    {"RANK", Launcher::tcp, LaunchVariable::Says::rank, true},
    {"WORLD_SIZE", Launcher::tcp, LaunchVariable::Says::size, true},
    {"LOCAL_RANK", Launcher::tcp, LaunchVariable::Says::number, true},
    {"LOCAL_WORLD_SIZE", Launcher::tcp, LaunchVariable::Says::other, true},
    {"MASTER_ADDR", Launcher::tcp, LaunchVariable::Says::other, true},
    {"MASTER_PORT", Launcher::tcp, LaunchVariable::Says::other, true},
    // Kubeflow's trainer sets these for programs of PyTorch and XGBoost.
    {"PET_NODE_RANK", Launcher::tcp, LaunchVariable::Says::rank},
    {"PET_NNODES", Launcher::tcp, LaunchVariable::Says::size},
    {"PET_NPROC_PER_NODE", Launcher::tcp, LaunchVariable::Says::other},
    {"PET_MASTER_ADDR", Launcher::tcp, LaunchVariable::Says::other},
    {"PET_MASTER_PORT", Launcher::tcp, LaunchVariable::Says::other},
    {"DMLC_TASK_ID", Launcher::tcp, LaunchVariable::Says::rank},
    {"DMLC_NUM_WORKER", Launcher::tcp, LaunchVariable::Says::size},
    {"DMLC_TRACKER_URI", Launcher::tcp, LaunchVariable::Says::other},
    {"DMLC_TRACKER_PORT", Launcher::tcp, LaunchVariable::Says::other},
    {"FERRY_RENDEZVOUS", Launcher::tcp, LaunchVariable::Says::other},
    {"FERRY_INTERFACE", Launcher::tcp, LaunchVariable::Says::other},
    {"FERRY_RENDEZVOUS_SERVED", Launcher::tcp, LaunchVariable::Says::other, true},
    {"FERRY_SECRET", Launcher::tcp, LaunchVariable::Says::other, true, true}};

}  // namespace ferry
#pragma GCC visibility pop
