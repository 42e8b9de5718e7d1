#include "comm/tcp/link_count.hpp"

#include <linux/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ferry::tcp {

std::optional<LinkCount> link_count(const net::Socket& socket, int peer) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  if (size < offsetof(tcp_info, tcpi_sndbuf_limited)) return std::nullopt;  // before Linux 4.10
  // tcpi_busy_time includes tcpi_rwnd_limited, the time in which the receiver's window was full.
  const std::chrono::microseconds sending(info.tcpi_busy_time - info.tcpi_rwnd_limited);
  const bool known = info.tcpi_min_rtt != UINT32_MAX;
  return LinkCount{.peer = peer,
                   .bytes = static_cast<std::int64_t>(info.tcpi_bytes_acked),
                   .sending = sending,
                   .round_trip = std::chrono::microseconds(known ? info.tcpi_min_rtt : 0)};
}

}  // namespace ferry::tcp
