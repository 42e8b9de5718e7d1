// FlightRecord: what a task did last, and how it comes from one process to another when a job has failed.
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
  Duration age{};  ///< since it began
  int thread = 0;  ///< of the task
  std::string text;
};
/// Ascending by time.
using FlightRecord = std::vector<FlightEvent>;

[[nodiscard]] std::string packed(const FlightRecord& record);
/// Errors as BlobReader.
[[nodiscard]] FlightRecord unpacked_record(std::string_view bytes);

/// What can tell what its task did last, to any thread.
class FlightSource {
 public:
  virtual ~FlightSource() = default;
  [[nodiscard]] virtual FlightRecord record(TimePoint now) const = 0;
};

/// Gathers the packed records of other tasks in pieces that fit into datagrams. Datagrams may be lost, so it makes
/// requests, takes replies, and repeats requests. Used by one thread.
class FlightGather {
 public:
  struct Piece {
    int task = 0;
    std::int64_t number = 0;  ///< from 0; the first request to a task makes a new record
  };
  /// Bytes of a piece.
  static constexpr std::size_t kPieceBytes = 1000;
  /// The time after which a request without an answer is repeated.
  static constexpr std::chrono::milliseconds kAgain{50};

  explicit FlightGather(std::span<const int> tasks);

  /// The requests that are due: one piece at a time from each task.
  [[nodiscard]] std::vector<Piece> questions(TimePoint now);
  /// One of `pieces` pieces has come. What was not asked for is dropped.
  void take(const Piece& piece, std::int64_t pieces, std::string_view bytes);
  [[nodiscard]] bool complete() const;
  /// What has come whole, by task of `tasks`; nothing for the others.
  [[nodiscard]] const std::string* record(int task) const;

 private:
  struct Asked {
    int task = 0;
    std::int64_t pieces = -1;  ///< unknown yet
    std::int64_t next = 0;
    TimePoint asked{};
    std::string bytes{};
    [[nodiscard]] bool complete() const { return next == pieces; }
  };
  std::vector<Asked> tasks_;
};

/// The piece of a packed record, and how many there are.
[[nodiscard]] std::string_view piece_of(std::string_view record, std::int64_t number);
[[nodiscard]] std::int64_t pieces_of(std::string_view record);

}  // namespace ferry
