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
  /// number: another variable that differs between tasks. address: the host or the port at which the tasks meet.
  enum class Meaning { rank, size, number, address, other };

  std::string_view name;
  Launcher by;
  Meaning meaning;
  bool set_by_ferry_launch = false;  ///< `ferry launch` sets it for each task; users cannot set it
  bool secret = false;               ///< must not be shown
};

inline constexpr LaunchVariable kLaunchVariables[] = {
    {"OMPI_COMM_WORLD_RANK", Launcher::mpirun, LaunchVariable::Meaning::rank},
    {"OMPI_COMM_WORLD_SIZE", Launcher::mpirun, LaunchVariable::Meaning::size},
    {"PMI_RANK", Launcher::mpich, LaunchVariable::Meaning::rank},
    {"PMI_SIZE", Launcher::mpich, LaunchVariable::Meaning::size},
    {"PMI_FD", Launcher::mpich, LaunchVariable::Meaning::number},
    {"PMI_PORT", Launcher::mpich, LaunchVariable::Meaning::other},
    {"PMI_ID", Launcher::mpich, LaunchVariable::Meaning::number},
    {"PMIX_RANK", Launcher::srun, LaunchVariable::Meaning::rank},
    {"SLURM_STEP_NUM_TASKS", Launcher::srun, LaunchVariable::Meaning::size},
    {"SLURM_PROCID", Launcher::srun, LaunchVariable::Meaning::number},
    {"RANK", Launcher::tcp, LaunchVariable::Meaning::rank, true},
    {"WORLD_SIZE", Launcher::tcp, LaunchVariable::Meaning::size, true},
    {"LOCAL_RANK", Launcher::tcp, LaunchVariable::Meaning::number, true},
    {"LOCAL_WORLD_SIZE", Launcher::tcp, LaunchVariable::Meaning::other, true},
    {"MASTER_ADDR", Launcher::tcp, LaunchVariable::Meaning::address, true},
    {"MASTER_PORT", Launcher::tcp, LaunchVariable::Meaning::address, true},
    // Kubeflow's trainer sets these for programs of PyTorch and XGBoost.
    {"PET_NODE_RANK", Launcher::tcp, LaunchVariable::Meaning::rank},
    {"PET_NNODES", Launcher::tcp, LaunchVariable::Meaning::size},
    {"PET_NPROC_PER_NODE", Launcher::tcp, LaunchVariable::Meaning::other},
    {"PET_MASTER_ADDR", Launcher::tcp, LaunchVariable::Meaning::address},
    {"PET_MASTER_PORT", Launcher::tcp, LaunchVariable::Meaning::address},
    {"DMLC_TASK_ID", Launcher::tcp, LaunchVariable::Meaning::rank},
    {"DMLC_NUM_WORKER", Launcher::tcp, LaunchVariable::Meaning::size},
    {"DMLC_TRACKER_URI", Launcher::tcp, LaunchVariable::Meaning::address},
    {"DMLC_TRACKER_PORT", Launcher::tcp, LaunchVariable::Meaning::address},
    {"FERRY_RENDEZVOUS", Launcher::tcp, LaunchVariable::Meaning::other},
    {"FERRY_INTERFACE", Launcher::tcp, LaunchVariable::Meaning::other},
    {"FERRY_RENDEZVOUS_SERVED", Launcher::tcp, LaunchVariable::Meaning::other, true},
    {"FERRY_SECRET", Launcher::tcp, LaunchVariable::Meaning::other, true, true}};

}  // namespace ferry
#pragma GCC visibility pop
