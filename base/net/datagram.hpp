// Datagrams: short messages between processes. They may be lost, and sending never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/descriptor.hpp"
#include "base/system/clock.hpp"

namespace ferry {

/// The longest datagram that is sent.
inline constexpr std::size_t kMostDatagram = 60'000;

/// An IPv4 address of this machine, and the network that it belongs to. Numbers in host order.
struct InterfaceAddress {
  std::string interface;  ///< "eth0"
  std::uint32_t address = 0;
  std::uint32_t mask = 0;

  [[nodiscard]] bool reaches(std::uint32_t other) const { return (address & mask) == (other & mask); }
};

/// The IPv4 addresses of the interfaces that are up, without loopback. Also empty if the system does not list
/// interfaces.
[[nodiscard]] std::vector<InterfaceAddress> interface_addresses();
/// "10.0.0.7".
[[nodiscard]] std::string address_text(std::uint32_t address);

/// A socket for datagrams. Used by one thread.
class DatagramSocket {
 public:
  /// For processes of this host (of one network namespace): a Unix socket without a file. Error(resource).
  [[nodiscard]] static DatagramSocket local();
  /// UDP on that address of this machine, at a port that the system chooses. Error(resource).
  [[nodiscard]] static DatagramSocket udp(std::uint32_t address);

  /// This socket's address, which other sockets pass to send() as `to`. It is not text.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Sends a datagram, or drops it if the system cannot take it now. Returns false if the receiver has closed its
  /// socket (known only for sockets made by local()).
  bool send(std::string_view to, std::string_view bytes) const noexcept;
  /// The next datagram that has arrived, or nothing. Its bytes are in `room` until the next call.
  [[nodiscard]] std::optional<std::string_view> receive(std::span<char> room) const noexcept;
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  DatagramSocket(Descriptor descriptor, const void* address, std::size_t bytes);
  Descriptor descriptor_;
  std::string name_;
};

/// Lets a thread sleep until one of its sockets has a datagram, or another thread wakes it.
class SocketWait {
 public:
  /// Error(resource).
  SocketWait();

  /// Returns when a socket can be read, after wake(), or when `at_most` has passed. `sockets`: at most 3.
  void wait(std::span<const DatagramSocket> sockets, Duration at_most) noexcept;
  /// Any thread may call it.
  void wake() noexcept;

 private:
  Descriptor event_;
};

}  // namespace ferry
