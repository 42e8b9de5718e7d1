#include "kernels/sim/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace ferry::sim {
namespace {

bool has_happened(const VectorClock& clock, const Moment& moment) {
  return moment.number == 0 || (moment.strand < clock.size() && clock[moment.strand] >= moment.number);
}

}  // namespace

std::optional<Mapping> Mapping::make(std::uint64_t bytes) {
  if (bytes == 0) bytes = 1;
  const int file = memfd_create("ferry-sim", MFD_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<Mapping> made;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    void* const device_address = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    void* const host_address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (device_address != MAP_FAILED && host_address != MAP_FAILED)
      made.emplace(Mapping(static_cast<std::byte*>(device_address), static_cast<std::byte*>(host_address), bytes));
    else
      for (void* const one : {device_address, host_address})
        if (one != MAP_FAILED) munmap(one, bytes);
  }
  close(file);
  return made;
}

Mapping::Mapping(Mapping&& other) noexcept
    : device_address_(std::exchange(other.device_address_, nullptr)),
      host_address_(std::exchange(other.host_address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Mapping::~Mapping() {
  for (std::byte* const one : {device_address_, host_address_})
    if (one != nullptr) munmap(one, bytes_);
}

std::optional<Touches::Race> Touches::touch(const std::byte* memory, std::uint64_t bytes, bool writes,
                                            const Moment& now, const VectorClock& clock) {
  if (bytes == 0) return std::nullopt;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + bytes;
  cut(begin);
  cut(end);
  std::optional<Race> race;
  const auto check_happened = [&](const Moment& earlier, bool written) {
    if (!race && !has_happened(clock, earlier)) race = Race{earlier, written};
  };
  std::uintptr_t at = begin;
  auto next = bytes_.lower_bound(begin);
  while (at < end) {
    if (next == bytes_.end() || next->first > at) {  // no access to these bytes is recorded yet
      const std::uintptr_t to = next == bytes_.end() ? end : std::min(end, next->first);
      next = bytes_.emplace(at, Touched{to, {}, {}}).first;
    }
    Touched& touched = next->second;
    check_happened(touched.writer, true);
    if (writes) {
      for (const Moment& reader : touched.readers) check_happened(reader, false);
      touched.writer = now;
      touched.readers.clear();
    } else {
      std::erase_if(touched.readers, [&](const Moment& reader) { return reader.strand == now.strand; });
      touched.readers.push_back(now);
    }
    at = touched.end;
    ++next;
  }
  if (!writes) return race;
  // All these ranges now have the same writer and no readers, so merge them.
  auto first = bytes_.find(begin);
  bytes_.erase(std::next(first), bytes_.lower_bound(end));
  first->second.end = end;
  return race;
}

void Touches::forget(const std::byte* memory, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + bytes;
  cut(begin);
  cut(end);
  bytes_.erase(bytes_.lower_bound(begin), bytes_.lower_bound(end));
}

/// If a range contains `at` in its inside, splits it so that a range begins at `at`.
void Touches::cut(std::uintptr_t at) {
  auto range = bytes_.lower_bound(at);
  if (range == bytes_.begin()) return;
  --range;
  if (range->second.end <= at) return;
  Touched rest = range->second;
  range->second.end = at;
  bytes_.emplace(at, std::move(rest));
}

}  // namespace ferry::sim
