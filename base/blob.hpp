// The format of small control messages: fields in a fixed order, read back with every length checked.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace ferry {

/// Appends fields to a byte string.
class BlobWriter {
 public:
  template <std::integral T>
  BlobWriter& add(T number) {
    const auto wide = static_cast<std::int64_t>(number);
    bytes_.append(reinterpret_cast<const char*>(&wide), sizeof wide);
    return *this;
  }
  BlobWriter& add(double number) { return add(std::bit_cast<std::int64_t>(number)); }
  BlobWriter& add(std::string_view text) {
    add(text.size());
    bytes_.append(text);
    return *this;
  }
  BlobWriter& add(const std::vector<std::int64_t>& numbers) {
    add(numbers.size());
    for (std::int64_t number : numbers) add(number);
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads the fields in the same order. Throws Error(peer_lost) if the bytes end too early, because then the other task
/// runs another build of ferry.
class BlobReader {
 public:
  explicit BlobReader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::int64_t number() {
    std::int64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  [[nodiscard]] double real() { return std::bit_cast<double>(number()); }
  [[nodiscard]] std::string_view text() { return take(static_cast<std::size_t>(number())); }
  [[nodiscard]] std::vector<std::int64_t> numbers() {
    const auto count = static_cast<std::size_t>(number());
    if (count > bytes_.size() / sizeof(std::int64_t)) malformed();
    std::vector<std::int64_t> result(count);
    for (std::int64_t& value : result) value = number();
    return result;
  }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) malformed();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  [[noreturn]] static void malformed() {
    throw Error(Code::peer_lost, "a control message of another task cannot be read")
        .hint("run the same build of ferry on all tasks");
  }

  std::string_view bytes_;
};

}  // namespace ferry
