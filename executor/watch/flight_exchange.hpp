// FlightExchange: gathers the records of all tasks of a failed job, by the datagrams of their watches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/blob.hpp"
#include "base/system/monitor.hpp"
#include "executor/watch/flight_record.hpp"

namespace ferry {

/// One per watch. One process gathers. In the others the watch's thread answers its questions, even while the tasks are
/// busy; they wait until the gathering process has all records. Thread-safe.
class FlightExchange {
 public:
  using Send = std::function<void(int process, const std::string& datagram)>;

  /// `processes`: the process of each task; `wake` wakes the watch's thread, which then calls send_due().
  FlightExchange(std::vector<int> processes, int self, std::function<void()> wake)
      : processes_(std::move(processes)),
        self_(self),
        wake_(std::move(wake)),
        sources_(processes_.size()),
        packed_(processes_.size()) {}

  /// Sets the source of the record of a task of this process.
  void set_source(int task, const FlightSource& source);
  /// Call it before a source is destroyed.
  void remove_source(const FlightSource& source);
  /// Returns the records of `others`, tasks of other processes, that arrive within `at_most`: by task of the job, empty
  /// for tasks without a record.
  [[nodiscard]] std::vector<FlightRecord> gather(std::span<const int> others, Duration at_most);
  /// Ends the gathering: the processes that wait in await_end() continue.
  void end();
  /// Waits until the gathering process has announced that it has all records, but no longer than `at_most`. Returns
  /// whether it has.
  [[nodiscard]] bool await_end(Duration at_most) const;
  /// Resets this object, for a job that starts again.
  void restart();

  // For the watch's thread:

  /// Handles a datagram of another process, after `reader` has read its kind. Returns false if the kind is not one of
  /// this class.
  bool take(std::int64_t kind, BlobReader& reader, const Send& send);
  /// Sends the messages that are due; returns whether more will be due after FlightGather::kRepeatAfter.
  bool send_due(TimePoint now, const Send& send);

 private:
  void answer(BlobReader& reader, const Send& send);

  const std::vector<int> processes_;
  const int self_;
  const std::function<void()> wake_;
  mutable Monitor monitor_;  // guards the members below
  std::vector<const FlightSource*> sources_;
  std::vector<std::string> packed_;  // by task, for the tasks of this process: the record that is sent in pieces
  std::optional<FlightGather> gather_;
  bool ends_ = false, ended_ = false;
};

}  // namespace ferry
