// Plan files: a plan as bytes, and back. The format is described in docs/reference/plan_format.md.
//
// Equal plans give equal bytes, on every machine and from every compiler. A file is not trusted until these checks have
// passed. Length and hash of the whole refuse a file that is cut or has a flipped bit. Then follow the flatbuffers
// verifier, and every index, number and size (the first part of verify(); the caller that runs the plan calls the
// rest).
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

/// The bytes of a `.plan` file. Error(resource) when they would exceed kMaxPlanBytes. Thread-safe.
[[nodiscard]] std::vector<std::byte> encode_plan(const Plan& plan);

/// The plan in `bytes`; `source` names them in messages. It shares nothing with `bytes`. Error(file) names the fault:
/// not a plan, made by a newer ferry (both versions), cut short, damaged, or not well-formed; Error(resource): no
/// memory. Thread-safe.
///
///     Plan same = decode_plan(encode_plan(plan), "memory");
[[nodiscard]] Plan decode_plan(std::span<const std::byte> bytes, std::string_view source);

/// The plan in a file. Reads the head alone before it knows that the head fits the file's size. Errors as above.
[[nodiscard]] Plan read_plan(FileSystem& files, const std::string& path);

/// The most bytes that may follow the head: flatbuffers has signed 32-bit offsets.
inline constexpr std::uint64_t kMaxPlanBytes = 0x7ff00000;

/// The file's head has 32 bytes, all little-endian: magic, version (u32), zero (u32), number of bytes that follow the
/// head (u64), XXH3 of those bytes seeded with the version (u64).
inline constexpr std::string_view kPlanMagic = "FERRYPLN";
inline constexpr std::size_t kPlanHeadBytes = 32;

}  // namespace ferry
#pragma GCC visibility pop
