// Rendezvous: where the tasks of a job over TCP find one another. Each says its number and where it listens; once all
// have come, each learns where all the others are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

struct RendezvousOptions {
  std::string address =
      {};                   ///< what to listen on: an address, a host's name, or an interface ("eth0"); empty: loopback
  int port = 0;             ///< 0: any that is free
  int tasks = 1;            ///< of the job, at least 1
  std::string secret = {};  ///< what the tasks have as FERRY_SECRET; may be empty on loopback only
  std::string job = {};     ///< its name in the notice by which tasks find the server; empty: they know where
  std::string name = {};    ///< the host's name that tasks look up, MASTER_ADDR; empty: they are given address()
};

/// Serves the start of one job, in a thread of its own, until it is destroyed: a job that starts again needs a new one.
/// Whoever does not prove that it knows the secret is dropped. When a task ends before all have come, two claim the
/// same number, or not all come before the deadline of one that waits, all tasks get an error that says so.
///
///     RendezvousServer server({.tasks = 2, .secret = secret});
///     // … start each task with RANK, WORLD_SIZE=2, MASTER_ADDR=server.address(), MASTER_PORT=server.port(),
///     //   FERRY_SECRET=secret, FERRY_RENDEZVOUS_SERVED=1
///
/// Errors: Error(usage) when the address is not one of this host, the port is in use, or a secret is missing;
/// Error(resource) when there are no more threads or descriptors. Thread safety: all functions may be called from any
/// thread.
class RendezvousServer {
 public:
  explicit RendezvousServer(const RendezvousOptions& options);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

  /// Where it listens, as numbers: "192.168.0.5" and 29500.
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
