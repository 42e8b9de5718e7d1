#include "base/net/datagram.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace ferry {
namespace {

constexpr int kBuffer = 1 << 20;  // bytes of a receive buffer, for datagrams that arrive while the thread gets no core

Error no_socket(const std::string& what) {
  return {Code::resource, what + ": " + std::strerror(errno)};
}

Descriptor make_socket(int family) {
  Descriptor descriptor(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!descriptor.open()) throw no_socket("a socket for messages about the job's state");
  setsockopt(descriptor.get(), SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
  return descriptor;
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  std::vector<InterfaceAddress> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool usable = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET &&
                        one->ifa_netmask != nullptr && (one->ifa_flags & IFF_UP) != 0 &&
                        (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) continue;
    sockaddr_in address{}, mask{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    std::memcpy(&mask, one->ifa_netmask, sizeof mask);
    found.push_back({one->ifa_name, ntohl(address.sin_addr.s_addr), ntohl(mask.sin_addr.s_addr)});
  }
  freeifaddrs(all);
  return found;
}

std::string address_text(std::uint32_t address) {
  char text[INET_ADDRSTRLEN] = "";
  const in_addr in{htonl(address)};
  return inet_ntop(AF_INET, &in, text, sizeof text) != nullptr ? text : "?";
}

DatagramSocket::DatagramSocket(Descriptor descriptor, const void* address, std::size_t bytes)
    : descriptor_(std::move(descriptor)) {
  sockaddr_storage bound{};
  auto size = static_cast<socklen_t>(sizeof bound);
  if (::bind(descriptor_.get(), static_cast<const sockaddr*>(address), static_cast<socklen_t>(bytes)) != 0 ||
      getsockname(descriptor_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    throw no_socket("an address for messages about the job's state");
  name_.assign(reinterpret_cast<const char*>(&bound), size);
}

DatagramSocket DatagramSocket::local() {
  const sa_family_t family = AF_UNIX;  // if bind() gets only the family, the system chooses a name
  return {make_socket(AF_UNIX), &family, sizeof family};
}

DatagramSocket DatagramSocket::udp(std::uint32_t address) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(address);
  return {make_socket(AF_INET), &here, sizeof here};
}

bool DatagramSocket::send(std::string_view to, std::string_view bytes) const noexcept {
  sockaddr_storage address{};
  if (to.size() > sizeof address || bytes.size() > kMostDatagram) return true;
  std::memcpy(&address, to.data(), to.size());
  const ssize_t sent = ::sendto(descriptor_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(to.size()));
  return sent >= 0 || errno != ECONNREFUSED;
}

std::optional<std::string_view> DatagramSocket::receive(std::span<char> room) const noexcept {
  ssize_t got = 0;
  do got = ::recv(descriptor_.get(), room.data(), room.size(), 0);
  while (got < 0 && errno == EINTR);
  if (got < 0) return std::nullopt;
  return std::string_view(room.data(), static_cast<std::size_t>(got));
}

SocketWait::SocketWait() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_.open()) throw no_socket("an eventfd");
}

void SocketWait::wait(std::span<const DatagramSocket> sockets, Duration at_most) noexcept {
  constexpr std::size_t kMost = 4;
  pollfd polled[kMost] = {{event_.get(), POLLIN, 0}};
  std::size_t count = 1;
  for (const DatagramSocket& socket : sockets.first(std::min(sockets.size(), kMost - 1)))
    polled[count++] = {socket.descriptor(), POLLIN, 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(std::max(at_most, Duration::zero()));
  ::poll(polled, count, static_cast<int>(milliseconds.count()));
  std::uint64_t rung = 0;
  if (polled[0].revents != 0) static_cast<void>(::read(event_.get(), &rung, sizeof rung) != 0);
}

void SocketWait::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(event_.get(), &one, sizeof one) != 0);
}

}  // namespace ferry
