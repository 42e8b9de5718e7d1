// Host: the tasks of a job that can open each other's memory, and how they wake each other.
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
  ShmLane* from = nullptr;  ///< in the own segment
  ShmLane* to = nullptr;    ///< in its segment
  Doorbell* doorbell = nullptr;
};

/// What meet() gives a task.
struct Host {
  std::shared_ptr<Segment> own;  ///< null when there are no neighbours
  std::shared_ptr<Store> store;  ///< hands out what `own` has beside doorbell and lanes
  Doorbell* doorbell = nullptr;
  std::vector<Neighbour> neighbours;
  bool crowded = false;  ///< more threads than cores: sleep soon
  bool fenced = false;   ///< some neighbour, or this task, needs the ringer's fence (Doorbell::ring)
};

/// Finds the neighbours; all tasks of the job call it together. `threads`: of this task. Errors as
/// shared_memory_transport().
[[nodiscard]] Host meet(Transport& inner, int threads, const Deadline& deadline);

}  // namespace ferry::shm
