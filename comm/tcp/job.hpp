// Job: a task's connections to all others, and what the tasks tell one another beside their messages.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/backends.hpp"
#include "comm/tcp/peer.hpp"

namespace ferry::tcp {

/// The ends of a connection.
struct Ends {
  net::Address here, there;
  bool leave_host = false;  ///< they are of two hosts, or of two networks of one
};

/// Used from the thread that made it.
class Job final : public PeerUser {
 public:
  /// Over a connection to each task, in task order; none to this one. `tasks_here`: of the job, on this host.
  Job(int task, std::vector<net::Socket> connections, int tasks_here, std::chrono::milliseconds deadline);
  /// deliver(), and leaves.
  ~Job() override;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] int task() const { return task_; }
  [[nodiscard]] int tasks() const { return static_cast<int>(peers_.size()); }
  [[nodiscard]] int tasks_here() const { return tasks_here_; }
  [[nodiscard]] Peer& peer(int task) { return *peers_[static_cast<std::size_t>(task)]; }
  [[nodiscard]] Transfers& transfers() { return transfers_; }
  /// Error(usage) on another thread than the one that made it.
  void check_thread() const;
  [[nodiscard]] bool on_its_thread() const;

  /// Handles what has arrived and sends what can be sent; waits for that for `at_most`.
  void poll(std::chrono::microseconds at_most = {});
  /// The same for the connection to one task.
  void poll_peer(int task);
  /// After something was given to a peer to send: waits for room for the rest when it next polls.
  void watch_room(int task);

  void send_text(std::string_view text);
  /// The next text of every task, in task order (this task's is `mine`); nothing while some are missing.
  [[nodiscard]] std::optional<std::vector<std::string>> take_texts(std::string_view mine);
  /// Tasks with a missing next text; with `closed_only`, only the tasks among them that have left.
  [[nodiscard]] std::vector<int> missing(bool closed_only);

  /// Records a failure and tells the others, unless one is known already. Messages touch the caller's memory no more.
  void fail(const Failure& failure);
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  /// What a spared task says of others is no news: it may be the one that is lost.
  void heard_failure(int from, const Failure& failure) override;
  void heard_lost(int from, const std::string& word) override;

  /// Transport::spare, before the tasks meet; false: nothing changes, and they need not. From the first call on texts
  /// go by way of task 0, so that all tasks get the same of a task that is lost meanwhile.
  [[nodiscard]] bool begin_sparing(std::span<const int> tasks, Losses& losses);
  /// The same, once they have met.
  void end_sparing();
  [[nodiscard]] bool is_lost(int task) const { return lost_[static_cast<std::size_t>(task)]; }
  /// Whether this task gets all texts from task 0.
  [[nodiscard]] bool follows() const { return by_first_ && task_ != 0; }
  /// Asks for the tasks that are lost although their connections stand.
  void look_for_losses();

  void say_goodbye();
  [[nodiscard]] bool closed() const { return closed_; }
  /// Sends what waits to be sent, until the others' systems have it or the deadline; after a failure, for a moment.
  void deliver();

  [[nodiscard]] std::uint32_t generation() const { return generation_; }
  /// Starts again after a failure, and tells the others.
  void begin_anew();
  /// Tasks that have not begun this generation; with `gone_only`, only the tasks among them that have left.
  [[nodiscard]] std::vector<int> not_renewed(bool gone_only);

  [[nodiscard]] WireCount sent();
  /// Counts of the connections to other hosts that stand.
  [[nodiscard]] std::vector<LinkCount> links() const;

 private:
  void read(int task);
  void lost(int task, int why);
  void lose(const Losses::Loss& loss);
  void forget(const Losses::Loss& loss);
  void spare_none();
  [[nodiscard]] bool is_spared(int task) const { return spared_[static_cast<std::size_t>(task)]; }
  [[nodiscard]] Failure lost_connection(int task, int why) const;
  void say(Kind kind, const std::string& body);
  void say_to(int task, Kind kind, const std::string& body);

  int task_, tasks_here_;
  std::chrono::milliseconds deadline_;
  std::thread::id thread_ = std::this_thread::get_id();
  pid_t process_;
  Transfers transfers_;
  std::vector<std::unique_ptr<Peer>> peers_;
  net::Socket events_;              // epoll
  std::vector<bool> watches_room_;  // by task
  std::vector<Ends> ends_;          // by task
  std::optional<Failure> failure_;
  Deadline tell_until_ = Deadline::never(system_clock());  // once there is a failure
  bool closed_ = false;
  std::uint32_t generation_ = 0;
  std::vector<int> to_spare_;        // Transport::spare
  std::vector<bool> spared_, lost_;  // by task
  Losses* losses_ = nullptr;         // null once the job has failed, or this task is done with it
  bool by_first_ = false;            // texts go by way of task 0
  bool all_spare_ = false;           // all tasks have come to spare some, or will
};

/// Joins a job: meets all tasks at the rendezvous and connects to each. Errors as tcp_transport().
[[nodiscard]] std::shared_ptr<Job> formed(const TcpOptions& options);

}  // namespace ferry::tcp
