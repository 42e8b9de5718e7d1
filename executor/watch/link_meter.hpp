// LinkMeter: measures the traffic of a task's connections to other hosts between two looks.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "base/blob.hpp"
#include "base/system/clock.hpp"
#include "comm/transport.hpp"

namespace ferry {

/// The traffic of a connection between two looks; times in seconds.
struct LinkUse {
  int peer = 0;
  double bytes = 0;
  double seconds = 0;  ///< between the looks
  double sending = 0;  ///< time in which bytes were in flight, or waited for the network
  double latency = 0;  ///< the sum of one round trip for each message

  /// Bytes per second of `sending`.
  [[nodiscard]] double rate() const { return sending > 0 ? bytes / sending : 0; }
};

void add(const std::vector<LinkUse>& links, BlobWriter& to);
/// Errors as BlobReader.
[[nodiscard]] std::vector<LinkUse> read_links(BlobReader& from);

/// One for a task.
class LinkMeter {
 public:
  /// A look less than this time after the last one is ignored.
  static constexpr std::chrono::milliseconds kEvery{500};
  /// A connection that carried fewer bytes between two looks is left out, since its rate says nothing about its
  /// capacity.
  static constexpr double kLeastBytes = 1 << 16;
  /// The most connections in a report; the longest sending time comes first.
  static constexpr std::size_t kReportedLinks = 32;

  /// `counts` is the result of Transport::links() at `now`.
  void look(std::span<const LinkCount> counts, TimePoint now);
  /// The traffic between the last two looks; empty before the second look.
  [[nodiscard]] const std::vector<LinkUse>& links() const { return links_; }

 private:
  std::vector<LinkCount> before_;
  TimePoint before_at_;
  std::vector<LinkUse> links_;
};

}  // namespace ferry
