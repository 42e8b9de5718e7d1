// ControlPlane: what the tasks of a job tell one another beside their messages: texts, failures, goodbyes, losses.
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

/// A word from one task to others. The numbers are on the wire of comm/mpi and, with an offset, of comm/tcp.
enum class Word : std::uint32_t {
  text = 1,  ///< the text of an exchange; from task 0, while it forwards texts: the texts of all tasks
  failure,   ///< pack_failure()
  goodbye,   ///< the sender is done with the job
  renewed,   ///< the sender has begun a new job after a failure
  lost,      ///< the job continues without a task: its number, and why
};

/// The most bytes of a word.
inline constexpr std::uint64_t kLongestWord = std::uint64_t{1} << 30;

/// What a ControlPlane asks of a transport. The transport calls ControlPlane::heard() for each word that arrives.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  /// Starts to send a word to `tasks`. Words from one task to another arrive in order.
  virtual void post(std::span<const int> tasks, Word word, std::string_view body) = 0;
  /// The job has failed, and the others are told next: gives up all messages.
  virtual void drop_messages() {}
  /// The job continues without `task`: completes all transfers with it.
  virtual void drop_task(int task) { static_cast<void>(task); }
  /// Whether a task that hears of a failure tells all others. They must know of it before they see this task end, if
  /// they can see that.
  [[nodiscard]] virtual bool passes_failures_on() const { return false; }
  /// Whether this process finds out that `task` did not come to an exchange. Else ControlPlane::set_absent() says so.
  [[nodiscard]] virtual bool awaits(int task) const {
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
/// job can lose. It never waits. The transport passes on what arrives and asks again whether an exchange is complete:
///
///     auto exchange = control.start_exchange(task, mine, deadline);
///     for (;;) {
///       if (auto texts = control.finish_exchange(exchange)) return *texts;
///       wait_for_words();  // and calls control.heard() for each
///     }
///
/// Invariant: the k-th text of a task since it began the job belongs to the k-th exchange. Not thread-safe.
class ControlPlane {
 public:
  /// One task's part of an exchange.
  struct TextExchange {
    std::uint64_t round = 0;
    Deadline deadline;
    std::optional<Deadline> late = {};  ///< set at the deadline: until then another task may say who is missing
  };

  /// `here`: the tasks of this process; all others are reached by `mailbox`. Only a process of one task can spare tasks
  /// and restart.
  ControlPlane(Mailbox& mailbox, Clock& clock, int tasks, TaskRange here);

  [[nodiscard]] int tasks() const { return tasks_; }
  [[nodiscard]] TaskRange here() const { return here_; }

  /// A task of this process comes to its next exchange.
  [[nodiscard]] TextExchange start_exchange(int task, std::string_view mine, const Deadline& deadline);
  /// The texts of all tasks, in task order; null while some are missing. They do not change any more. Errors as
  /// Transport::exchange. Not to be called again after texts or an error.
  [[nodiscard]] std::shared_ptr<std::vector<std::string>> finish_exchange(TextExchange& exchange);
  /// For a relay to other processes: the texts of the tasks of this process in the `round`-th exchange, empty until all
  /// have come; and the deadline of the task that came last.
  [[nodiscard]] std::span<const std::string> texts_here(std::uint64_t round) const;
  [[nodiscard]] Deadline deadline_here(std::uint64_t round) const { return *rounds_.at(round).deadline; }
  /// Whether others have come to an exchange that `task` has not come to.
  [[nodiscard]] bool is_awaited(int task) const {
    return rounds_.contains(next_round_[static_cast<std::size_t>(task)]);
  }
  /// The tasks did not come in time to the exchange that the first of them is missing in.
  void set_absent(std::span<const int> tasks);

  /// A word from a task of another process. Error(peer_lost) when it cannot be read.
  void heard(int from, Word word, std::string body);
  /// The connection to a task has ended. That is `failure`, unless the task is done with the job or can be spared.
  void disconnected(int task, const Failure& failure);

  /// Records a failure and tells the others, unless a failure is known already.
  void fail(const Failure& failure) { fail(failure, true); }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  /// A task of this process says goodbye. Once all have, a failure is only recorded.
  void close(int task);
  [[nodiscard]] bool closed() const;
  /// Whether a task has said goodbye, is lost, or has no connection any more.
  [[nodiscard]] bool has_left(int task) const { return left_.contains(task); }
  /// Whether the job can go on without the task.
  [[nodiscard]] bool is_spared(int task) const { return spared_.contains(task); }
  /// The tasks of other processes that are not lost.
  [[nodiscard]] std::vector<int> others() const;
  /// The tasks among `tasks` that have left.
  [[nodiscard]] std::vector<int> left_among(std::vector<int> tasks) const;

  /// After a failure: this task begins a new job of the same tasks, and tells the others.
  void restart();
  /// Tasks that have not begun the job that this task has begun.
  [[nodiscard]] std::vector<int> not_renewed() const;

  /// JobMembership::spare, before the tasks meet; false: nothing changes, and they need not. From the first call on
  /// texts go by way of task 0, so that all tasks get the same of a task that is lost meanwhile.
  [[nodiscard]] bool begin_sparing(std::span<const int> tasks, Losses& losses);
  /// The same, once they have met.
  void end_sparing();
  [[nodiscard]] bool is_lost(int task) const { return lost_.contains(task); }
  /// Asks for the tasks that are lost although their connections stand.
  void look_for_losses();

 private:
  struct TextRound {
    std::shared_ptr<std::vector<std::string>> texts;
    std::optional<Deadline> deadline;  // of the task of this process that came last
    int finished = 0;                  // tasks of this process that have texts or an error
    std::vector<int> absent;           // set_absent()
  };

  void add(int task, std::string text);
  [[nodiscard]] std::vector<int> missing(std::uint64_t round) const;
  [[nodiscard]] std::shared_ptr<std::vector<std::string>> take_texts(TextRound& round);
  void check_absent(TextExchange& exchange, std::vector<int> absent);
  void leave(std::uint64_t round);
  /// Whether this task gets all texts from task 0.
  [[nodiscard]] bool follows() const { return by_first_ && here_.first != 0; }
  void post(Word word, std::string_view body) { mailbox_.post(others(), word, body); }
  /// Whether the task's text of a round has come.
  [[nodiscard]] bool has_come(int task, std::uint64_t round) const {
    return next_round_[static_cast<std::size_t>(task)] > round;
  }
  void fail(const Failure& failure, bool tells);
  void heard_failure(int from, const Failure& failure);
  void heard_lost(int from, std::string_view body);
  void lose(const Losses::Loss& loss);
  void forget(const Losses::Loss& loss);
  void spare_none();

  Mailbox& mailbox_;
  Clock& clock_;
  const int tasks_;
  const TaskRange here_;
  std::vector<std::uint64_t> next_round_;  // by task: of its next text; kJobRounds more for each job that it began
  std::map<std::uint64_t, TextRound> rounds_;
  std::optional<Failure> failure_;
  std::vector<int> to_spare_;           // JobMembership::spare
  std::set<int> left_, spared_, lost_;  // tasks
  Losses* losses_ = nullptr;            // null once the job has failed, or this task is done with it
  bool by_first_ = false;               // texts go by way of task 0
  bool all_spare_ = false;              // all tasks have come to spare some, or will
};

}  // namespace ferry
