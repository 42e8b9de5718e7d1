// Two tasks on two hosts, with ferry's own TCP, compared with hand-written MPI over TCP. The hosts are network
// namespaces of this machine.
#include "bench/benchmark.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/rank_pair.hpp"
#include "bench/processes/scratch_folder.hpp"

namespace ferry::bench {
namespace {

std::vector<std::string> tcp(const char* eager, const char* fragment, const char* flags) {
  return {"--mca", "btl_tcp_eager_limit", eager, "--mca", "btl_tcp_max_send_size", fragment,
          "--mca", "btl_tcp_flags",       flags};
}

/// Options of Open MPI for TCP. All tunings are measured, and the fastest counts.
const std::vector<Tuning>& tcp_tunings() {
  static const std::vector<Tuning> all = {
      {"default", tcp("65536", "131072", "send,put,inplace")},
      {"eager limit 128 KB", tcp("131072", "131072", "send,put,inplace")},
      {"eager limit 128 KB, sent in fragments of 512 KB", tcp("131072", "524288", "send,inplace")}};
  return all;
}

std::vector<Figure> between_hosts(const std::string& what, std::int64_t bytes) {
  const std::string netns = beside_this_program("netns.sh");
  const std::string missing = run_program({netns, "missing"}).output;
  if (!missing.empty()) throw Skipped{missing.substr(0, missing.find('\n'))};
  const ScratchFolder folder;
  const std::vector<std::string> mpirun = {"env", "NETNS_DIR=" + folder.path(),
                                           netns, "inside",
                                           netns, "mpi",
                                           "-np", "2",
                                           "-x",  "MASTER_ADDR=10.77.0.1",
                                           "-x",  "MASTER_PORT=29500",
                                           "-x",  "FERRY_SECRET=of two hosts of a benchmark"};
  return {against_best({.what = what, .number = bytes}, mpirun, tcp_tunings())};
}

Benchmark benchmark(const std::string& name, const std::string& what, std::int64_t bytes) {
  return {name, "us", Benchmark::Better::lower, "raw MPI", [=] { return between_hosts(what, bytes); }};
}

}  // namespace

std::vector<Benchmark> hosts_benchmarks() {
  return {benchmark("hop.tcp.4B", "hop", 4),
          benchmark("hop.tcp.64KB", "hop", 64 << 10),
          benchmark("hop.tcp.1MB", "hop", 1 << 20),
          benchmark("hop.tcp.16MB", "hop", 16 << 20),
          benchmark("hop.coalesced", "coalesced", 64),
          benchmark("allreduce.tcp.4KB", "allreduce", 4096),
          benchmark("allreduce.tcp.1MB", "allreduce", 1 << 20),
          benchmark("direct.tcp.4B", "direct", 4),
          benchmark("direct.tcp.4KB", "direct", 4 << 10),
          benchmark("direct.tcp.64KB", "direct", 64 << 10),
          benchmark("direct.tcp.1MB", "direct", 1 << 20),
          benchmark("direct.tcp.10MB", "direct", 10 << 20)};
}

}  // namespace ferry::bench
