// TurnRecord: the order of a server's turns (Serving in plan/plan.hpp), written to a file or read from one,
// so that a run can be repeated to the bit.
//
//     ferry turns 1
//     task 0 serves 1 2 3
//     step 0: +1 +2 +3 -2 +2 -1 -3
//
// +2 sends to task 2, -2 takes from it, and from !2 on the server continues without it. Each server has a file of its
// own.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/files/files.hpp"

namespace ferry {

/// What a record says cannot be done: thrown by TurnRecord::refuse.
struct OtherRun {
  Error error;
};

/// Used by one thread at a time.
class TurnRecord {
 public:
  struct Turn {
    std::int32_t worker = 0;  ///< its task
    enum class Kind : std::uint8_t { give, take, lost } kind = Kind::give;
  };
  /// `record`, `replay`: paths; one of them is empty. The server's task is appended to them (".0"). The arguments must
  /// outlive it.
  TurnRecord(FileSystem& files, std::string_view record, std::string_view replay, int task);
  /// Writes the rest. An error is logged.
  ~TurnRecord();
  TurnRecord(const TurnRecord&) = delete;
  TurnRecord& operator=(const TurnRecord&) = delete;

  /// A step of these workers begins. Replaying: Error(file) when the file cannot be read, is no such record, or is of
  /// other workers; Error(usage) when it has no such step.
  void begin_step(std::int64_t step, std::span<const std::int32_t> workers);
  [[nodiscard]] bool replays() const { return replays_; }
  /// Replaying: the number of steps that each worker made which was lost, the steps before the record included. Errors
  /// as begin_step().
  [[nodiscard]] std::map<std::int32_t, std::int64_t> ends(std::span<const std::int32_t> workers);
  /// Replaying: the step's next turn; nothing at its end.
  [[nodiscard]] std::optional<Turn> next();
  /// Replaying: throws OtherRun with Error(usage), since the run has not what the record says: `why`.
  [[noreturn]] void refuse(const std::string& why) const;
  /// Recording: what was done.
  void add(const Turn& turn);
  /// Recording: Error(usage), Error(resource) when it cannot be written.
  void end_step();
  /// Writes the rest.
  void flush();

 private:
  void read(std::span<const std::int32_t> workers);
  [[noreturn]] void malformed(std::size_t line, const std::string& what) const;

  FileSystem& files_;
  const std::string path_;
  const bool replays_;
  const int task_;
  bool begun_ = false;
  std::int64_t step_ = 0;
  std::string text_;                                             // recorded, not yet written
  std::deque<std::pair<std::int64_t, std::deque<Turn>>> steps_;  // to be replayed
  std::map<std::int32_t, std::int64_t> ends_;                    // ends()
};

}  // namespace ferry
