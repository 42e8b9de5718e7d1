// FlightExchange: gathers what all tasks of a failed job did last, by the datagrams of their watches.
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

/// One per watch. One process gathers, the others answer its questions, from the watch's thread, whatever their tasks
/// do; they stay until it says that it has all. Thread-safe.
class FlightExchange {
 public:
  using Send = std::function<void(int process, const std::string& datagram)>;

  /// `processes`: by task; `wake` lets the watch's thread call say().
  FlightExchange(std::vector<int> processes, int self, std::function<void()> wake)
      : processes_(std::move(processes)),
        self_(self),
        wake_(std::move(wake)),
        sources_(processes_.size()),
        packed_(processes_.size()) {}

  /// Says where to find what a task of this process did last.
  void set_source(int task, const FlightSource& source);
  /// The source will be gone.
  void forget(const FlightSource& source);
  /// The records of `others`, tasks of other processes, as far as they come within `at_most`: by task of the job, empty
  /// for those that did not.
  [[nodiscard]] std::vector<FlightRecord> gather(std::span<const int> others, Duration at_most);
  /// Lets those go on that are in await_end().
  void end();
  /// Waits until the process that gathers has said that it has all, for no longer than `at_most`; returns whether it
  /// has.
  [[nodiscard]] bool await_end(Duration at_most) const;
  /// Resets this, for a job that starts again.
  void restart();

  // For the watch's thread:

  /// Takes another process's datagram after its kind, and answers; false if the kind is none of its own.
  bool take(std::int64_t kind, BlobReader& reader, const Send& send);
  /// Sends the messages that are due; returns whether more will be due after FlightGather::kAgain.
  bool say(TimePoint now, const Send& send);

 private:
  void answer(BlobReader& reader, const Send& send);

  const std::vector<int> processes_;
  const int self_;
  const std::function<void()> wake_;
  mutable Monitor monitor_;  // guards what follows
  std::vector<const FlightSource*> sources_;
  std::vector<std::string> packed_;  // by task: of the own ones, as of the first question
  std::optional<FlightGather> gather_;
  bool ends_ = false, ended_ = false;
};

}  // namespace ferry
