// Job: a task's connections to all others, which also carry the words of its control plane.
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
#include "comm/control.hpp"
#include "comm/tcp/peer.hpp"

namespace ferry::tcp {

/// The ends of a connection.
struct Ends {
  net::Address here, there;
  bool between_hosts = false;  ///< they have different addresses: two hosts, or two networks of one host
};

/// Only the thread that made it may use it.
class Job final : public PeerUser, public ControlSender {
 public:
  /// `connections`: one to each task, in task order; the entry of this task is closed. `tasks_here`: the number of the
  /// job's tasks on this host.
  Job(int task, std::vector<net::Socket> connections, int tasks_here, std::chrono::milliseconds deadline);
  /// Calls deliver(), and closes the connections.
  ~Job() override;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] int task() const { return task_; }
  [[nodiscard]] int tasks() const { return static_cast<int>(peers_.size()); }
  [[nodiscard]] int tasks_here() const { return tasks_here_; }
  [[nodiscard]] Peer& peer(int task) { return *peers_[task]; }
  [[nodiscard]] Transfers& transfers() { return transfers_; }
  /// Error(usage) on another thread than the thread that made the job.
  void check_thread() const;
  [[nodiscard]] bool on_its_thread() const;

  /// Handles arrived data and sends waiting data. Waits for at most `at_most` until one of the two is possible.
  void poll(std::chrono::microseconds at_most = {});
  /// The same for the connection to one task, without waiting.
  void poll_peer(int task);
  /// Call it after giving data to a peer to send: the next poll() also waits for room for the rest.
  void watch_writable(int task);

  [[nodiscard]] ControlPlane& control() { return control_; }
  /// Calls ControlPlane::fail(), unless this task is done with the job.
  void fail(const Failure& failure);
  void handle_word(int from, Word word, std::string body) override;
  void post(std::span<const int> tasks, Word word, std::string_view body) override;
  void drop_messages() override;
  void drop_task(int task) override;
  [[nodiscard]] bool forwards_failures() const override { return true; }

  /// Whether the task has left in order and its connection has ended, so that no message to or from it can complete.
  /// Returns false for a spared task: the other tasks decide whether it is lost, and then its messages are completed.
  [[nodiscard]] bool has_gone(int task) const {
    const Connection* const connection = peers_[task]->connection();
    return connection != nullptr && !connection->socket().open() && control_.has_left(task) &&
           !control_.is_spared(task);
  }
  /// Sends all waiting data. Returns when the other hosts have received it or at the deadline; after a failure, soon.
  void deliver();
  /// Restarts the job after a failure, and informs the others.
  void restart();

  [[nodiscard]] WireCount sent();
  /// Implements Transport::moved().
  [[nodiscard]] std::uint64_t moved() const;
  /// Counts of the open connections to other hosts.
  [[nodiscard]] std::vector<LinkCount> links() const;

 private:
  void read(int task);
  void ended(int task, int why);
  [[nodiscard]] Failure lost_connection(int task, int why) const;

  int task_, tasks_here_;
  std::chrono::milliseconds deadline_;
  std::thread::id thread_ = std::this_thread::get_id();
  pid_t process_;
  Transfers transfers_;
  std::vector<std::unique_ptr<Peer>> peers_;
  net::Socket events_;                  // epoll
  std::vector<bool> watches_writable_;  // by task
  std::vector<Ends> ends_;              // by task
  ControlPlane control_;
  Deadline deliver_until_ = Deadline::never(system_clock());  // after a failure: the end of deliver()
  std::uint32_t generation_ = 0;
};

/// Joins a job: meets all tasks at the rendezvous and connects to each. Errors as tcp_transport().
[[nodiscard]] std::shared_ptr<Job> form_job(const TcpOptions& options);

}  // namespace ferry::tcp
