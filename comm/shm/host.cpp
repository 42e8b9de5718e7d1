#include "comm/shm/host.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/system/limits.hpp"

namespace ferry::shm {
namespace {

// Bytes of address space for the segments of all tasks: half of a process's address space.
constexpr std::uint64_t kAddresses = std::uint64_t{1} << 46;
constexpr std::uint64_t kLaneBytes = (sizeof(ShmLane) + kPage - 1) / kPage * kPage;

std::uint64_t lane_offset(int task) {
  return kPage + static_cast<std::uint64_t>(task) * kLaneBytes;
}

ShmLane* lane_in(const Segment& segment, int task) {
  return reinterpret_cast<ShmLane*>(segment.data() + lane_offset(task));
}

/// Bytes of address space of a segment: at most the machine's memory plus the lanes. Pages are allocated when they are
/// needed.
std::uint64_t segment_bytes(int tasks) {
  struct sysinfo info {};
  const std::uint64_t memory = sysinfo(&info) == 0 ? std::uint64_t{info.totalram} * info.mem_unit : kAddresses;
  return std::min(lane_offset(tasks) + memory, kAddresses / static_cast<std::uint64_t>(tasks));
}

/// The facts that a task sends to the others: its number of threads, whether ringing its doorbell needs a fence, and
/// its segment's ticket ("" if it has no segment).
struct SharingFacts {
  int threads = 1;
  bool fenced = false;
  std::string ticket;
};

std::string pack_facts(const SharingFacts& facts) {
  return std::to_string(facts.threads) + (facts.fenced ? " 1 " : " 0 ") + facts.ticket;
}

SharingFacts unpack_facts(const std::string& text) {
  SharingFacts facts;
  int fenced = 0, begin = 0;
  if (std::sscanf(text.c_str(), "%d %d %n", &facts.threads, &fenced, &begin) == 2)
    facts.ticket = text.substr(static_cast<std::size_t>(begin));
  facts.fenced = fenced != 0;
  return facts;
}

bool contains_number(const std::string& numbers, int number) {
  return numbers.find(" " + std::to_string(number) + " ") != std::string::npos;
}

}  // namespace

Host find_neighbours(Transport& inner, int threads, const Deadline& deadline) {
  const int self = inner.task(), tasks = inner.tasks();
  Host host;
  if (tasks == 1) return host;
  host.own = Segment::make(segment_bytes(tasks));
  const bool fenced = !Doorbell::register_process();
  const auto all_facts = inner.exchange(pack_facts({threads, fenced, host.own ? host.own->ticket() : ""}), deadline);
  std::string opened = " ";
  for (int task = 0; task < tasks && host.own; ++task) {
    const SharingFacts facts = unpack_facts(all_facts[task]);
    auto segment = task == self ? nullptr : Segment::open(facts.ticket);
    if (!segment || segment->bytes() < lane_offset(tasks)) continue;
    opened += std::to_string(task) + " ";
    host.own->reserve(lane_offset(task), kLaneBytes, "messages from task " + std::to_string(task));
    Neighbour& near = host.neighbours.emplace_back();
    near.task = task;
    near.from = lane_in(*host.own, task);
    near.to = lane_in(*segment, self);
    near.doorbell = reinterpret_cast<Doorbell*>(segment->data());
    near.segment = std::move(segment);
  }
  if (!host.neighbours.empty()) host.own->reserve(0, kPage, "waking task " + std::to_string(self));
  const auto lists = inner.exchange(opened, deadline);
  std::erase_if(host.neighbours, [&](const Neighbour& near) { return !contains_number(lists[near.task], self); });
  if (host.neighbours.empty()) return {};
  int threads_here = threads;
  host.fenced = fenced;
  for (const Neighbour& near : host.neighbours) {
    const SharingFacts facts = unpack_facts(all_facts[near.task]);
    threads_here += facts.threads;
    host.fenced = host.fenced || facts.fenced;
  }
  host.crowded = is_crowded(threads, threads_here);
  host.store = std::make_shared<Store>(host.own, lane_offset(tasks));
  host.doorbell = reinterpret_cast<Doorbell*>(host.own->data());
  return host;
}

}  // namespace ferry::shm
