// What Linux has counted of a connection (tcp_info).
#pragma once

#include <optional>

#include "base/net/socket.hpp"
#include "comm/transport.hpp"

namespace ferry::tcp {

/// The counts of a connection to task `peer`; nothing where the system has none.
[[nodiscard]] std::optional<LinkCount> link_count(const net::Socket& socket, int peer);

}  // namespace ferry::tcp
