#include "base/files/compress.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/process/loaded_library.hpp"

namespace ferry {
namespace {

/// The functions of libzstd that ferry uses.
struct Zstd {
  void* library = load_library("libzstd.so.1", "install zstd (libzstd1), or unpack the file");
  decltype(&ZSTD_createDCtx) create = function_of(library, "ZSTD_createDCtx");
  decltype(&ZSTD_freeDCtx) free = function_of(library, "ZSTD_freeDCtx");
  decltype(&ZSTD_decompressStream) decompress = function_of(library, "ZSTD_decompressStream");
  decltype(&ZSTD_isError) is_error = function_of(library, "ZSTD_isError");
  decltype(&ZSTD_getErrorName) error_name = function_of(library, "ZSTD_getErrorName");
};

const Zstd& zstd() {
  static const Zstd functions;
  return functions;
}

constexpr std::uint64_t kFirstOutput = 1u << 16;
constexpr std::array<unsigned char, 2> kGzipMagic = {0x1f, 0x8b};
constexpr std::array<unsigned char, 4> kZstdMagic = {0x28, 0xb5, 0x2f, 0xfd};
/// A skippable frame, with which pzstd begins its files. The lower four bits of the first byte are free (RFC 8878).
constexpr std::array<unsigned char, 4> kSkippableMagic = {0x50, 0x2a, 0x4d, 0x18};

Error damaged(std::string_view name, std::string_view kind, const std::string& why) {
  return Error(Code::file, "{:?}: {}: {}", name, as_is(kind), as_is(why));
}

// An output buffer that doubles its size as needed, up to a limit.
class Output {
 public:
  Output(std::uint64_t limit, std::string_view name, std::string_view kind)
      : limit_(limit), name_(name), kind_(kind), bytes_(std::min(limit, kFirstOutput)) {}

  /// The free bytes at the end of the buffer; empty at the limit.
  [[nodiscard]] std::span<std::byte> room() {
    if (used_ == bytes_.size() && used_ < limit_) bytes_.resize(used_ > limit_ / 2 ? limit_ : used_ * 2);
    return bytes_.span().subspan(used_);
  }
  void wrote(std::size_t count) { used_ += count; }
  [[noreturn]] void refuse() const {
    throw damaged(name_, kind_, "the content is larger than the limit of " + std::to_string(limit_) + " bytes");
  }
  [[nodiscard]] FileBytes take() {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  std::uint64_t limit_;
  std::string_view name_, kind_;
  FileBytes bytes_;
  std::size_t used_ = 0;
};

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();  // 16: expect gzip, and check its checksum
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream* operator->() { return &stream_; }
  z_stream* get() { return &stream_; }

 private:
  z_stream stream_{};
};

uInt part(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, 1u << 30));
}

// Calls inflate once, and advances `in` and `out`. If the output is full, inflate writes to one extra byte, which shows
// whether the content is too large or just ends.
int inflate_some(Inflater& inflater, std::span<const std::byte>& in, Output& out) {
  std::byte beyond{};
  const std::span<std::byte> room = out.room();
  const std::span<std::byte> target = room.empty() ? std::span(&beyond, 1) : room;
  inflater->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  inflater->avail_in = part(in.size());
  inflater->next_out = reinterpret_cast<Bytef*>(target.data());
  inflater->avail_out = part(target.size());
  const uInt in_before = inflater->avail_in, out_before = inflater->avail_out;
  const int result = inflate(inflater.get(), Z_NO_FLUSH);
  in = in.subspan(in_before - inflater->avail_in);
  const std::size_t written = out_before - inflater->avail_out;
  if (room.empty() && written > 0) out.refuse();
  out.wrote(written);
  return result;
}

std::string zlib_reason(Inflater& inflater, int result) {
  if (result == Z_BUF_ERROR || result == Z_OK) return "it is cut short";
  return inflater->msg == nullptr ? "zlib's error " + std::to_string(result) : std::string(inflater->msg);
}

}  // namespace

FileBytes gunzip(std::span<const std::byte> packed, std::uint64_t limit, std::string_view name) {
  Output out(limit, name, "gzip");
  Inflater inflater;
  while (true) {
    const int result = inflate_some(inflater, packed, out);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END) throw damaged(name, "gzip", zlib_reason(inflater, result));
    if (result == Z_OK) continue;
    while (!packed.empty() && packed.front() == std::byte{0}) packed = packed.subspan(1);  // padding of tape blocks
    if (packed.empty()) return out.take();
    inflateReset(inflater.get());  // another member
  }
}

FileBytes unzstd(std::span<const std::byte> packed, std::uint64_t limit, std::string_view name) {
  Output out(limit, name, "zstd");
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(zstd().create(), zstd().free);
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  while (true) {
    std::byte beyond{};
    const std::span<std::byte> room = out.room();
    ZSTD_outBuffer target{room.empty() ? &beyond : room.data(), room.empty() ? 1 : room.size(), 0};
    const std::size_t in_before = in.pos;
    const std::size_t result = zstd().decompress(context.get(), &target, &in);
    if (zstd().is_error(result) != 0) throw damaged(name, "zstd", zstd().error_name(result));
    if (room.empty() && target.pos > 0) out.refuse();
    out.wrote(target.pos);
    if (in.pos == in.size && result == 0) return out.take();
    if (in.pos == in_before && target.pos == 0) throw damaged(name, "zstd", "it is cut short");
  }
}

FileBytes maybe_decompress(FileBytes file, std::uint64_t limit, std::string_view name) {
  const auto begins_with = [&](std::span<const unsigned char> magic, unsigned bits_of_first = 0xff) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(file.data());
    return file.size() >= magic.size() && (bytes[0] & bits_of_first) == magic[0] &&
           std::equal(magic.begin() + 1, magic.end(), bytes + 1);
  };
  if (begins_with(kGzipMagic)) return gunzip(file.span(), limit, name);
  if (begins_with(kZstdMagic) || begins_with(kSkippableMagic, 0xf0)) return unzstd(file.span(), limit, name);
  if (file.size() <= limit) return file;
  throw Error(Code::file, "{:?}: too large: {} bytes, and the limit is {}", name, file.size(), limit);
}

FileBytes gzip(std::span<const std::byte> bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<z_stream, decltype(&deflateEnd)> end(&stream, &deflateEnd);
  FileBytes packed(std::uint64_t{deflateBound(&stream, static_cast<uLong>(bytes.size()))});
  std::size_t used = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream.avail_in = part(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data() + used);
    stream.avail_out = part(packed.size() - used);
    const uInt in_before = stream.avail_in, out_before = stream.avail_out;
    result = deflate(&stream, bytes.size() == in_before ? Z_FINISH : Z_NO_FLUSH);
    bytes = bytes.subspan(in_before - stream.avail_in);
    used += out_before - stream.avail_out;
  }
  FERRY_ASSERT(result == Z_STREAM_END, "deflate did not come to its end");
  packed.resize(used);
  return packed;
}

}  // namespace ferry
