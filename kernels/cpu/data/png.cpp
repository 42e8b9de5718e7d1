// PNG by libpng's simplified interface.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <new>
#include <optional>
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

// ---- Palettes: libpng's simplified interface takes colors beyond the palette as black ----

/// Whether the colors of the pixels are indices into a palette. `file` has a whole header.
bool has_palette(std::span<const std::byte> file) {
  constexpr std::size_t kColorType = 25;  // byte of the file
  return file[kColorType] == std::byte{PNG_COLOR_TYPE_PALETTE};
}

struct PaletteUse {
  int largest = -1;  ///< the largest index of a pixel
  int colors = 0;    ///< the number of colors of the palette
};

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto& rest = *static_cast<std::span<const std::byte>*>(png_get_io_ptr(png));
  if (rest.size() < count) png_error(png, "it is cut short");
  std::copy_n(reinterpret_cast<png_const_bytep>(rest.data()), count, to);
  rest = rest.subspan(count);
}

[[noreturn]] void jump(png_structp png, png_const_charp) {
  png_longjmp(png, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

/// Reads all pixels of `rest` for the indices. Returns false if libpng jumps here because the file is damaged. The
/// function has no objects with destructors, because a jump does not call them.
bool find_palette_use(png_structp png, png_infop info, std::vector<png_byte>& row, PaletteUse& use) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT(cert-err52-cpp): the interface of libpng
  png_read_info(png, info);
  png_colorp palette = nullptr;
  png_get_PLTE(png, info, &palette, &use.colors);
  if (use.colors >= 1 << png_get_bit_depth(png, info)) return true;  // no index is beyond
  png_set_packing(png);                                              // a byte for each pixel
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  row.resize(png_get_rowbytes(png, info));
  for (int pass = 0; pass < passes; ++pass)
    for (png_uint_32 y = 0; y < png_get_image_height(png, info); ++y) {
      png_read_row(png, row.data(), nullptr);  // changes only the pixels of this pass
      for (const png_byte index : row) use.largest = std::max<int>(use.largest, index);
    }
  return true;
}

/// The use of the palette in a file; nothing if the file is damaged.
std::optional<PaletteUse> palette_use(std::span<const std::byte> file) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, jump, ignore_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) throw std::bad_alloc();
  png_set_read_fn(png, &file, read_bytes);
  std::vector<png_byte> row;
  PaletteUse use;
  const bool whole = find_palette_use(png, info, row, use);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!whole) return std::nullopt;
  return use;
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
    check_palette();
    png_.format = PNG_FORMAT_RGBA;
    png_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // else libpng would take 16-bit images as linear in light
    Pixels pixels{FileBytes(std::uint64_t{PNG_IMAGE_SIZE(png_)}), png_.width, png_.height, box};
    if (png_image_finish_read(&png_, nullptr, pixels.bytes.data(), 0, nullptr) == 0) fail(png_.message);
    return pixels;
  }

 private:
  void check_palette() const {
    if (!has_palette(file_)) return;
    if (const auto use = palette_use(file_); use && use->largest >= use->colors)
      fail(formatted("a pixel has color {} of a palette of {}, 0 to {}", use->largest, use->colors, use->colors - 1));
  }
  [[noreturn]] void fail(const std::string& why) const {
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
