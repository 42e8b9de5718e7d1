// SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104): for proofs that somebody knows a secret. Hashes that only detect
// damage are in base/hash.hpp, and much faster.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ferry {

using Sha256 = std::array<std::byte, 32>;

/// Pure; thread-safe.
[[nodiscard]] Sha256 sha256(std::string_view bytes);
/// The keyed hash: without `key`, of any length, nobody can compute or guess it. Pure; thread-safe.
[[nodiscard]] Sha256 hmac_sha256(std::string_view key, std::string_view bytes);
/// Whether both are the same, in a time that does not depend on where they differ. Pure; thread-safe.
[[nodiscard]] bool same_proof(const Sha256& a, const Sha256& b);

}  // namespace ferry
