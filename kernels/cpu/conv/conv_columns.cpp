// Convolution as products of matrices (im2col). The elements under a tile of output positions are copied into the
// columns of a matrix that fits in the cache, and multiplied by the filter. The gradients are similar products.
#include <algorithm>

#include "kernels/cpu/conv/taps.hpp"
#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/product/blas.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kColumnBytes = 640 << 10;  // the most bytes of the columns of a tile

/// The number of output positions of a tile, if the matrix of columns has `depth` rows.
std::int64_t tile_of(const Convolution& conv, std::int64_t depth, std::size_t element) {
  const std::int64_t fitting = kColumnBytes / std::max<std::int64_t>(1, depth * static_cast<std::int64_t>(element));
  return std::min(conv.output.area(), std::max<std::int64_t>(64, fitting / 16 * 16));
}

/// The adjoint of copy_taps(): adds each element to the position from which copy_taps() would read it.
template <class T>
void add_taps(const Convolution& conv, T* channel, std::int64_t u, std::int64_t v, std::int64_t begin, std::int64_t end,
              const T* from) {
  const std::int64_t stride = conv.slide.columns.stride;
  for_rows(conv, u, v, begin, end, [&](const Span&, const Span& filled, std::int64_t to) {
    const T* added = from + filled.begin;
    if (stride == 1)
      for (std::int64_t i = 0; i < filled.size(); ++i) channel[to + i] += added[i];
    else
      for (std::int64_t i = 0; i < filled.size(); ++i) channel[to + i * stride] += added[i];
  });
}

/// Returns the matrix of columns of channels [first, first + count) of an image at positions [begin, end). The matrix
/// is in `scratch`, or it is the image itself if conv.plain().
template <class T>
Matrix<T> columns(const Convolution& conv, const T* image, std::int64_t first, std::int64_t count, std::int64_t begin,
                  std::int64_t end, T* scratch) {
  const std::int64_t area = conv.image.area();
  if (conv.plain()) return {image + first * area + begin, area, false};
  T* to = scratch;
  for (std::int64_t c = first; c < first + count; ++c)
    for (std::int64_t u = 0; u < conv.filter.rows; ++u)
      for (std::int64_t v = 0; v < conv.filter.columns; ++v, to += end - begin)
        copy_taps(conv, image + c * area, u, v, begin, end, T(0), to);
  return {scratch, end - begin, false};
}

template <class T>
T* scratch_of(const KernelRun& run) {
  return reinterpret_cast<T*>(run.scratch.data());
}

// ---- The convolution: a product for each tile ----

template <class T>
void convolve(KernelRun& run, const Convolution& conv) {
  const T* x = run.inputs[0].as<const T>();
  const T* w = run.inputs[1].as<const T>();
  T* y = run.outputs[0].as<T>();
  const std::int64_t area = conv.output.area(), depth = conv.depth();
  const std::int64_t tile = tile_of(conv, depth, sizeof(T));
  const std::int64_t tiles = (area + tile - 1) / tile;
  in_lanes(
      run, conv.images * conv.groups * tiles, scratch_of<T>(run), depth * tile, [&](std::int64_t item, T* scratch) {
        const std::int64_t plane = item / tiles, group = plane % conv.groups;  // a plane is one group of an image
        const std::int64_t begin = item % tiles * tile, end = std::min(area, begin + tile);
        const Matrix<T> taps = columns(conv, x + plane * conv.in * conv.image.area(), 0, conv.in, begin, end, scratch);
        multiply(static_cast<int>(conv.out), static_cast<int>(end - begin), static_cast<int>(depth),
                 Matrix<T>{w + group * conv.out * depth, depth, false}, taps, y + plane * conv.out * area + begin,
                 area);
        finish_rows(run, plane * conv.out * area + begin, end - begin, conv.out, area);
      });
}

// ---- The image's gradient: the filter, transposed, times the output's gradient gives columns to be added ----

/// The number of blocks of channels that are computed separately, so that few images keep several threads busy.
std::int64_t channel_blocks(const Convolution& conv) {
  const std::int64_t planes = std::max<std::int64_t>(1, conv.images * conv.groups);
  return std::clamp<std::int64_t>((kScratchLanes + planes - 1) / planes, 1, std::max<std::int64_t>(1, conv.in));
}

template <class T>
void image_gradient(KernelRun& run, const Convolution& conv) {
  const T* dy = run.inputs[0].as<const T>();
  const T* w = run.inputs[1].as<const T>();
  T* dx = run.outputs[0].as<T>();
  const std::int64_t area = conv.output.area(), blocks = channel_blocks(conv);
  const std::int64_t most = (conv.in + blocks - 1) / blocks * conv.taps();
  const std::int64_t tile = tile_of(conv, most, sizeof(T));
  in_lanes(
      run, conv.images * conv.groups * blocks, scratch_of<T>(run), most * tile, [&](std::int64_t item, T* scratch) {
        const std::int64_t plane = item / blocks, group = plane % conv.groups, block = item % blocks;
        const std::int64_t first = conv.in * block / blocks, count = conv.in * (block + 1) / blocks - first;
        T* image = dx + (plane * conv.in + first) * conv.image.area();
        std::fill_n(image, count * conv.image.area(), T(0));
        const Matrix<T> filter{w + group * conv.out * conv.depth() + first * conv.taps(), conv.depth(), true};
        // Tiles are processed from the last to the first. The terms of an element are then added in the order of its
        // taps, so its bits do not depend on the tiles' borders.
        for (std::int64_t begin = (area - 1) / tile * tile; begin >= 0; begin -= tile) {
          const std::int64_t end = std::min(area, begin + tile);
          multiply(static_cast<int>(count * conv.taps()), static_cast<int>(end - begin), static_cast<int>(conv.out),
                   filter, Matrix<T>{dy + plane * conv.out * area + begin, area, false}, scratch, end - begin);
          const T* from = scratch;
          for (std::int64_t c = 0; c < count; ++c)
            for (std::int64_t u = 0; u < conv.filter.rows; ++u)
              for (std::int64_t v = 0; v < conv.filter.columns; ++v, from += end - begin)
                add_taps(conv, image + c * conv.image.area(), u, v, begin, end, from);
        }
        finish_rows(run, image - dx, conv.image.area(), count, conv.image.area());
      });
}

// ---- The filter's gradient: the output's gradient times the columns, transposed, added over tiles and images ----

/// How the work of the filter's gradient is divided: by blocks of channels or, if there are few blocks, by images. The
/// sums of the parts are added at the end.
struct FilterCut {
  std::int64_t blocks = 1, parts = 1;
};

FilterCut filter_cut(const Convolution& conv) {
  FilterCut cut;
  cut.blocks = std::clamp<std::int64_t>(kScratchLanes / conv.groups, 1, std::max<std::int64_t>(1, conv.in));
  if (cut.blocks * conv.groups < kScratchLanes / 2) {
    cut.blocks = 1;
    cut.parts = std::clamp<std::int64_t>(kScratchLanes / conv.groups, 1, std::max<std::int64_t>(1, conv.images));
  }
  return cut;
}

template <class T>
void filter_gradient(KernelRun& run, const Convolution& conv) {
  const T* dy = run.inputs[0].as<const T>();
  const T* x = run.inputs[1].as<const T>();
  T* dw = run.outputs[0].as<T>();
  const std::int64_t area = conv.output.area(), depth = conv.depth();
  const FilterCut cut = filter_cut(conv);
  const std::int64_t most = (conv.in + cut.blocks - 1) / cut.blocks * conv.taps();
  const std::int64_t tile = tile_of(conv, most, sizeof(T));
  const std::int64_t weights = conv.groups * conv.out * depth;
  T* const sums = scratch_of<T>(run) + kScratchLanes * most * tile;  // the sums of all parts except the first
  in_lanes(
      run, cut.parts * conv.groups * cut.blocks, scratch_of<T>(run), most * tile, [&](std::int64_t item, T* scratch) {
        const std::int64_t block = item % cut.blocks, group = item / cut.blocks % conv.groups;
        const std::int64_t part = item / cut.blocks / conv.groups;
        const std::int64_t first = conv.in * block / cut.blocks, count = conv.in * (block + 1) / cut.blocks - first;
        T* to = (part == 0 ? dw : sums + (part - 1) * weights) + group * conv.out * depth + first * conv.taps();
        bool add = false;
        for (std::int64_t n = conv.images * part / cut.parts; n < conv.images * (part + 1) / cut.parts; ++n) {
          const std::int64_t plane = n * conv.groups + group;
          for (std::int64_t begin = 0; begin < area; begin += tile, add = true) {
            const std::int64_t end = std::min(area, begin + tile);
            Matrix<T> taps = columns(conv, x + plane * conv.in * conv.image.area(), first, count, begin, end, scratch);
            taps.transposed = true;
            multiply(static_cast<int>(conv.out), static_cast<int>(count * conv.taps()), static_cast<int>(end - begin),
                     Matrix<T>{dy + plane * conv.out * area + begin, area, false}, taps, to, depth, add);
          }
        }
      });
  for (std::int64_t part = 1; part < cut.parts; ++part) {
    const T* more = sums + (part - 1) * weights;
#pragma omp simd
    for (std::int64_t i = 0; i < weights; ++i) dw[i] += more[i];
  }
}

/// The bytes of the columns of all lanes. They suffice for any block of channels and any number of images: a tile has
/// 64 positions or fits into kColumnBytes.
std::int64_t column_bytes(const Convolution& conv, std::int64_t element) {
  const std::int64_t of_lane = std::max(conv.depth() * 64, kColumnBytes / element);
  return kScratchLanes * std::min(conv.depth() * conv.output.area(), of_lane) * element;
}

}  // namespace

void convolve_by_columns(KernelRun& run, const Convolution& conv) {
  dispatch_floats(run.outputs[0].dtype, [&](auto zero) { convolve<decltype(zero)>(run, conv); });
}

void image_gradient_by_columns(KernelRun& run, const Convolution& conv) {
  dispatch_floats(run.outputs[0].dtype, [&](auto zero) { image_gradient<decltype(zero)>(run, conv); });
}

void filter_gradient_by_columns(KernelRun& run, const Convolution& conv) {
  dispatch_floats(run.outputs[0].dtype, [&](auto zero) { filter_gradient<decltype(zero)>(run, conv); });
}

std::int64_t columns_scratch(const Convolution& conv, std::int64_t element, bool plain) {
  return plain ? 0 : column_bytes(conv, element);
}

std::int64_t image_gradient_columns_scratch(const Convolution& conv, std::int64_t element) {
  return column_bytes(conv, element);
}

std::int64_t filter_gradient_columns_scratch(const Convolution& conv, std::int64_t element) {
  const std::int64_t sums = (filter_cut(conv).parts - 1) * conv.groups * conv.out * conv.depth();
  return column_bytes(conv, element) + sums * element;
}

}  // namespace ferry::cpu
