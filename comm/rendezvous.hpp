// Rendezvous: the server at which the tasks of a job over TCP find each other. Each task sends its number and its
// address. When all tasks have come, the server sends all addresses to each task.
#pragma once

#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

struct RendezvousOptions {
  std::string address =
      {};                   ///< what to listen on: an address, a host's name, or an interface ("eth0"); empty: loopback
  int port = 0;             ///< 0: any free port
  int tasks = 1;            ///< number of the job's tasks, at least 1
  std::string secret = {};  ///< the FERRY_SECRET of the tasks; may be empty on loopback only
  std::string job = {};     ///< the job's name in the notice by which tasks find the server; empty: there is no notice
  std::string name = {};    ///< the host name that tasks resolve (MASTER_ADDR); empty: tasks get address()
};

/// Serves the start of one job, in its own thread, until it is destroyed. A job that is started again needs a new
/// server. The server drops connections that do not prove that they know the secret. All tasks get an error, with the
/// reason, if a task ends before all have come, or two tasks have the same number. The same happens if not all tasks
/// come before the deadline of a waiting task.
///
///     RendezvousServer server({.tasks = 2, .secret = secret});
///     // … start each task with RANK, WORLD_SIZE=2, MASTER_ADDR=server.address(), MASTER_PORT=server.port(),
///     //   FERRY_SECRET=secret, FERRY_RENDEZVOUS_SERVED=1
///
/// Errors: Error(usage) if the address is not an address of this host, the port is in use, or the secret is missing;
/// Error(resource) if there are no more threads or descriptors. Thread safety: all functions may be called from any
/// thread.
class RendezvousServer {
 public:
  explicit RendezvousServer(const RendezvousOptions& options);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

  /// The address and port at which the server listens: "192.168.0.5" and 29500.
  [[nodiscard]] const std::string& address() const;
  [[nodiscard]] int port() const;
  /// The tasks that have not come yet, ascending.
  [[nodiscard]] std::vector<int> missing() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
#pragma GCC visibility pop
