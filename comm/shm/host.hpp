// Host: the tasks of a job that can open each other's memory, and their doorbells.
#pragma once

#include <memory>
#include <vector>

#include "comm/shm/doorbell.hpp"
#include "comm/shm/lane.hpp"
#include "comm/shm/segment.hpp"
#include "comm/transport.hpp"

namespace ferry::shm {

/// Another task of this host.
struct Neighbour {
  int task = 0;
  std::unique_ptr<Segment> segment;
  ShmLane* from = nullptr;  ///< messages from this neighbour, in this task's segment
  ShmLane* to = nullptr;    ///< messages to this neighbour, in its segment
  Doorbell* doorbell = nullptr;
};

/// The result of find_neighbours() for a task.
struct Host {
  std::shared_ptr<Segment> own;  ///< null if there are no neighbours
  std::shared_ptr<Store> store;  ///< allocates the memory of `own` behind doorbell and lanes
  Doorbell* doorbell = nullptr;
  std::vector<Neighbour> neighbours;
  bool crowded = false;  ///< the host has more threads than cores: sleep soon
  bool fenced = false;   ///< some neighbour, or this task, needs a fence in Doorbell::ring
};

/// Finds the neighbours; all tasks of the job call it together. `threads`: the number of this task's threads. Errors as
/// shared_memory_transport().
[[nodiscard]] Host find_neighbours(Transport& inner, int threads, const Deadline& deadline);

}  // namespace ferry::shm
