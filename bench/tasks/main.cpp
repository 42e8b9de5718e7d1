// Runs one benchmark on two ranks (metg also on one rank, allreduce also on more). `ferry bench` starts it under
// mpirun:
//
//     mpirun -np 2 ferry-bench-tasks hop 4096 15
//     mpirun -np 2 --bind-to none ferry-bench-tasks metg.fft 2 5
//
// If MASTER_ADDR and MASTER_PORT are set, ferry's messages go over its own TCP. The peer always uses MPI. Rank 0 prints
// a line "FERRY PEER" for each pair.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "bench/graphs/task_graph.hpp"
#include "bench/tasks/two_tasks.hpp"

namespace {

using namespace ferry::bench;

int usage() {
  std::fprintf(stderr,
               "usage: mpirun -np 2 ferry-bench-tasks "
               "hop|coalesced|handover|direct|direct.lent|stencil|wait.latency|wait.kept BYTES PAIRS\n"
               "       mpirun -np 2-64 ferry-bench-tasks allreduce BYTES PAIRS\n"
               "       mpirun -np 1|2 ferry-bench-tasks metg.PATTERN THREADS PAIRS\n");
  return 2;
}

using Make = std::function<Sides(const ferry::Cluster&, std::int64_t)>;

std::map<std::string, Make, std::less<>> all_by_name() {
  std::map<std::string, Make, std::less<>> all = {{"hop", hop},
                                                  {"coalesced", coalesced},
                                                  {"handover", handover},
                                                  {"allreduce", all_reduce},
                                                  {"direct", direct},
                                                  {"direct.lent", direct_lent},
                                                  {"stencil", stencil},
                                                  {"wait.latency", wait_latency},
                                                  {"wait.kept", wait_kept}};
  for (const std::string_view pattern : patterns())
    all["metg." + std::string(pattern)] = [name = std::string(pattern)](const auto& cluster, std::int64_t threads) {
      return metg_of(name, cluster, threads);
    };
  return all;
}

/// Sets RANK and WORLD_SIZE, with which ferry connects the processes of mpirun over TCP.
void rename_launch() {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  const auto all = all_by_name();
  const std::string_view name = argc > 1 ? argv[1] : "";
  ferry::ClusterOptions options;
  options.threads = name.starts_with("wait.") ? 2 : 1;
  options.transport = "mpi";
  if (std::getenv("MASTER_ADDR") != nullptr) {
    MPI_Init(&argc, &argv);
    std::atexit([] { MPI_Finalize(); });
    rename_launch();
    options.transport = "tcp";
  }
  const auto cluster = ferry::Cluster::connect(argc, argv, options);
  const auto found = all.find(name);
  const int least = name.starts_with("metg.") ? 1 : 2, most = name == "allreduce" ? 64 : 2;
  if (argc != 4 || cluster.size() > most || cluster.size() < least || found == all.end()) return usage();
  const Sides sides = found->second(cluster, std::atoll(argv[2]));
  const auto pair = [&] {
    cluster.barrier();
    const double ours = sides.ferry();
    MPI_Barrier(MPI_COMM_WORLD);
    return std::make_pair(ours, sides.peer());
  };
  static_cast<void>(pair());
  for (int left = std::atoi(argv[3]); left > 0; --left) {
    const auto [ours, theirs] = pair();
    if (cluster.rank() == 0) std::printf("%.6g %.6g\n", ours, theirs);
  }
  return 0;
}
