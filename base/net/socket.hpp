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

/// An Error with a text that ends with the system's description of `number` (an errno).
[[nodiscard]] Error system_error(Code code, const std::string& what, int number);

/// A TCP socket. It does not block, is not inherited by started programs, and sends short messages at once
/// (TCP_NODELAY).
using Socket = Descriptor;

/// An IPv4 or IPv6 address with a port, in the form in which tasks send it to one another.
struct Address {
  sockaddr_in6 bytes{};  ///< a sockaddr_in if the family is AF_INET

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  [[nodiscard]] bool six() const;  ///< whether it is an IPv6 address
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
/// The address of the other end; nothing if the connection has ended.
[[nodiscard]] std::optional<Address> peer_address(const Socket& socket);
/// Parses the output of Address::str(); nothing for any other text, for example a text with a host's name.
[[nodiscard]] std::optional<Address> parse_address(const std::string& text);

/// Resolves a host, given by its name or address; an IPv6 address may be in brackets. Error(usage), which begins with
/// `what`, if the host is not known.
[[nodiscard]] std::vector<Address> resolve(const std::string& host, int port, std::string_view what);
/// An address of an interface of this host, with port 0. `name` is the interface's name or one of its addresses. An
/// IPv4 address is preferred; a link-local address is the last choice. Error(usage) lists the interfaces if none has
/// this name.
[[nodiscard]] Address interface_address(const std::string& name);
/// Whether an interface of this host has the address. Every loopback address counts if the host has a loopback address
/// of the same family. False if the system does not list interfaces.
[[nodiscard]] bool is_own(const Address& address);
/// 127.0.0.1, or ::1 if only that is an address of this host; port 0.
[[nodiscard]] Address loopback_address();

/// An address of this host, port 0, and the interface that has it.
struct HostAddress {
  std::string interface;  ///< "eth0"
  Address address;
};
/// The addresses by which other hosts may reach this host, from the interfaces that are up: no loopback, and no
/// link-local IPv6 address. Also empty if the system does not list interfaces.
[[nodiscard]] std::vector<HostAddress> host_addresses();
/// The address of `all` by which other hosts reach this host: the IPv4 address if there is one, and loopback if `all`
/// is empty. If an interface has several IPv6 addresses, the first counts. Error(usage) lists the addresses if several
/// remain.
[[nodiscard]] Address choose_address(std::span<const HostAddress> all);

/// Makes a socket that listens at `address`. Error(usage), which begins with `what`, if the port is in use or the
/// address is not of this host. Hints of the error call a port other than 0 the user's MASTER_PORT.
[[nodiscard]] Socket listen_at(const Address& address, std::string_view what);
/// Accepts a connection at `listener`; nothing if none waits there. Error(resource) if no descriptors are left.
[[nodiscard]] std::optional<Socket> accept_connection(const Socket& listener);
/// Makes `socket` and connects it. Returns 0 or an errno: EAFNOSUPPORT if the system lacks the address family,
/// ETIMEDOUT at the deadline.
[[nodiscard]] int connect_to(const Address& to, const Deadline& deadline, Socket& socket);
/// From now on, an idle connection ends some time after its link is cut: after about `deadline`, and at least two
/// minutes. This is long enough that a connection survives the loss of most packets.
void watch_link(const Socket& socket, std::chrono::milliseconds deadline);

/// Waits until the socket has one of `events` (of poll) or an error. Returns false at the deadline. Error(interrupted)
/// if a signal asks the run to end.
[[nodiscard]] bool ready(const Socket& socket, short events, const Deadline& deadline);
/// Sends or receives all bytes. Returns false if the connection ends or the deadline comes first.
[[nodiscard]] bool send_all(const Socket& socket, std::span<const std::byte> bytes, const Deadline& deadline);
[[nodiscard]] bool receive_all(const Socket& socket, std::span<std::byte> bytes, const Deadline& deadline);

}  // namespace ferry::net
