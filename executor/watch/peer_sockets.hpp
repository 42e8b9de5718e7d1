// PeerSockets: signed datagrams between the processes of a job, independent of its transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/datagram.hpp"
#include "base/process/process_state.hpp"
#include "base/system/clock.hpp"
#include "comm/transport.hpp"

namespace ferry {

/// One per process. Datagrams go by Unix sockets within a host and by UDP between hosts. Each datagram has a tag made
/// with the job's secret, on which the processes agree when they meet. Datagrams may be lost; sending never blocks.
/// Used by one thread, except for wake().
class PeerSockets {
 public:
  /// A process of the job, as it introduced itself.
  struct Process {
    std::string host;
    ProcessId id{};
    bool on_this_machine = false;  ///< on this machine
    std::string name;              ///< name of its socket; empty: it cannot be reached, or is this process
    std::size_t socket = 0;        ///< index in sockets_ of the socket that reaches it
  };

  /// For a job in one process, in which there is no other process.
  PeerSockets() = default;
  /// All processes call it together; `between` connects them. `interface`: for messages to other hosts, by name or
  /// address; empty: a network that all hosts are in. Errors of Transport::exchange(); Error(resource).
  PeerSockets(Transport& between, int self, const std::string& interface, const Deadline& deadline);

  /// The processes by number, including this one; empty for a job in one process.
  [[nodiscard]] const std::vector<Process>& processes() const { return processes_; }
  [[nodiscard]] bool has_udp() const { return sockets_.size() > 1; }

  void send(int process, std::string bytes) const;
  void send_to_all(std::string bytes) const;
  /// Calls take(bytes) for each datagram that has arrived with a valid tag.
  void receive(const std::function<void(std::string_view)>& take);
  /// Returns when a datagram has arrived, after wake(), or when `at_most` has passed.
  void wait(Duration at_most) noexcept { wait_.wait(sockets_, at_most); }
  /// Thread-safe.
  void wake() noexcept { wait_.wake(); }

 private:
  [[nodiscard]] std::string sign(std::string bytes) const;
  void send_signed(const Process& process, std::string_view bytes) const;

  std::string secret_;
  std::vector<Process> processes_;
  std::vector<DatagramSocket> sockets_;  // the local one, then UDP if there are several hosts
  std::vector<char> receive_buffer_ = std::vector<char>(kMostDatagram);
  SocketWait wait_;
};

}  // namespace ferry
