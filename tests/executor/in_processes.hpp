// Jobs of several processes of one task each, for which threads stand.
#pragma once

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/system/log.hpp"
#include "comm/transport.hpp"
#include "executor/cluster.hpp"

namespace ferry::test {

/// Calls body(rank, cluster) in `count` threads. `shards`: as --invariant; 0: none. `meets`: whether the processes meet
/// at the end, for which the job must not have failed.
template <class Body>
void in_processes(int count, const Body& body, int shards = 0, bool meets = true) {
  auto ends = inproc_transports(count);
  std::vector<std::thread> processes;
  for (int process = 0; process < count; ++process)
    processes.emplace_back([&, process] {
      std::vector<std::unique_ptr<Transport>> local;
      local.push_back(std::move(ends[process]));
      ClusterOptions options;
      options.threads = 1;
      options.invariant = shards;
      const Cluster cluster = Cluster::over(std::move(local), std::move(options));
      body(process, cluster);
      if (meets) cluster.barrier();
    });
  for (std::thread& process : processes) process.join();
  log_task(-1);
}

}  // namespace ferry::test
