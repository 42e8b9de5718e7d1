// Random augmentation of each image of a batch.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/data/data_kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/random_key.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

struct Augment {
  std::uint64_t key;
  int height, width;  ///< the dims of the height and the width
  std::int64_t padding;
};

/// The images of a batch. Each is [planes, height, width] elements. An element has `element` bytes: all dims after the
/// width.
struct Images {
  Images(const KernelRun& run, const Augment& augment) : philox{augment.key, random_time(run)} {
    const Array& x = run.inputs[0];
    planes = product(x.sizes, 1, augment.height);
    height = x.sizes[augment.height];
    width = x.sizes[augment.width];
    element = product(x.sizes, augment.width + 1, x.rank()) * static_cast<std::int64_t>(size_of(x.dtype));
    row = width * element;
    image = planes * height * row;
    first = x.begin[0];
  }
  /// The random numbers of image `i` of this part. They depend on the image's place in the whole batch.
  [[nodiscard]] Philox::Block drawn(std::int64_t i) const {
    return philox.block(static_cast<std::uint64_t>(first + i));
  }

  Philox philox;
  std::int64_t planes, height, width, element, row, image, first;
};

template <class Each>
void for_images(const KernelRun& run, const Images& images, const Each& each) {
  if (images.image == 0) return;
  const std::byte* from = run.inputs[0].data;
  std::byte* to = run.outputs[0].data;
  for_chunks(run.parallel, run.inputs[0].sizes[0], grain_of(images.image), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) each(images.drawn(i), from + i * images.image, to + i * images.image);
  });
}

std::size_t bytes(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

void flip(KernelRun& run) {
  const Images images(run, kept<Augment>(run));
  for_images(run, images, [&](const Philox::Block& drawn, const std::byte* from, std::byte* to) {
    if ((drawn[0] & 1) == 0) {
      std::memcpy(to, from, bytes(images.image));
      return;
    }
    for (std::int64_t row = 0; row < images.image; row += images.row)
      for (std::int64_t x = 0; x < images.width; ++x)
        std::memcpy(to + row + x * images.element, from + row + (images.width - 1 - x) * images.element,
                    bytes(images.element));
  });
}

/// Writes a row of the output: the image's row from column `right` on, and zeros for the padding. `right` may be
/// negative.
void crop_row(const Images& images, std::int64_t right, const std::byte* from, std::byte* to) {
  const std::int64_t left = std::clamp<std::int64_t>(-right, 0, images.width) * images.element;
  const std::int64_t begin = std::clamp<std::int64_t>(right, 0, images.width) * images.element;
  const std::int64_t count = images.row - left - begin;
  std::memset(to, 0, bytes(left));
  std::memcpy(to + left, from + begin, bytes(count));
  std::memset(to + left + count, 0, bytes(begin));
}

void crop(KernelRun& run) {
  const auto& augment = kept<Augment>(run);
  const Images images(run, augment);
  const auto offset = [&](std::uint32_t drawn) {
    return static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(2 * augment.padding + 1)) - augment.padding;
  };
  for_images(run, images, [&](const Philox::Block& drawn, const std::byte* from, std::byte* to) {
    const std::int64_t down = offset(drawn[0]), right = offset(drawn[1]);
    for (std::int64_t row = 0; row < images.planes * images.height; ++row) {
      const std::int64_t y = row % images.height + down;
      if (y < 0 || y >= images.height)
        std::memset(to + row * images.row, 0, bytes(images.row));
      else
        crop_row(images, right, from + (row + down) * images.row, to + row * images.row);
    }
  });
}

std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  const int height = dim_of(setup.attrs.get<std::int64_t>("axis"), setup.inputs[0].shape.rank());
  return keep(Augment{random_key(setup), height, height + 1, setup.attrs.get_or<std::int64_t>("padding", 0)});
}

constexpr Kernel kKernels[] = {
    {.op = "RandomFlip", .run = flip, .prepare = prepare, .takes = kAnyType},
    {.op = "RandomCrop", .run = crop, .prepare = prepare, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> augment_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
