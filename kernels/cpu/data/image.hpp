// Decodes and scales parts of images from JPEG or PNG files. Any thread may call all functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/files/bytes.hpp"

namespace ferry::cpu {

struct ImageSize {
  std::int64_t width = 0, height = 0;
};

/// A rectangle within an image, in pixels. Its edges may cut pixels.
struct ImageBox {
  double left = 0, top = 0, width = 0, height = 0;
};

/// Some rows and columns of an image. A pixel has four bytes: red, green, blue, and an unused byte.
struct Pixels {
  static constexpr std::int64_t kChannels = 4;
  FileBytes bytes;
  std::int64_t columns = 0, rows = 0;
  ImageBox box = {};  ///< the requested box, in these pixels
};

/// An image after its header has been read. Holds the file's bytes by reference.
class Image {
 public:
  /// The most pixels that an image may have: a header of a few bytes can claim any size.
  static constexpr std::int64_t kMostPixels = std::int64_t{1} << 27;

  virtual ~Image() = default;
  [[nodiscard]] virtual ImageSize size() const = 0;
  /// Reads the pixels that the box touches. If the box is to be scaled to a much smaller `target`, the file may be
  /// decoded at a lower resolution. Call it once. Throws Error(file), with the file's name, if the file is damaged or
  /// cut short.
  [[nodiscard]] virtual Pixels read(const ImageBox& box, const ImageSize& target) = 0;
};

/// Detects the format from the file's first bytes. Grey, palette, CMYK and 16-bit images become RGB with 8 bits; alpha
/// is ignored. Throws Error(file), with the file's name, if it is no JPEG or PNG image, is damaged, or has more than
/// kMostPixels.
[[nodiscard]] std::unique_ptr<Image> open_image(std::span<const std::byte> file, std::string_view name);
[[nodiscard]] std::unique_ptr<Image> open_jpeg(std::span<const std::byte> file, std::string_view name);
[[nodiscard]] std::unique_ptr<Image> open_png(std::span<const std::byte> file, std::string_view name);

/// Scales the box to `size` by a triangle filter as wide as a pixel of the result (bilinear interpolation for
/// enlarging), as Pillow and torchvision do. Writes `rgb`, a uint8 [height, width, 3]; `mirrored` swaps left and right.
/// The bits are the same on every machine.
void scale_image(const Pixels& from, const ImageSize& size, bool mirrored, std::uint8_t* rgb);

}  // namespace ferry::cpu
