// Join: a task's part of the rendezvous, and the format of the server's reply.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/backends.hpp"
#include "comm/tcp/handshake.hpp"
#include "comm/tcp/notice.hpp"

namespace ferry::tcp {

/// The head of the server's reply. The reply is the job and all addresses, or an error.
struct ReplyHead {
  std::uint32_t code = 0;  ///< 0, or a Code
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;  ///< size of the rest: a Nonce, and an Address for each task; or a text
};

/// A job that all tasks have joined.
struct Joined {
  Nonce job{};                     ///< random, different for each job
  std::vector<Address> addresses;  ///< the address at which each task listens
  Socket listener;                 ///< the socket at which this task listens
};

/// Joins a job at the server at options.address. `job` is the job's name in the notice; empty without a notice.
/// Error(usage) if the job is impossible: a secret is missing or different, two tasks have one number, the host is not
/// known. Error(stalled) if the server or a task does not come before the deadline, Error(peer_lost) if one of them
/// ends.
[[nodiscard]] Joined join(const TcpOptions& options, const std::string& job, const Deadline& deadline);
/// Joins a job at the server that the notice of task 0 names. Reads the notice again while there is no notice, or an
/// old one, with an address at which nobody, another program or another job answers. Errors as join() and Notice.
[[nodiscard]] Joined join_by_notice(const TcpOptions& options, Notice& notice, const Deadline& deadline);
/// Task 0 calls it before it replaces the notice with the meeting point `point`. Error(usage), in both jobs, if a task
/// 0 at `point` still waits for its tasks: then two processes have RANK 0, or two jobs use the same place.
void require_no_other_task_0(const MeetingPoint& point, const TcpOptions& options, const Deadline& deadline);

/// The addresses of the host in options.address, at least one. If a name is not known yet, for example while a cluster
/// starts the host, ferry warns and resolves it again until the deadline; then it throws Error(usage).
[[nodiscard]] std::vector<Address> known_addresses(const TcpOptions& options, const Deadline& deadline);
/// Whether `name` is a host's name, and its `address` on this host is loopback, as in Debian's /etc/hosts. False for
/// numbers and localhost, which are loopback on all hosts.
[[nodiscard]] bool is_loopback_name(const std::string& name, const Address& address);

/// Error(usage) unless the secret has at least kShortestSecret characters, or is empty and `address` is on loopback.
void require_secret(const Address& address, std::string_view secret);
inline constexpr std::size_t kShortestSecret = 16;
/// The key with which tasks and server identify each other at the rendezvous.
[[nodiscard]] std::string rendezvous_key(const std::string& secret, const std::string& job);

}  // namespace ferry::tcp
