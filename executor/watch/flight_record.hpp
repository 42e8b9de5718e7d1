// FlightRecord: the last instructions of a task, and their way from one process to another when a job has failed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/clock.hpp"

namespace ferry {

struct FlightEvent {
  Duration age{};  ///< since the event
  int thread = 0;  ///< thread of the task
  std::string text;
};
/// The events of a task, ascending by time.
using FlightRecord = std::vector<FlightEvent>;

[[nodiscard]] std::string packed(const FlightRecord& record);
/// Errors as BlobReader.
[[nodiscard]] FlightRecord unpacked_record(std::string_view bytes);

/// The source of a task's record. Any thread may call it.
class FlightSource {
 public:
  virtual ~FlightSource() = default;
  [[nodiscard]] virtual FlightRecord record(TimePoint now) const = 0;
};

/// Gathers the packed records of other tasks in pieces that fit into datagrams. Datagrams may be lost, so it repeats
/// requests that have no reply. Used by one thread.
class FlightGather {
 public:
  struct Piece {
    int task = 0;
    std::int64_t number = 0;  ///< from 0; the request for piece 0 makes a new record
  };
  /// The size of a piece in bytes.
  static constexpr std::size_t kPieceBytes = 1000;
  /// The time after which a request without an answer is repeated.
  static constexpr std::chrono::milliseconds kRepeatAfter{50};

  explicit FlightGather(std::span<const int> tasks);

  /// The requests to send now: one piece at a time from each task.
  [[nodiscard]] std::vector<Piece> questions(TimePoint now);
  /// Takes a piece that has arrived, of a record of `pieces` pieces. Drops a piece that was not requested.
  void take(const Piece& piece, std::int64_t pieces, std::string_view bytes);
  [[nodiscard]] bool complete() const;
  /// The packed record of a task, if all its pieces have arrived; else null.
  [[nodiscard]] const std::string* record(int task) const;

 private:
  struct PendingRecord {
    int task = 0;
    std::int64_t pieces = -1;  ///< -1: not known yet
    std::int64_t next = 0;
    TimePoint asked{};
    std::string bytes{};
    [[nodiscard]] bool complete() const { return next == pieces; }
  };
  std::vector<PendingRecord> tasks_;
};

/// A piece of a packed record, and the number of its pieces.
[[nodiscard]] std::string_view piece_of(std::string_view record, std::int64_t number);
[[nodiscard]] std::int64_t pieces_of(std::string_view record);

}  // namespace ferry
