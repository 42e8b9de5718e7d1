// PNG by libpng's simplified interface.
#include <png.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "kernels/cpu/data/image.hpp"

namespace ferry::cpu {
namespace {

/// Returns a copy of the file without the chunks that describe its color space. libpng would use these chunks to
/// convert the numbers to sRGB. Pillow and torchvision, which models are trained with, do not convert.
std::vector<std::byte> without_colors(std::span<const std::byte> file) {
  constexpr std::size_t kSignature = 8, kAround = 12;  // bytes of the signature; bytes of a chunk besides its data
  std::vector<std::byte> rest(file.begin(), file.begin() + std::min(file.size(), kSignature));
  for (std::size_t at = rest.size(); at < file.size();) {
    const auto left = file.subspan(at);
    std::uint64_t length = left.size();
    std::string_view type;
    if (left.size() >= kAround) {
      type = {reinterpret_cast<const char*>(left.data()) + 4, 4};
      length = kAround + std::uint64_t{png_get_uint_32(reinterpret_cast<png_const_bytep>(left.data()))};
    }
    const bool at_image = type == "IDAT";  // the chunks to remove are before the first IDAT
    const auto chunk = left.first(at_image ? left.size() : std::min<std::uint64_t>(length, left.size()));
    constexpr std::string_view kColors[] = {"gAMA", "cHRM", "sRGB", "iCCP", "cICP", "mDCV", "cLLI"};
    if (std::find(std::begin(kColors), std::end(kColors), type) == std::end(kColors))
      rest.insert(rest.end(), chunk.begin(), chunk.end());
    at += chunk.size();
  }
  return rest;
}

/// Whether the file has its last chunk. libpng reads an image without it if all rows are there.
bool has_end(std::span<const std::byte> file) {
  constexpr std::size_t kSignature = 8, kAround = 12;
  for (std::uint64_t at = kSignature; at + kAround <= file.size();) {
    const auto* const chunk = reinterpret_cast<png_const_bytep>(file.data() + at);
    if (std::string_view(reinterpret_cast<const char*>(chunk) + 4, 4) == "IEND") return true;
    at += kAround + std::uint64_t{png_get_uint_32(chunk)};
  }
  return false;
}

class Png final : public Image {
 public:
  Png(std::span<const std::byte> file, std::string_view name) : name_(name), file_(without_colors(file)) {
    png_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&png_, file_.data(), file_.size()) == 0) fail(png_.message);
    if (has_end(file)) return;
    png_image_free(&png_);
    fail("it is cut short, its end is missing");
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() override { png_image_free(&png_); }

  [[nodiscard]] ImageSize size() const override { return {png_.width, png_.height}; }

  [[nodiscard]] Pixels read(const ImageBox& box, const ImageSize& /*target*/) override {
    png_.format = PNG_FORMAT_RGBA;
    png_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // else libpng would take 16-bit images as linear in light
    Pixels pixels{FileBytes(std::uint64_t{PNG_IMAGE_SIZE(png_)}), png_.width, png_.height, box};
    if (png_image_finish_read(&png_, nullptr, pixels.bytes.data(), 0, nullptr) == 0) fail(png_.message);
    return pixels;
  }

 private:
  [[noreturn]] void fail(const char* why) const {
    throw Error(Code::file, "{:?} is no PNG image that can be read: {}", name_, as_is(why))
        .hint("replace the file or remove it");
  }

  std::string_view name_;
  std::vector<std::byte> file_;
  png_image png_{};
};

}  // namespace

std::unique_ptr<Image> open_png(std::span<const std::byte> file, std::string_view name) {
  return std::make_unique<Png>(file, name);
}

}  // namespace ferry::cpu
