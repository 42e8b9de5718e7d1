#include "executor/watch/work_times.hpp"

namespace ferry {
namespace {

void add(const Spread& spread, BlobWriter& to) {
  to.add(spread.median).add(spread.distance).add(spread.error);
}

Spread read_spread(BlobReader& from) {
  Spread spread;
  spread.median = from.real();
  spread.distance = from.real();
  spread.error = from.real();
  return spread;
}

}  // namespace

void add(const WorkTimes& times, BlobWriter& to) {
  to.add(times.plan).add(times.samples).add(times.crowded).add(times.step).add(times.waiting);
  to.add(times.busiest.size());
  for (const WorkTimes::Work& work : times.busiest) {
    to.add(work.key).add(work.op).add(work.runs);
    add(work.wall, to);
    add(work.cpu, to);
  }
  add(times.links, to);
}

WorkTimes read_work_times(BlobReader& from) {
  WorkTimes times;
  times.plan = static_cast<std::uint64_t>(from.number());
  times.samples = from.number();
  times.crowded = from.number() != 0;
  times.step = from.real();
  times.waiting = from.real();
  for (std::int64_t count = from.number(); count > 0; --count) {
    WorkTimes::Work& work = times.busiest.emplace_back();
    work.key = static_cast<std::uint64_t>(from.number());
    work.op = from.text();
    work.runs = from.real();
    work.wall = read_spread(from);
    work.cpu = read_spread(from);
  }
  times.links = read_links(from);
  return times;
}

}  // namespace ferry
