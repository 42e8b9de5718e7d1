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

/// What a task has once all have met.
struct Host {
  std::shared_ptr<Segment> own;  ///< null when nobody is near
  std::shared_ptr<Store> store;  ///< the rest of `own`
  Doorbell* doorbell = nullptr;
  std::vector<Neighbour> neighbours;
  bool crowded = false;  ///< more threads than cores: sleep soon
  bool fenced = false;   ///< a neighbour's sleep needs the waker's fence (Doorbell::ring)
};

/// Finds the neighbours, together with all tasks of the job.
[[nodiscard]] Host meet(Transport& inner, int threads, const Deadline& deadline);

}  // namespace ferry::shm
