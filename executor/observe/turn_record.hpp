// TurnRecord: the order of a server's turns (Serving in plan/plan.hpp), written to a file or read from one, so that a
// run can be repeated to the bit.
//
//     ferry turns 1
//     task 0 serves 1 2 3
//     step 0: +1 +2 +3 -2 +2 -1 -3
//
// +2: the server sends to task 2. -2: it takes results from task 2. !2: from now on it continues without task 2. Each
// server has its own file.
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

/// Thrown by TurnRecord::refuse() if the run cannot do a recorded turn.
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
  /// outlive the object.
  TurnRecord(FileSystem& files, std::string_view record, std::string_view replay, int task);
  /// Writes the turns that are not written yet. An error is logged.
  ~TurnRecord();
  TurnRecord(const TurnRecord&) = delete;
  TurnRecord& operator=(const TurnRecord&) = delete;

  /// Begins a step of these workers. When replaying: Error(file) if the file cannot be read, is no record of turns, or
  /// is of other workers; Error(usage) if it has no such step.
  void begin_step(std::int64_t step, std::span<const std::int32_t> workers);
  [[nodiscard]] bool replays() const { return replays_; }
  /// When replaying: for each worker that was lost, the number of its steps, including steps before the record. Errors
  /// as begin_step().
  [[nodiscard]] std::map<std::int32_t, std::int64_t> last_steps(std::span<const std::int32_t> workers);
  /// When replaying: the step's next turn; nothing at its end.
  [[nodiscard]] std::optional<Turn> next();
  /// When replaying: throws OtherRun with Error(usage), because this run does not match the record; `why` is the
  /// reason.
  [[noreturn]] void refuse(const std::string& why) const;
  /// When recording: adds a turn that was done.
  void add(const Turn& turn);
  /// When recording: ends the step. Error(usage) or Error(resource) if the record cannot be written.
  void end_step();
  /// Writes the turns that are not written yet.
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
  std::string text_;                                             // recorded turns that are not yet written
  std::deque<std::pair<std::int64_t, std::deque<Turn>>> steps_;  // to be replayed
  std::map<std::int32_t, std::int64_t> last_steps_;              // the result of last_steps()
};

}  // namespace ferry
