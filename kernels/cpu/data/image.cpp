#include "kernels/cpu/data/image.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace ferry::cpu {
namespace {

constexpr int kWeightBits = 14;
constexpr int kOne = 1 << kWeightBits;

/// The pixels of a row or column from which one pixel of the result is computed, and the place of their weights.
struct Taps {
  std::int64_t first = 0, count = 0;
  std::size_t weights = 0;
};

/// The taps of all pixels of the result along one dim. The weights of each sum up to kOne, so that no result exceeds
/// the range of the pixels.
struct Filter {
  Filter(double begin, double extent, std::int64_t pixels, std::int64_t places) {
    const double scale = extent / static_cast<double>(places), reach = std::max(scale, 1.0);
    const auto low = static_cast<std::int64_t>(begin);
    const auto high = std::min(static_cast<std::int64_t>(std::ceil(begin + extent)), pixels);
    for (std::int64_t place = 0; place < places; ++place) {
      const double centre = begin + (static_cast<double>(place) + 0.5) * scale;
      const std::int64_t first = std::max<std::int64_t>(low, std::lround(centre - reach));
      const std::int64_t last = std::min<std::int64_t>(high, std::lround(centre + reach));
      taps.push_back({first, last - first, weights.size()});
      const auto height = [&](std::int64_t pixel) {
        return std::max(reach - std::abs(static_cast<double>(pixel) + 0.5 - centre), 0.0);
      };
      double whole = 0, sum = 0;
      for (std::int64_t pixel = first; pixel < last; ++pixel) whole += height(pixel);
      int given = 0;
      for (std::int64_t pixel = first; pixel < last; ++pixel) {
        sum += height(pixel);
        const auto until = static_cast<int>(std::lround(sum / whole * kOne));
        weights.push_back(static_cast<std::int16_t>(until - given));
        given = until;
      }
    }
  }

  std::vector<Taps> taps;
  std::vector<std::int16_t> weights;
};

constexpr std::int64_t kBlock = 32;  // bytes of a row; the sums of these bytes stay in registers

/// Computes one row of weighted sums over rows of pixels, times kOne.
void sum_rows(const std::uint8_t* pixels, std::int64_t row_bytes, std::span<const std::int16_t> weights, float* sums) {
  const auto block = [&](std::int64_t begin, std::int64_t count) {
    std::int32_t sum[kBlock] = {};
    const std::uint8_t* from = pixels + begin;
    for (const std::int16_t weight : weights) {
      for (std::int64_t x = 0; x < count; ++x) sum[x] += weight * static_cast<std::int16_t>(from[x]);
      from += row_bytes;
    }
    for (std::int64_t x = 0; x < count; ++x) sums[begin + x] = static_cast<float>(sum[x]);
  };
  std::int64_t begin = 0;
  for (; begin + kBlock <= row_bytes; begin += kBlock) block(begin, kBlock);
  if (begin < row_bytes) block(begin, row_bytes - begin);
}

using PixelSums = float __attribute__((vector_size(16)));
using PixelValues = std::int32_t __attribute__((vector_size(16)));

}  // namespace

void scale_image(const Pixels& from, const ImageSize& size, bool mirrored, std::uint8_t* rgb) {
  const Filter down(from.box.top, from.box.height, from.rows, size.height);
  const Filter across(from.box.left, from.box.width, from.columns, size.width);
  const std::int64_t row_bytes = from.columns * Pixels::kChannels;
  std::vector<float> row(static_cast<std::size_t>(row_bytes));
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(from.bytes.data());
  for (const Taps& rows : down.taps) {
    sum_rows(pixels + rows.first * row_bytes, row_bytes,
             std::span(down.weights).subspan(rows.weights, static_cast<std::size_t>(rows.count)), row.data());
    for (std::int64_t x = 0; x < size.width; ++x) {
      const Taps& columns = across.taps[x];
      const float* pixel = row.data() + columns.first * Pixels::kChannels;
      const std::int16_t* weight = across.weights.data() + columns.weights;
      PixelSums sum{};
      for (std::int64_t k = 0; k < columns.count; ++k, pixel += Pixels::kChannels)
        sum += PixelSums{pixel[0], pixel[1], pixel[2], pixel[3]} * static_cast<float>(weight[k]);
      const auto values = __builtin_convertvector(sum * (1.0F / kOne / kOne) + 0.5F, PixelValues);
      std::uint8_t* to = rgb + (mirrored ? size.width - 1 - x : x) * 3;
      for (int channel = 0; channel < 3; ++channel) to[channel] = static_cast<std::uint8_t>(values[channel]);
    }
    rgb += size.width * 3;
  }
}

std::unique_ptr<Image> open_image(std::span<const std::byte> file, std::string_view name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  std::unique_ptr<Image> image;
  if (text.starts_with("\xff\xd8\xff"))
    image = open_jpeg(file, name);
  else if (text.starts_with("\x89PNG"))
    image = open_png(file, name);
  else
    throw Error(Code::file, "{:?}{}", name, file.empty() ? " is empty" : " is neither a JPEG nor a PNG image")
        .hint("convert the file or remove it");
  const auto [width, height] = image->size();
  if (width > Image::kMostPixels / height)
    throw Error(Code::file, "{:?} claims {} x {} pixels, and an image may have {}", name, width, height,
                Image::kMostPixels)
        .hint("scale the image down or remove the file");
  return image;
}

}  // namespace ferry::cpu
