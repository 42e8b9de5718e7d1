#include "graph/file/protobuf_read.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <array>
#include <optional>

namespace ferry {
namespace {

constexpr std::uint64_t kMostFields = std::uint64_t{1} << 22;  // the most fields that are checked

/// Walks over the fields of a message in a file.
class Fields {
 public:
  Fields(const FileReader& file, std::uint32_t inner) : file_(file), inner_(inner) {}

  [[nodiscard]] bool well_formed(std::uint64_t at, std::uint64_t end, bool outermost) {
    while (at < end && ++seen_ < kMostFields) {
      const auto tag = number(at, end);
      if (!tag || *tag >> 3U == 0 || *tag >> 3U > kLastField) return false;
      std::uint64_t bytes = 0;
      switch (*tag & 7U) {
        case 0:
          if (!number(at, end)) return false;
          break;
        case 1:
          bytes = 8;
          break;
        case 2: {
          const auto length = number(at, end);
          if (!length) return false;
          bytes = *length;
          break;
        }
        case 5:
          bytes = 4;
          break;
        default:
          return false;  // a group: no format that ferry reads has groups
      }
      if (bytes > end - at) return false;
      if (outermost && *tag == (std::uint64_t{inner_} << 3U | 2U) && !well_formed(at, at + bytes, false)) return false;
      at += bytes;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kLastField = (std::uint64_t{1} << 29U) - 1;

  /// Reads the varint at `at` and moves `at` behind it; nullopt if there is none.
  std::optional<std::uint64_t> number(std::uint64_t& at, std::uint64_t end) {
    std::uint64_t result = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
      const auto byte = static_cast<std::uint64_t>(byte_at(at++));
      result |= (byte & 0x7fU) << shift;
      if (byte < 0x80) return result;
    }
    return std::nullopt;
  }

  std::byte byte_at(std::uint64_t at) {
    if (at < begin_ || at - begin_ >= held_) {
      begin_ = at;
      held_ = std::min<std::uint64_t>(window_.size(), file_.size() - at);
      file_.read(at, std::span(window_).first(held_));
    }
    return window_[at - begin_];
  }

  const FileReader& file_;
  const std::uint32_t inner_;
  std::array<std::byte, 4096> window_;
  std::uint64_t begin_ = 0, held_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace

bool may_be_message(const FileReader& file, std::uint32_t inner) {
  return file.size() <= kLargeFileBytes || Fields(file, inner).well_formed(0, file.size(), true);
}

bool read_message(std::span<const std::byte> content, int depth, google::protobuf::MessageLite& out) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(content.data()),
                                            static_cast<int>(content.size()));
  in.SetTotalBytesLimit(static_cast<int>(content.size()));
  in.SetRecursionLimit(depth);
  const google::protobuf::LogSilencer quiet;
  return out.ParseFromCodedStream(&in) && in.ConsumedEntireMessage();
}

}  // namespace ferry
