// PNG by libpng's simplified interface.
#include <png.h>

#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/cpu/data/image.hpp"

namespace ferry::cpu {
namespace {

class Png final : public Image {
 public:
  Png(std::span<const std::byte> file, std::string_view name) : name_(name) {
    png_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&png_, file.data(), file.size()) == 0) fail();
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() override { png_image_free(&png_); }

  [[nodiscard]] ImageSize size() const override { return {png_.width, png_.height}; }

  [[nodiscard]] Pixels read(const ImageBox& box, const ImageSize& /*target*/) override {
    png_.format = PNG_FORMAT_RGBA;
    png_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // else 16-bit images would count as linear in light
    Pixels pixels{FileBytes(std::uint64_t{PNG_IMAGE_SIZE(png_)}), png_.width, png_.height, box};
    if (png_image_finish_read(&png_, nullptr, pixels.bytes.data(), 0, nullptr) == 0) fail();
    return pixels;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(Code::file, in_quotes(name_) + " is no PNG image that can be read: " + png_.message)
        .hint("replace the file or remove it");
  }

  std::string_view name_;
  png_image png_{};
};

}  // namespace

std::unique_ptr<Image> open_png(std::span<const std::byte> file, std::string_view name) {
  return std::make_unique<Png>(file, name);
}

}  // namespace ferry::cpu
