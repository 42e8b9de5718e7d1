// SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104): for proofs that somebody knows a secret. The hashes in
// base/hash.hpp, which only detect damage, are much faster.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ferry {

using Sha256 = std::array<std::byte, 32>;

/// Pure; thread-safe.
[[nodiscard]] Sha256 sha256(std::string_view bytes);
/// HMAC-SHA256 of the bytes. Nobody can compute or guess it without `key`, which may have any length. Pure;
/// thread-safe.
[[nodiscard]] Sha256 hmac_sha256(std::string_view key, std::string_view bytes);
/// Whether both are the same, in a time that does not depend on where they differ. Pure; thread-safe.
[[nodiscard]] bool same_proof(const Sha256& a, const Sha256& b);

}  // namespace ferry
