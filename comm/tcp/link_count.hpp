// The traffic of a TCP connection, as Linux counts it (tcp_info).
#pragma once

#include <optional>

#include "base/net/socket.hpp"
#include "comm/transport.hpp"

namespace ferry::tcp {

/// The counts of a connection to task `peer`; nothing if the system does not count.
[[nodiscard]] std::optional<LinkCount> link_count(const net::Socket& socket, int peer);

}  // namespace ferry::tcp
