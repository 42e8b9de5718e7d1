// Join: a task's part of the rendezvous, and what the server replies.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/backends.hpp"
#include "comm/tcp/handshake.hpp"
#include "comm/tcp/notice.hpp"

namespace ferry::tcp {

/// What precedes the server's reply: the job and all addresses, or what went wrong.
struct ReplyHead {
  std::uint32_t code = 0;  ///< 0, or a Code
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;  ///< that follow: a Nonce and an Address of each task; or a text
};

/// A job that all tasks have joined.
struct Joined {
  Nonce job{};                     ///< random, another one for each job
  std::vector<Address> addresses;  ///< where each task listens
  Socket listener;                 ///< of this task
};

/// By the server at options.address, for the job with this name (empty: none). Error(usage) when the job cannot be: a
/// secret is missing or another one, two tasks have one number, the host is not known. Error(stalled) when the server
/// or a task does not come before the deadline, Error(peer_lost) when one ends.
[[nodiscard]] Joined join(const TcpOptions& options, const std::string& job, const Deadline& deadline);
/// By the server that the notice of task 0 names. Looks again while there is no notice, or an old one: nobody, another
/// program or another job answers there. Errors as join() and Notice.
[[nodiscard]] Joined join_by_notice(const TcpOptions& options, Notice& notice, const Deadline& deadline);
/// Called by task 0 before it replaces the notice of `point`. Error(usage), in both jobs, if the task 0 there still
/// waits for its tasks: two processes have RANK 0, or two jobs have one place.
void require_no_other_task_0(const MeetingPoint& point, const TcpOptions& options, const Deadline& deadline);

/// The addresses of the host in options.address, at least one. A name that is not known yet, as while a cluster starts
/// the host, is looked up again until the deadline, with a warning; then Error(usage).
[[nodiscard]] std::vector<Address> known_addresses(const TcpOptions& options, const Deadline& deadline);
/// Whether `name` stands for a host, and its `address` here is loopback, as in Debian's /etc/hosts. False for numbers
/// and localhost, which are loopback on all hosts.
[[nodiscard]] bool is_loopback_name(const std::string& name, const Address& address);

/// Error(usage) unless there is a secret of kShortestSecret characters or more, or `address` is on loopback and there
/// is none.
void require_secret(const Address& address, std::string_view secret);
inline constexpr std::size_t kShortestSecret = 16;
/// The key by which tasks and server know each other at the rendezvous.
[[nodiscard]] std::string rendezvous_key(const std::string& secret, const std::string& job);

}  // namespace ferry::tcp
