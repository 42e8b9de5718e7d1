// One benchmark between two ranks, started by `ferry bench` under mpirun:
//
//     mpirun -np 2 ferry-bench-tasks hop 4096 15
//
// Rank 0 prints a line "FERRY PEER" for each pair.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "bench/tasks/two_tasks.hpp"

namespace {

using namespace ferry::bench;

int usage() {
  std::fprintf(
      stderr,
      "usage: mpirun -np 2 ferry-bench-tasks hop|coalesced|handover|allreduce|wait.latency|wait.kept BYTES PAIRS\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Sides (*)(const ferry::Cluster&, std::int64_t)> all = {{"hop", hop},
                                                                                     {"coalesced", coalesced},
                                                                                     {"handover", handover},
                                                                                     {"allreduce", all_reduce},
                                                                                     {"wait.latency", wait_latency},
                                                                                     {"wait.kept", wait_kept}};
  ferry::ClusterOptions options;
  options.threads = argc > 1 && std::string_view(argv[1]).starts_with("wait.") ? 2 : 1;
  options.transport = "mpi";
  const auto cluster = ferry::Cluster::connect(argc, argv, options);
  if (argc != 4 || cluster.size() != 2 || all.count(argv[1]) == 0) return usage();
  const Sides sides = all.at(argv[1])(cluster, std::atoll(argv[2]));
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
