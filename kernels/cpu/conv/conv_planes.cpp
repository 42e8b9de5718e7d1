// Convolution plane by plane, for source channels with few target channels each (depthwise). Vectors hold consecutive
// positions. The elements under a block of positions are staged, sorted by their remainders modulo the strides, so that
// the elements under one tap are consecutive.
#include <algorithm>

#include "kernels/cpu/conv/conv.hpp"
#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/product/product_tile.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kStaged = 4096;    // the most elements under a block: they fit in the first-level cache
constexpr std::int64_t kTogether = 2048;  // positions of several small planes that are finished together

/// The least number of columns of a block for which vectors are worthwhile.
constexpr std::int64_t kLeastColumns = 16;

/// The number of rows, or columns, of the image under `outputs` adjacent outputs.
std::int64_t elements_under(const WindowSteps& steps, std::int64_t taps, std::int64_t outputs) {
  return (outputs - 1) * steps.stride + (taps - 1) * steps.dilation + 1;
}

/// The number of remainders modulo the stride: one more than the largest remainder of a tap.
std::int64_t remainders(const WindowSteps& steps, std::int64_t taps) {
  std::int64_t most = 0;
  for (std::int64_t k = 0; k < taps; ++k) most = std::max(most, k * steps.dilation % steps.stride);
  return most + 1;
}

/// The number of rows, or columns, of a stage for one remainder.
std::int64_t stage_size(const WindowSteps& steps, std::int64_t taps, std::int64_t outputs) {
  return (elements_under(steps, taps, outputs) + steps.stride - 1) / steps.stride;
}

void set_block(PlaneConv& planes, Plane block) {
  const Convolution& conv = planes.conv;
  planes.block = block;
  planes.part = {stage_size(conv.slide.rows, conv.filter.rows, block.rows),
                 stage_size(conv.slide.columns, conv.filter.columns, block.columns)};
}

bool fits(const PlaneConv& planes) {
  return planes.remainders.area() * planes.part.area() <= kStaged;
}

/// Chooses the largest block that fits, with whole rows if possible. Returns false if not even a short row fits.
bool choose_block(PlaneConv& planes) {
  const Plane& output = planes.conv.output;
  set_block(planes, {1, kLeastColumns});
  if (!fits(planes)) return false;
  std::int64_t columns = output.columns;
  while (set_block(planes, {1, columns}), !fits(planes)) columns = (columns + 1) / 2;
  std::int64_t rows = output.rows;
  while (set_block(planes, {rows, columns}), !fits(planes)) rows = (rows + 1) / 2;
  return true;
}

template <class T>
class Work {
 public:
  Work(const KernelRun& run, const PlaneConv& planes)
      : run_(run), planes_(planes), conv_(planes.conv), multiply_(product_tiles_of<T>().overlapping) {}

  void compute() const {
    const Plane &block = planes_.block, &output = conv_.output;
    const std::int64_t along = (output.columns + block.columns - 1) / block.columns;
    const std::int64_t blocks = (output.rows + block.rows - 1) / block.rows * along;
    const std::int64_t planes = run_.inputs[0].sizes[0] * conv_.groups;
    if (blocks == 1) {
      const std::int64_t together = std::max<std::int64_t>(1, kTogether / (conv_.out * output.area()));
      return for_chunks(run_.parallel, planes, together, [&](std::int64_t begin, std::int64_t end) {
        Stage stage;
        for (std::int64_t plane = begin; plane < end; ++plane) add(plane, 0, 0, output, stage);
        const std::int64_t size = conv_.out * output.area();
        finish_rows(run_, begin * size, size, end - begin, size);
      });
    }
    for_chunks(run_.parallel, planes * blocks, 1, [&](std::int64_t item, std::int64_t) {
      const std::int64_t plane = item / blocks, number = item % blocks;
      const std::int64_t row = number / along * block.rows, column = number % along * block.columns;
      const Plane here{std::min(block.rows, output.rows - row), std::min(block.columns, output.columns - column)};
      Stage stage;
      add(plane, row, column, here, stage);
      for (std::int64_t o = 0; o < conv_.out; ++o)
        finish_rows(run_, target(plane, o) + row * output.columns + column, here.columns, here.rows, output.columns);
    });
  }

 private:
  [[nodiscard]] std::int64_t target(std::int64_t plane, std::int64_t o) const {
    return (plane * conv_.out + o) * conv_.output.area();
  }

  /// The staged elements. They are zero where fill() copies no element of the image.
  struct alignas(64) Stage {
    T elements[kStaged + kMostLanes] = {};
  };

  /// Computes a block of all targets of one source channel. The stage may have been used before for the same block of
  /// another plane.
  void add(std::int64_t plane, std::int64_t row, std::int64_t column, const Plane& block, Stage& stage) const {
    alignas(64) T sums[kStaged + kMostLanes];
    fill(run_.inputs[0].as<const T>() + plane * conv_.image.area(), row, column, stage.elements);
    const T* weights = run_.inputs[1].as<const T>() + plane % conv_.groups * conv_.out * conv_.taps();
    const std::int64_t pitch = planes_.part.columns, positions = (block.rows - 1) * pitch + block.columns;
    for (std::int64_t o = 0; o < conv_.out; ++o, weights += conv_.taps()) {
      multiply_(conv_.taps(), weights, planes_.offsets.data(), stage.elements, positions, sums);
      T* to = run_.outputs[0].as<T>() + target(plane, o) + row * conv_.output.columns + column;
      copy_rows(
          {.rows = block.rows, .n = block.columns, .step = 1, .from_pitch = pitch, .to_pitch = conv_.output.columns},
          sums, to);
    }
  }

  /// Copies the elements under a block that are inside the image.
  void fill(const T* image, std::int64_t row, std::int64_t column, T* stage) const {
    const Plane& part = planes_.part;
    const WindowSteps &rows = conv_.slide.rows, &columns = conv_.slide.columns;
    for (std::int64_t v = 0; v < planes_.remainders.columns; ++v) {
      const WindowSteps along{.stride = columns.stride, .padding = -(columns.position(column, 0) + v)};
      const Span inside = along.inside(0, conv_.image.columns, part.columns);
      for (std::int64_t u = 0; u < planes_.remainders.rows; ++u, stage += part.area()) {
        const WindowSteps down{.stride = rows.stride, .padding = -(rows.position(row, 0) + u)};
        const Span here = down.inside(0, conv_.image.rows, part.rows);
        copy_rows({.rows = here.size(),
                   .n = inside.size(),
                   .step = columns.stride,
                   .from_pitch = rows.stride * conv_.image.columns,
                   .to_pitch = part.columns},
                  image + down.position(here.begin, 0) * conv_.image.columns + along.position(inside.begin, 0),
                  stage + here.begin * part.columns + inside.begin);
      }
    }
  }

  const KernelRun& run_;
  const PlaneConv& planes_;
  const Convolution& conv_;
  const OverlappingProduct<T> multiply_;
};

}  // namespace

std::optional<PlaneConv> plane_convolution(const Convolution& conv) {
  PlaneConv planes{.conv = conv, .offsets = {}};
  const WindowSteps &rows = conv.slide.rows, &columns = conv.slide.columns;
  planes.remainders = {remainders(rows, conv.filter.rows), remainders(columns, conv.filter.columns)};
  if (!choose_block(planes)) return std::nullopt;
  const Plane& part = planes.part;
  for (std::int64_t k = 0; k < conv.filter.rows; ++k)
    for (std::int64_t l = 0; l < conv.filter.columns; ++l) {
      const std::int64_t u = k * rows.dilation, v = l * columns.dilation;
      const std::int64_t remainder = v % columns.stride * planes.remainders.rows + u % rows.stride;
      planes.offsets.push_back(remainder * part.area() + u / rows.stride * part.columns + v / columns.stride);
    }
  return planes;
}

void convolve_planes(KernelRun& run, const PlaneConv& planes) {
  dispatch_floats(run.outputs[0].dtype, [&](auto zero) { Work<decltype(zero)>(run, planes).compute(); });
}

}  // namespace ferry::cpu
