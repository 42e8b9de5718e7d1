// JPEG by libjpeg-turbo. It reads all compressed data of an image, but computes only the box.
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <string>

#include <jpeglib.h>

#include <jerror.h>  // after jpeglib.h, which defines the version of the error codes

#include "base/error.hpp"
#include "base/format.hpp"
#include "kernels/cpu/data/image.hpp"

namespace ferry::cpu {
namespace {

constexpr std::string_view kEnd("\xff\xd9");  // the marker at the end of an image

class Jpeg final : public Image {
 public:
  Jpeg(std::span<const std::byte> file, std::string_view name);
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;
  ~Jpeg() override = default;

  [[nodiscard]] ImageSize size() const override { return {jpeg_.image_width, jpeg_.image_height}; }
  [[nodiscard]] Pixels read(const ImageBox& box, const ImageSize& target) override;

 private:
  struct Decompressor : jpeg_decompress_struct {
    Decompressor() : jpeg_decompress_struct{} {}  // jpeg_destroy_decompress() accepts zeros
    Decompressor(const Decompressor&) = delete;
    Decompressor& operator=(const Decompressor&) = delete;
    ~Decompressor() { jpeg_destroy_decompress(this); }
  };
  /// libjpeg's errors return to guarded() by longjmp().
  struct Errors : jpeg_error_mgr {
    std::jmp_buf back;
  };
  static void leave(j_common_ptr jpeg) { std::longjmp(static_cast<Errors*>(jpeg->err)->back, 1); }
  /// libjpeg's warnings about missing data count as errors, because libjpeg would invent the missing pixels.
  static void warn(j_common_ptr jpeg, int level) {
    const int what = jpeg->err->msg_code;
    if (level < 0 && (what == JWRN_JPEG_EOF || what == JWRN_HIT_MARKER)) leave(jpeg);
  }
  /// Calls f. It may call libjpeg, and must have no objects with destructors.
  template <class F>
  void guarded(const F& f) {
    if (setjmp(errors_.back) != 0) fail();  // NOLINT(cert-err52-cpp): libjpeg cannot be left in another way
    f();
  }
  [[noreturn]] void fail() {
    char why[JMSG_LENGTH_MAX];
    errors_.format_message(reinterpret_cast<j_common_ptr>(&jpeg_), why);
    refuse(why);
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(Code::file, "{:?} is no JPEG image that can be read: {}", name_, as_is(why))
        .hint("replace the file or remove it");
  }
  void choose_scale(const ImageBox& box, const ImageSize& target);
  void turn_to_rgb(std::span<std::byte> pixels) const;

  std::string_view name_;
  Errors errors_{};
  Decompressor jpeg_;
};

Jpeg::Jpeg(std::span<const std::byte> file, std::string_view name) : name_(name) {
  jpeg_.err = jpeg_std_error(&errors_);
  errors_.error_exit = leave;
  errors_.emit_message = warn;
  guarded([&] {
    jpeg_create_decompress(&jpeg_);
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&jpeg_, TRUE);
  });
  const std::string_view scans(reinterpret_cast<const char*>(jpeg_.src->next_input_byte), jpeg_.src->bytes_in_buffer);
  if (scans.rfind(kEnd) == std::string_view::npos) refuse("it is cut short, its end marker is missing");
}

/// Chooses the scale of decoding, in eighths of the image's size. At this scale the box has at least the pixels of the
/// target. Only halves, quarters and eighths are used: libjpeg-turbo has no vector code for other scales, which would
/// take longer than they save.
void Jpeg::choose_scale(const ImageBox& box, const ImageSize& target) {
  jpeg_.scale_denom = 8;
  jpeg_.scale_num = 8;
  const auto enough = [&](unsigned eighths) {
    return box.width * eighths >= static_cast<double>(target.width * 8) &&
           box.height * eighths >= static_cast<double>(target.height * 8);
  };
  for (const unsigned eighths : {4U, 2U, 1U})
    if (enough(eighths)) jpeg_.scale_num = eighths;
}

Pixels Jpeg::read(const ImageBox& box, const ImageSize& target) {
  choose_scale(box, target);
  const bool cmyk = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
  jpeg_.out_color_space = cmyk ? JCS_CMYK : JCS_EXT_RGBX;
  guarded([&] { jpeg_start_decompress(&jpeg_); });
  const double scale = jpeg_.scale_num / 8.0;
  Pixels pixels;
  pixels.box = {box.left * scale, box.top * scale, box.width * scale, box.height * scale};
  const auto edge = [](double at, JDIMENSION most) { return std::min(static_cast<JDIMENSION>(std::ceil(at)), most); };
  const auto top = static_cast<JDIMENSION>(pixels.box.top);
  const JDIMENSION bottom = edge(pixels.box.top + pixels.box.height, jpeg_.output_height);
  const JDIMENSION right = edge(pixels.box.left + pixels.box.width, jpeg_.output_width);
  auto left = static_cast<JDIMENSION>(pixels.box.left);
  JDIMENSION columns = right - left;
  guarded([&] {
    if (columns < jpeg_.output_width) jpeg_crop_scanline(&jpeg_, &left, &columns);
    if (top > 0) jpeg_skip_scanlines(&jpeg_, top);
  });
  pixels.box.left -= left;
  pixels.box.top -= top;
  pixels.columns = columns;
  pixels.rows = bottom - top;
  const std::size_t row_bytes = std::size_t{columns} * Pixels::kChannels;
  pixels.bytes = FileBytes(static_cast<std::uint64_t>(pixels.rows) * row_bytes);
  std::byte* const first = pixels.bytes.data();
  guarded([&] {
    while (jpeg_.output_scanline < bottom) {
      auto* row = reinterpret_cast<JSAMPROW>(first + (jpeg_.output_scanline - top) * row_bytes);
      jpeg_read_scanlines(&jpeg_, &row, 1);
    }
  });
  if (cmyk) turn_to_rgb(pixels.bytes.span());
  return pixels;
}

/// Converts CMYK to RGB. Adobe's programs, which write most CMYK files, store the complements of the four colors.
void Jpeg::turn_to_rgb(std::span<std::byte> pixels) const {
  const unsigned flip = jpeg_.saw_Adobe_marker != 0 ? 0 : 255;
  const auto light = [&](std::size_t at) { return std::to_integer<unsigned>(pixels[at]) ^ flip; };
  for (std::size_t at = 0; at < pixels.size(); at += Pixels::kChannels)
    for (std::size_t channel = 0; channel < 3; ++channel)
      pixels[at + channel] = static_cast<std::byte>((light(at + channel) * light(at + 3) + 127) / 255);
}

}  // namespace

std::unique_ptr<Image> open_jpeg(std::span<const std::byte> file, std::string_view name) {
  return std::make_unique<Jpeg>(file, name);
}

}  // namespace ferry::cpu
