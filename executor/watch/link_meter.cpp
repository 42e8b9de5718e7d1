#include "executor/watch/link_meter.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

namespace ferry {
namespace {

double as_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void add(const std::vector<LinkUse>& links, BlobWriter& to) {
  to.add(links.size());
  for (const LinkUse& link : links)
    to.add(link.peer).add(link.bytes).add(link.seconds).add(link.sending).add(link.latency);
}

std::vector<LinkUse> read_links(BlobReader& from) {
  std::vector<LinkUse> links;
  for (std::int64_t count = from.number(); count > 0; --count) {
    LinkUse& link = links.emplace_back();
    link.peer = static_cast<int>(from.number());
    link.bytes = from.real();
    link.seconds = from.real();
    link.sending = from.real();
    link.latency = from.real();
  }
  return links;
}

void LinkMeter::look(std::span<const LinkCount> counts, TimePoint now) {
  if (now - before_at_ < kEvery) return;
  links_.clear();
  for (const LinkCount& count : counts) {
    const auto before = std::ranges::find(before_, count.peer, &LinkCount::peer);
    if (before == before_.end()) continue;
    const LinkUse use{.peer = count.peer,
                      .bytes = static_cast<double>(count.bytes - before->bytes),
                      .seconds = as_seconds(now - before_at_),
                      .sending = as_seconds(count.sending - before->sending),
                      .latency = static_cast<double>(count.messages - before->messages) * as_seconds(count.round_trip)};
    if (use.bytes >= kLeastBytes && use.seconds > 0) links_.push_back(use);
  }
  const auto told = static_cast<std::ptrdiff_t>(std::min(links_.size(), kReportedLinks));
  std::ranges::partial_sort(links_, links_.begin() + told, std::ranges::greater(), &LinkUse::sending);
  links_.resize(static_cast<std::size_t>(told));
  before_.assign(counts.begin(), counts.end());
  before_at_ = now;
}

}  // namespace ferry
