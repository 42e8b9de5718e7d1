#include "runner/files/event_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/error.hpp"
#include "base/system/log.hpp"
#include "base/system/machine.hpp"
#include "runner/files/tensor_files.hpp"

namespace ferry {
namespace {

/// CRC-32C (Castagnoli), reflected, as RFC 3720 defines it.
std::uint32_t crc32c(std::string_view data) {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t byte = 0; byte < made.size(); ++byte) {
      std::uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? kPolynomial : 0);
      made[byte] = rest;
    }
    return made;
  }();
  std::uint32_t crc = ~0U;
  for (const char c : data) crc = (crc >> 8U) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xffU];
  return ~crc;
}

/// The bytes of the number, little-endian.
template <class T>
std::string bytes_of(T number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xffU);
  return bytes;
}

std::string masked_crc(std::string_view data) {
  const std::uint32_t crc = crc32c(data);
  return bytes_of(std::rotr(crc, 15) + 0xa282ead8U);
}

// ---- Protocol buffers: https://protobuf.dev/programming-guides/encoding ----

enum Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80U; number >>= 7U) bytes += static_cast<char>(number | 0x80U);
  return bytes + static_cast<char>(number);
}
std::string key(int field, Wire wire) {
  return varint(static_cast<std::uint64_t>(field) << 3U | wire);
}
std::string text(int field, std::string_view value) {
  return key(field, kBytes) + varint(value.size()) + std::string(value);
}
std::string number(int field, std::int64_t value) {
  return key(field, kVarint) + varint(static_cast<std::uint64_t>(value));
}

/// An Event: field 1 is wall_time, field 2 is step, and `what` is one of its other fields.
std::string event(std::int64_t step, const std::string& what) {
  return tf_record(key(1, kFixed64) + bytes_of(std::bit_cast<std::uint64_t>(wall_seconds())) + number(2, step) + what);
}

/// The first record of a file: field 3 is file_version.
std::string first_event() {
  return event(0, text(3, "brain.Event:2"));
}

/// Field 7 is session_log, with status (field 1) START (1): readers drop earlier records of this step and of later
/// steps.
std::string restart(std::int64_t step) {
  return event(step, text(7, number(1, 1)));
}

/// Field 5 is summary, with a value (field 1) for each scalar: field 1 is its tag, field 2 its simple_value.
std::string scalars(std::int64_t step, const Metrics& metrics) {
  std::string values;
  for (const auto& [name, value] : metrics)
    values +=
        text(1, text(1, name) + key(2, kFixed32) + bytes_of(std::bit_cast<std::uint32_t>(static_cast<float>(value))));
  return event(step, text(5, values));
}

/// A file name that no other process uses. TensorBoard reads the files of a folder in the order of their names. Files
/// of the same second are in the order of process ids, unless the ids wrap around.
std::string new_file_in(const std::string& folder, FileSystem& files) {
  const std::string seconds = std::to_string(static_cast<std::int64_t>(wall_seconds())), pid = std::to_string(getpid());
  const std::string padding(pid.size() < 7 ? 7 - pid.size() : 0, '0');
  const std::string path = folder + "/events.out.tfevents." + seconds + "." + this_host_name() + "." + padding + pid;
  if (!files.exists(path)) return path;
  for (int i = 1;; ++i)
    if (const std::string next = path + "." + std::to_string(i); !files.exists(next)) return next;
}

}  // namespace

std::string tf_record(std::string_view data) {
  const std::string length = bytes_of(std::uint64_t{data.size()});
  return length + masked_crc(length) + std::string(data) + masked_crc(data);
}

EventFiles::EventFiles(std::string folder, std::int64_t before, FileSystem& files, Clock& clock)
    : folder_(std::move(folder)), before_(before), files_(files), clock_(clock) {
  files_.make_folders(folder_);
}

void EventFiles::add(std::int64_t step, std::string_view entry, const Metrics& metrics) {
  if (metrics.empty()) return;
  const auto [at, fresh] = of_entry_.try_emplace(std::string(entry));
  if (fresh) at->second = file_for(entry, step);
  if (at->second != nullptr) at->second->add(scalars(step, metrics));
}

std::unique_ptr<GrowingFile> EventFiles::file_for(std::string_view entry, std::int64_t step) {
  const std::string folder = folder_ + "/" + file_name_of(std::string(entry)),
                    first = first_event() + restart(std::min(before_ + 1, step));  // this run may repeat an evaluation
  try {
    files_.make_folders(folder);
    return std::make_unique<GrowingFile>(new_file_in(folder, files_), first, "--tensorboard", files_, clock_);
  } catch (const Error& error) {
    log_warn(error.text() + "\n  --tensorboard: the run continues and writes nothing there");
    return nullptr;
  }
}

void EventFiles::flush() {
  for (const auto& [entry, file] : of_entry_)
    if (file != nullptr) file->flush();
}

}  // namespace ferry
