// ControlPlane: the control messages ("words") between the tasks of a job: texts of exchanges, failures, goodbyes,
// losses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/transport.hpp"

namespace ferry {

/// The kind of a word from one task to others. Its number is part of the wire formats of comm/mpi and, with an offset,
/// of comm/tcp.
enum class Word : std::uint32_t {
  text = 1,  ///< the sender's text of an exchange; if task 0 forwards texts: the texts of all tasks
  failure,   ///< pack_failure()
  goodbye,   ///< the sender is done with the job
  renewed,   ///< the sender has begun a new job after a failure
  lost,      ///< the job continues without a task; the word has its number and the reason
};

/// The maximum number of bytes of a word.
inline constexpr std::uint64_t kLongestWord = std::uint64_t{1} << 30;

/// The functions of a transport that a ControlPlane calls. The transport calls ControlPlane::handle_word() for each
/// word that arrives.
class ControlSender {
 public:
  virtual ~ControlSender() = default;
  /// Starts to send a word to `tasks`. Words from one task to another arrive in order.
  virtual void post(std::span<const int> tasks, Word word, std::string_view body) = 0;
  /// Gives up all data messages. The ControlPlane calls it after the job has failed, before it informs the others.
  virtual void drop_messages() {}
  /// The job continues without `task`: completes all transfers with it.
  virtual void drop_task(int task) { static_cast<void>(task); }
  /// Whether a task forwards a failure that it receives to all others. A transport that detects the end of a task needs
  /// this: the others must know the failure before they detect that this task has ended.
  [[nodiscard]] virtual bool forwards_failures() const { return false; }
  /// Whether this process itself finds out that `task` did not come to an exchange in time. If not, the relay calls
  /// ControlPlane::set_absent().
  [[nodiscard]] virtual bool detects_absence(int task) const {
    static_cast<void>(task);
    return true;
  }
};

/// Consecutive tasks.
struct TaskRange {
  int first = 0, count = 0;
  [[nodiscard]] bool contains(int task) const { return task >= first && task < first + count; }
};

/// The protocol of a job as seen by one process: exchanges of texts, the first failure, goodbyes, and tasks that the
/// job can lose. It never waits. The transport passes arriving words to handle_word(), and calls finish_exchange()
/// until the exchange is complete:
///
///     auto exchange = control.start_exchange(task, mine, deadline);
///     for (;;) {
///       if (auto texts = control.finish_exchange(exchange)) return *texts;
///       wait_for_words();  // calls control.handle_word() for each word
///     }
///
/// Invariant: the k-th text of a task since it began the job belongs to the k-th exchange. Not thread-safe.
class ControlPlane {
 public:
  /// One task's part of an exchange.
  struct TextExchange {
    std::uint64_t round = 0;
    Deadline deadline;
    /// Set when `deadline` has passed: until `late`, task 0 may report who is missing.
    std::optional<Deadline> late = {};
  };

  /// `here`: the tasks of this process. `sender` sends words to all other tasks. Only a process of one task can spare
  /// tasks and restart.
  ControlPlane(ControlSender& sender, Clock& clock, int tasks, TaskRange here);

  [[nodiscard]] int tasks() const { return tasks_; }
  [[nodiscard]] TaskRange here() const { return here_; }

  /// Starts the next exchange of a task of this process, with its text `mine`.
  [[nodiscard]] TextExchange start_exchange(int task, std::string_view mine, const Deadline& deadline);
  /// Returns the texts of all tasks, in task order; null while some are missing. Returned texts do not change any more.
  /// Errors as Transport::exchange. Do not call it again after it has returned texts or thrown.
  [[nodiscard]] std::shared_ptr<std::vector<std::string>> finish_exchange(TextExchange& exchange);
  /// For a relay to other processes. texts_here(): the texts of the tasks of this process in exchange `round`; empty
  /// until all have come. deadline_here(): the deadline of the task that came last.
  [[nodiscard]] std::span<const std::string> texts_here(std::uint64_t round) const;
  [[nodiscard]] Deadline deadline_here(std::uint64_t round) const { return *rounds_.at(round).deadline; }
  /// Whether another task has come to an exchange to which `task` has not come.
  [[nodiscard]] bool is_awaited(int task) const { return rounds_.contains(next_round_[task]); }
  /// Records that `tasks` did not come in time to an exchange: the next exchange of the first of them.
  void set_absent(std::span<const int> tasks);

  /// Handles a word from a task of another process. Error(peer_lost) if the word cannot be parsed.
  void handle_word(int from, Word word, std::string body);
  /// Handles the end of the connection to a task: the job fails with `failure`, unless the task has left the job or can
  /// be spared.
  void disconnected(int task, const Failure& failure);

  /// Records a failure and informs the others, unless a failure is known already.
  void fail(const Failure& failure) { fail(failure, true); }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  /// A task of this process says goodbye. After all of them have, a failure is recorded but not sent.
  void close(int task);
  [[nodiscard]] bool closed() const;
  /// Whether a task has said goodbye, is lost, or has no connection any more.
  [[nodiscard]] bool has_left(int task) const { return left_.contains(task); }
  /// Whether the job can continue without the task.
  [[nodiscard]] bool is_spared(int task) const { return spared_.contains(task); }
  /// The tasks of other processes that are not lost.
  [[nodiscard]] std::vector<int> others() const;
  /// The tasks among `tasks` that have left.
  [[nodiscard]] std::vector<int> left_among(std::vector<int> tasks) const;

  /// After a failure: begins a new job of the same tasks, and informs the others.
  void restart();
  /// The tasks that have not yet begun the new job that this task has begun.
  [[nodiscard]] std::vector<int> not_renewed() const;

  /// The part of JobMembership::spare before the tasks meet. Returns false if nothing changes; then the tasks need not
  /// meet. From the first call on, task 0 forwards all texts, so that all tasks get the same text of a task that is
  /// lost meanwhile.
  [[nodiscard]] bool begin_sparing(std::span<const int> tasks, Losses& losses);
  /// The part of JobMembership::spare after the tasks have met.
  void end_sparing();
  [[nodiscard]] bool is_lost(int task) const { return lost_.contains(task); }
  /// Asks `Losses` for spared tasks that are lost although their connections still exist, and continues without them.
  void look_for_losses();

 private:
  struct TextRound {
    std::shared_ptr<std::vector<std::string>> texts;
    std::optional<Deadline> deadline;  // the deadline of the task of this process that came last
    int finished = 0;                  // tasks of this process that have texts or an error
    std::vector<int> absent;           // set_absent()
  };

  void add(int task, std::string text);
  [[nodiscard]] std::vector<int> missing(std::uint64_t round) const;
  [[nodiscard]] std::shared_ptr<std::vector<std::string>> take_texts(TextRound& round);
  void check_absent(TextExchange& exchange, std::vector<int> absent);
  void finish_round(std::uint64_t round);
  /// Whether this task gets all texts from task 0.
  [[nodiscard]] bool follows() const { return task_0_forwards_ && here_.first != 0; }
  void post(Word word, std::string_view body) { sender_.post(others(), word, body); }
  /// Whether the task's text of a round has arrived.
  [[nodiscard]] bool has_come(int task, std::uint64_t round) const { return next_round_[task] > round; }
  void fail(const Failure& failure, bool inform_others);
  void handle_failure(int from, const Failure& failure);
  void handle_lost_task(int from, std::string_view body);
  void continue_without(const Losses::Loss& loss);
  void record_loss(const Losses::Loss& loss);
  void spare_none();

  ControlSender& sender_;
  Clock& clock_;
  const int tasks_;
  const TaskRange here_;
  // By task: the round of its next text; each new job begins at a multiple of kJobRounds.
  std::vector<std::uint64_t> next_round_;
  std::map<std::uint64_t, TextRound> rounds_;
  std::optional<Failure> failure_;
  std::vector<int> to_spare_;           // JobMembership::spare
  std::set<int> left_, spared_, lost_;  // tasks
  Losses* losses_ = nullptr;            // null after the job has failed, or after this task has said goodbye
  bool task_0_forwards_ = false;        // task 0 forwards all texts
  bool sparing_agreed_ = false;         // all tasks have called begin_sparing(), or will
};

}  // namespace ferry
