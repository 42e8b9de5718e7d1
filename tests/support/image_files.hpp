// JPEG and PNG files for tests, of pixels that a function gives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ferry::test {

struct Rgb {
  int red = 0, green = 0, blue = 0;
};
using PixelAt = std::function<Rgb(int x, int y)>;

struct JpegOptions {
  enum class Colours : std::uint8_t { rgb, grey, cmyk } colours = Colours::rgb;  ///< grey: `red` of each pixel
  bool progressive = false;
};
std::string jpeg_file(int width, int height, const PixelAt& pixel, const JpegOptions& options = {});

/// `type` is PNG's colour type, by which the channels are these of each pixel: 0 red as grey, 2 all, 3 a palette of the
/// 16 greys 0, 17, …, 255 (the one nearest to red), 4 and 6 as 0 and 2 with a random alpha. With `deep`, types 0, 2, 4
/// and 6 have 16 bits. The palette has only the first `greys`; pixels may have an index beyond it.
std::string png_file(int width, int height, const PixelAt& pixel, int type = 2, bool deep = false, int greys = 16);

}  // namespace ferry::test
