// Sockets: addresses, connections, and reads and writes with a deadline.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/process/descriptor.hpp"
#include "base/system/clock.hpp"

namespace ferry::net {

/// An Error; its text ends with the system's description of `number` (an errno).
[[nodiscard]] Error system_error(Code code, const std::string& what, int number);

/// Sockets are non-blocking, not inherited by programs that are started later, and send short messages at once.
using Socket = Descriptor;

/// An address of IPv4 or IPv6 with a port, as tasks send it to one another.
struct Address {
  sockaddr_in6 bytes{};  ///< or the shorter sockaddr_in, by its family

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  [[nodiscard]] bool six() const;  ///< of IPv6
  [[nodiscard]] socklen_t size() const;
  [[nodiscard]] int port() const;
  void set_port(int port);
  [[nodiscard]] bool loopback() const;
  /// "10.0.0.1", "fe80::1".
  [[nodiscard]] std::string host() const;
  /// "10.0.0.1:29500", "[fe80::1]:29500".
  [[nodiscard]] std::string str() const;
};
[[nodiscard]] Address local_address(const Socket& socket);
/// Nothing once the connection has ended.
[[nodiscard]] std::optional<Address> peer_address(const Socket& socket);
/// The inverse of Address::str(); nothing for any other text, for example one with a host's name.
[[nodiscard]] std::optional<Address> parsed_address(const std::string& text);

/// The addresses of a host's name or number; an IPv6 address may be in brackets. Error(usage), with `what` in front,
/// when there is none.
[[nodiscard]] std::vector<Address> resolved(const std::string& host, int port, std::string_view what);
/// The address of an interface of this host, given by its name or one of its addresses, port 0: of several IPv4's
/// first, and one that only counts on one link last. Error(usage) lists the interfaces when there is no such one.
[[nodiscard]] Address interface_address(const std::string& name);
/// Whether an interface of this host has the address. Loopback has all that belong to it. False where the system does
/// not tell.
[[nodiscard]] bool is_own(const Address& address);
/// 127.0.0.1, or ::1 on a host that only has that; port 0.
[[nodiscard]] Address loopback_address();

/// An address of this host, port 0, and the interface that has it.
struct HostAddress {
  std::string interface;  ///< "eth0"
  Address address;
};
/// The addresses by which other hosts may reach this host, from the interfaces that are up: no loopback, and no
/// link-local IPv6 address. Empty, too, where the system tells nothing.
[[nodiscard]] std::vector<HostAddress> host_addresses();
/// The one of these by which others reach the host, IPv4 where it has that: loopback where there are none. An interface
/// may have several IPv6 addresses; the first is used. Error(usage) lists them where there is a choice.
[[nodiscard]] Address only_address(std::span<const HostAddress> all);

/// Listens. Error(usage) when the port is in use or the address not of this host; `what` is put in front. A port other
/// than 0 is the user's MASTER_PORT, for hints.
[[nodiscard]] Socket listening(const Address& address, std::string_view what);
/// A connection that waits at `listener`, if there is one. Error(resource) when there are no descriptors left.
[[nodiscard]] std::optional<Socket> accepted(const Socket& listener);
/// Connects. The errno when that fails, as where the system lacks this kind of addresses; ETIMEDOUT at the deadline.
[[nodiscard]] int connected(const Address& to, const Deadline& deadline, Socket& socket);
/// From now on an idle connection ends some time after its link is cut: `deadline`, but two minutes at least, so that
/// one that loses most packets does not.
void watch_link(const Socket& socket, std::chrono::milliseconds deadline);

/// Waits until `events` (of poll) or an error; false at the deadline. Error(interrupted).
[[nodiscard]] bool ready(const Socket& socket, short events, const Deadline& deadline);
/// Sends or receives all bytes. False when the connection ends or the deadline comes first.
[[nodiscard]] bool sent_all(const Socket& socket, std::span<const std::byte> bytes, const Deadline& deadline);
[[nodiscard]] bool received_all(const Socket& socket, std::span<std::byte> bytes, const Deadline& deadline);

}  // namespace ferry::net
