#include "tests/support/image_files.hpp"

#include <png.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

#include <jpeglib.h>

namespace ferry::test {
namespace {

/// The bytes of a pixel, of `channels` channels: red, green and blue; its grey; or Adobe's complements of CMYK.
void put_pixel(const Rgb& rgb, int channels, JSAMPLE* to) {
  to[0] = static_cast<JSAMPLE>(rgb.red);
  if (channels > 1) to[1] = static_cast<JSAMPLE>(rgb.green), to[2] = static_cast<JSAMPLE>(rgb.blue);
  if (channels == 4) to[3] = 255;
}

}  // namespace

std::string jpeg_file(int width, int height, const PixelAt& pixel, const JpegOptions& options) {
  using Colours = JpegOptions::Colours;
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = options.colours == Colours::grey ? 1 : options.colours == Colours::rgb ? 3 : 4;
  jpeg.in_color_space = options.colours == Colours::grey  ? JCS_GRAYSCALE
                        : options.colours == Colours::rgb ? JCS_RGB
                                                          : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  if (options.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  const auto channels = static_cast<std::size_t>(jpeg.input_components);
  std::vector<JSAMPLE> row(static_cast<std::size_t>(width) * channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      put_pixel(pixel(x, y), jpeg.input_components, row.data() + static_cast<std::size_t>(x) * channels);
    JSAMPROW start = row.data();
    jpeg_write_scanlines(&jpeg, &start, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);  // NOLINT(cppcoreguidelines-no-malloc): libjpeg allocated it
  jpeg_destroy_compress(&jpeg);
  return file;
}

std::string png_file(int width, int height, const PixelAt& pixel, int type, bool deep, int greys) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string file;
  const auto append = [](png_structp p, png_bytep data, png_size_t count) {
    static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<const char*>(data), count);
  };
  png_set_write_fn(png, &file, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), deep ? 16 : 8, type,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_color palette[16];
  for (int i = 0; i < 16; ++i) {
    const auto grey = static_cast<png_byte>(17 * i);
    palette[i] = {grey, grey, grey};
  }
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, greys);
  png_set_check_for_invalid_index(png, 0);
  png_write_info(png, info);
  std::vector<png_byte> row;
  const auto put = [&](int value) {
    row.push_back(static_cast<png_byte>(value));
    if (deep) row.push_back(static_cast<png_byte>(value));  // 257 times the value
  };
  for (int y = 0; y < height; ++y) {
    row.clear();
    for (int x = 0; x < width; ++x) {
      const Rgb rgb = pixel(x, y);
      put(type == PNG_COLOR_TYPE_PALETTE ? (rgb.red + 8) / 17 : rgb.red);
      if (type == PNG_COLOR_TYPE_RGB || type == PNG_COLOR_TYPE_RGB_ALPHA) put(rgb.green), put(rgb.blue);
      if ((type & PNG_COLOR_MASK_ALPHA) != 0) put((x * 37 + y * 101) % 256);
    }
    png_write_row(png, row.data());
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

}  // namespace ferry::test
