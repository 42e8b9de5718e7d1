// LinkMeter: what a task's connections to other hosts carry between two looks.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "base/blob.hpp"
#include "base/system/clock.hpp"
#include "comm/transport.hpp"

namespace ferry {

/// What a connection has carried between two looks; times in seconds.
struct LinkUse {
  int peer = 0;
  double bytes = 0;
  double seconds = 0;  ///< between the looks
  double sending = 0;  ///< how much of that bytes were on their way, or waited for the network
  double latency = 0;  ///< what a round trip for each message takes

  /// Bytes a second while it had something to send.
  [[nodiscard]] double rate() const { return sending > 0 ? bytes / sending : 0; }
};

void add(const std::vector<LinkUse>& links, BlobWriter& to);
/// Errors as BlobReader.
[[nodiscard]] std::vector<LinkUse> read_links(BlobReader& from);

/// One for a task.
class LinkMeter {
 public:
  /// A look that comes sooner after the last one does not count.
  static constexpr std::chrono::milliseconds kEvery{500};
  /// A connection that carried fewer bytes between two looks says nothing about its capacity.
  static constexpr double kLeastBytes = 1 << 16;
  /// The most connections in a report; the longest sending time comes first.
  static constexpr std::size_t kTold = 32;

  /// `counts` is what Transport::links() says at `now`.
  void look(std::span<const LinkCount> counts, TimePoint now);
  /// Between the last two looks; none before the second.
  [[nodiscard]] const std::vector<LinkUse>& links() const { return links_; }

 private:
  std::vector<LinkCount> before_;
  TimePoint before_at_;
  std::vector<LinkUse> links_;
};

}  // namespace ferry
