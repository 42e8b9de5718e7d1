#include "base/net/socket.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/format.hpp"
#include "base/system/interrupt.hpp"

namespace ferry::net {
namespace {

constexpr std::chrono::milliseconds kLongestPoll{100};  // between checks for an interrupt

bool is_ip(const sockaddr& address) {
  return address.sa_family == AF_INET || address.sa_family == AF_INET6;
}

Address address_of(const sockaddr* from) {
  Address address;
  std::memcpy(&address.bytes, from, from->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  return address;
}

void set(const Socket& socket, int level, int option, int value) {
  // May fail: an option that a system lacks is not needed.
  setsockopt(socket.get(), level, option, &value, sizeof value);
}

/// Returns a closed socket if the system does not support this address family.
Socket new_socket(const Address& address) {
  const int descriptor = ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0 && errno == EAFNOSUPPORT) return {};
  if (descriptor < 0) throw system_error(Code::resource, "tcp: a socket", errno).hint("ulimit -n shows the limit");
  Socket socket(descriptor);
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

/// The addresses of all interfaces that have all `needed_flags` and none of `other_flags`, in the system's order,
/// loopback included. Empty if the system does not list interfaces.
std::vector<HostAddress> all_addresses(unsigned needed_flags = 0, unsigned other_flags = 0) {
  std::vector<HostAddress> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || !is_ip(*at->ifa_addr)) continue;
    if ((at->ifa_flags & needed_flags) != needed_flags || (at->ifa_flags & other_flags) != 0) continue;
    found.push_back({at->ifa_name, address_of(at->ifa_addr)});
  }
  return found;
}

bool is_link_local(const Address& address) {
  return address.six() && IN6_IS_ADDR_LINKLOCAL(&address.bytes.sin6_addr);
}

bool again() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Error system_error(Code code, const std::string& what, int number) {
  return {code, what + ": " + std::strerror(number)};
}

bool Address::six() const {
  return get()->sa_family == AF_INET6;
}

socklen_t Address::size() const {
  return six() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

// The port has the same offset in sockaddr_in and sockaddr_in6.
int Address::port() const {
  return ntohs(bytes.sin6_port);
}

void Address::set_port(int port) {
  bytes.sin6_port = htons(static_cast<std::uint16_t>(port));
}

bool Address::loopback() const {
  if (six()) return IN6_IS_ADDR_LOOPBACK(&bytes.sin6_addr);
  return (ntohl(reinterpret_cast<const sockaddr_in*>(&bytes)->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
}

std::string Address::host() const {
  char text[NI_MAXHOST] = {};
  getnameinfo(get(), size(), text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

std::string Address::str() const {
  return (six() ? "[" + host() + "]" : host()) + ":" + std::to_string(port());
}

Address local_address(const Socket& socket) {
  Address address;
  socklen_t size = sizeof address.bytes;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.bytes), &size) != 0)
    throw system_error(Code::resource, "tcp: getsockname", errno);
  return address;
}

std::optional<Address> peer_address(const Socket& socket) {
  Address address;
  socklen_t size = sizeof address.bytes;
  if (getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address.bytes), &size) != 0) return std::nullopt;
  return address;
}

std::optional<Address> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  std::string host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  int port = 0;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST;
  addrinfo* list = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &wanted, &list) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  Address address = address_of(list->ai_addr);
  address.set_port(port);
  return address.str() == text ? std::optional(address) : std::nullopt;
}

std::vector<Address> resolve(const std::string& host, int port, std::string_view what) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string name = brackets ? host.substr(1, host.size() - 2) : host;
  const int failed = getaddrinfo(name.c_str(), nullptr, &wanted, &list);
  if (failed != 0)
    throw Error(Code::usage, "{}: the host '{}' is not known: {}", as_is(what), host, gai_strerror(failed))
        .hint("give a name that resolves on every host, or an address such as 192.168.0.5");
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::vector<Address> result;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next)
    if (is_ip(*at->ai_addr)) result.emplace_back(address_of(at->ai_addr)).set_port(port);
  return result;
}

Address interface_address(const std::string& name) {
  std::string there;
  std::optional<Address> found;
  const auto rank = [](const Address& address) { return address.six() ? 1 + is_link_local(address) : 0; };
  for (const auto& [interface, address] : all_addresses()) {
    there += std::string(there.empty() ? "" : ", ") + interface + " (" + address.host() + ")";
    const bool better = !found || rank(address) < rank(*found);
    if ((name == interface || name == address.host()) && better) found = address;
  }
  if (!found)
    throw Error(Code::usage, "interface '{}': this host has no such one", name)
        .note(there.empty() ? "the system does not list its interfaces" : "it has " + there)
        .hint("give the name or the address of one of these");
  found->set_port(0);
  return *found;
}

bool is_own(const Address& address) {
  return std::ranges::any_of(all_addresses(), [&](const HostAddress& one) {
    if (one.address.six() != address.six()) return false;
    return one.address.host() == address.host() || (one.address.loopback() && address.loopback());
  });
}

Address loopback_address() {
  const Address four = resolve("127.0.0.1", 0, "tcp").front(), six = resolve("::1", 0, "tcp").front();
  return !is_own(four) && is_own(six) ? six : four;
}

std::vector<HostAddress> host_addresses() {
  std::vector<HostAddress> found = all_addresses(IFF_UP, IFF_LOOPBACK);
  std::erase_if(found, [](const HostAddress& one) { return is_link_local(one.address); });
  return found;
}

Address choose_address(std::span<const HostAddress> all) {
  const bool has_four = std::ranges::any_of(all, [](const HostAddress& one) { return !one.address.six(); });
  std::vector<HostAddress> choice;
  std::string list;
  for (const HostAddress& one : all) {
    list += (list.empty() ? "" : ", ") + one.interface + " (" + one.address.host() + ")";
    const bool other = choice.empty() || !one.address.six() || choice.back().interface != one.interface;
    if (one.address.six() != has_four && other) choice.push_back(one);
  }
  if (choice.size() > 1)
    throw Error(Code::usage, "tcp: this host has several addresses, and the other tasks may reach only one of them")
        .note("it has " + list)
        .hint("--interface NAME or FERRY_INTERFACE=NAME, for the network between the hosts");
  return choice.empty() ? loopback_address() : choice.front().address;
}

Socket listen_at(const Address& address, std::string_view what) {
  Socket socket = new_socket(address);
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  const auto fail = [&](int number) {
    const std::string where = std::string(what) + ": " + address.str();
    if (number == EADDRINUSE)
      throw Error(Code::usage, where + " is in use: port " + std::to_string(address.port()) +
                                   " belongs to another program, or to a job that still runs")
          .hint("choose a free port, the same for all tasks; MASTER_PORT says which");
    if (number == EADDRNOTAVAIL)
      throw Error(Code::usage, where + " is not an address of this host")
          .hint(address.port() != 0 ? "MASTER_ADDR is the address of the host of task 0"
                                    : "--interface NAME, for a network of this host (ip addr lists them)");
    throw system_error(Code::usage, where + " cannot be listened on", number);
  };
  if (!socket.open()) fail(EAFNOSUPPORT);
  if (bind(socket.get(), address.get(), address.size()) != 0) fail(errno);
  if (listen(socket.get(), SOMAXCONN) != 0) fail(errno);
  return socket;
}

std::optional<Socket> accept_connection(const Socket& listener) {
  const int descriptor = accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor >= 0) {
    Socket socket(descriptor);
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    return socket;
  }
  if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
    throw system_error(Code::resource, "tcp: a connection cannot be accepted", errno).hint("ulimit -n shows the limit");
  return std::nullopt;
}

int connect_to(const Address& to, const Deadline& deadline, Socket& socket) {
  socket = new_socket(to);
  if (!socket.open()) return EAFNOSUPPORT;
  if (connect(socket.get(), to.get(), to.size()) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!ready(socket, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

void watch_link(const Socket& socket, std::chrono::milliseconds deadline) {
  // If a link loses half of the packets in each direction, a probe fails with probability 3/4. Then 60 probes in a row
  // fail, and end the connection, once in 30 million times.
  constexpr int kProbes = 60, kIdle = 5;
  const auto seconds = static_cast<int>(std::clamp<std::int64_t>(deadline.count() / 1000 / kProbes, 2, 3600));
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdle * seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

bool ready(const Socket& socket, short events, const Deadline& deadline) {
  pollfd waiting{socket.get(), events, 0};
  for (;;) {
    check_interrupt();
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<Duration>(deadline.remaining(), kLongestPoll));
    if (poll(&waiting, 1, static_cast<int>(left.count())) > 0) return true;
    if (deadline.expired()) return false;
  }
}

bool send_all(const Socket& socket, std::span<const std::byte> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    else if (!again() || !ready(socket, POLLOUT, deadline))
      return false;
  }
  return true;
}

bool receive_all(const Socket& socket, std::span<std::byte> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t count = recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (count > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    else if (count == 0 || !again() || !ready(socket, POLLIN, deadline))
      return false;
  }
  return true;
}

}  // namespace ferry::net
