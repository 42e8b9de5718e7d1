#include "plan/file/plan_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "plan/file/plan_decode.hpp"
#include "plan/verify/verify.hpp"

namespace ferry {
namespace {

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Checks a file's head. `head` has the first bytes of a file of `size` bytes, which may be too few for a head.
void check_head(std::span<const std::byte> head, std::uint64_t size) {
  if (size == 0) throw Error(Code::file, "the file is empty");
  const std::size_t magic = std::min(head.size(), kPlanMagic.size());
  if (std::memcmp(head.data(), kPlanMagic.data(), magic) != 0) throw Error(Code::file, "this is not a plan file");
  if (head.size() < kPlanHeadBytes) throw Error(Code::file, "the file is cut short, after {} bytes", size);
  const auto version = number_at<std::uint32_t>(head, 8);
  if (version != kPlanVersion)
    throw Error(Code::file, "its format is version {}; this ferry reads version {}", version, kPlanVersion)
        .hint("make the plan again from its graph, or use the ferry that made it");
  const auto length = number_at<std::uint64_t>(head, 16);
  if (length > kMaxPlanBytes)
    throw Error(Code::file, "it claims {} bytes, more than the {} that a plan may have", length, kMaxPlanBytes);
  const std::uint64_t there = size - kPlanHeadBytes;
  if (there < length) throw Error(Code::file, "the file is cut short: {} of {} bytes", there, length);
  if (there > length) throw Error(Code::file, "{} bytes follow the end of the plan", there - length);
}

/// The bytes after the head. Throws Error(file) unless length and hash match.
std::span<const std::byte> body_of(std::span<const std::byte> bytes) {
  check_head(bytes.first(std::min(bytes.size(), kPlanHeadBytes)), bytes.size());
  const std::span<const std::byte> body = bytes.subspan(kPlanHeadBytes);
  if (number_at<std::uint32_t>(bytes, 12) != 0 || number_at<std::uint64_t>(bytes, 24) != hash64(body, kPlanVersion))
    throw Error(Code::file, "the file is damaged: its hash does not fit").hint("make the plan again from its graph");
  return body;
}

/// Checks every plan that is read.
Plan checked(Plan plan) {
  require_well_formed(plan);
  return plan;
}

/// Returns the result of read(). Its errors get the file's name.
template <class F>
auto named(std::string_view source, const F& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.code() == Code::resource ? Code::resource : Code::file, "{:.400}: {}", source,
                as_is(error.text()));
  }
}

}  // namespace

Plan decode_plan(std::span<const std::byte> bytes, std::string_view source) {
  return named(source, [&] { return checked(decode_unchecked(body_of(bytes))); });
}

Plan read_plan(FileSystem& files, const std::string& path) {
  const auto file = files.open(path);
  std::array<std::byte, kPlanHeadBytes> head{};
  const std::span<std::byte> there = std::span(head).first(std::min<std::uint64_t>(file->size(), head.size()));
  file->read(0, there);
  named(path, [&] { check_head(there, file->size()); });
  return decode_plan(files.read(path, kMaxPlanBytes + kPlanHeadBytes).span(), path);
}

}  // namespace ferry
