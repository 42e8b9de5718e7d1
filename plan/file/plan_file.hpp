// Plan files: converts a plan to bytes and back. docs/reference/plan_format.md describes the format.
//
// Equal plans give equal bytes, on every machine and from every compiler. A file is trusted only after these checks.
// First, length and hash reject a file that is cut short or has a flipped bit. Then follow the flatbuffers verifier,
// and checks of every index, number and size (the first part of verify(); the caller that runs the plan runs the other
// parts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/files/files.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The bytes of a `.plan` file. Throws Error(resource) if there would be more than kMaxPlanBytes. Thread-safe.
[[nodiscard]] std::vector<std::byte> encode_plan(const Plan& plan);

/// The plan in `bytes`; `source` names the bytes in messages. The plan does not refer to `bytes`. Error(file) names the
/// fault: not a plan, another version of the format (with both versions), cut short, damaged, or not well-formed.
/// Error(resource): no memory. Thread-safe.
///
///     Plan same = decode_plan(encode_plan(plan), "memory");
[[nodiscard]] Plan decode_plan(std::span<const std::byte> bytes, std::string_view source);

/// The plan in a file. Reads only the head until the head matches the file's size. Throws the errors of decode_plan().
[[nodiscard]] Plan read_plan(FileSystem& files, const std::string& path);

/// Maximum number of bytes after the head: flatbuffers have signed 32-bit offsets.
inline constexpr std::uint64_t kMaxPlanBytes = 0x7ff00000;

/// The file's head has 32 bytes, all little-endian: magic, version (u32), zero (u32), number of bytes after the head
/// (u64), and XXH3 of these bytes, seeded with the version (u64).
inline constexpr std::string_view kPlanMagic = "FERRYPLN";
inline constexpr std::size_t kPlanHeadBytes = 32;

}  // namespace ferry
#pragma GCC visibility pop
