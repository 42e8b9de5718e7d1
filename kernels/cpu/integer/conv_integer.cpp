// Convolutions of 8-bit integers: the filter's rows times columns of the image under the filter (im2col). The columns
// are packed in panels while they are copied.
#include <algorithm>

#include "base/error.hpp"
#include "kernels/cpu/conv/taps.hpp"
#include "kernels/cpu/integer/byte_product.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

enum Input : std::size_t { kImage, kFilter, kImageZero, kFilterZero, kPacked };

constexpr std::int64_t kMostPanels = 4;  // the most panels of a tile
constexpr std::int64_t kStage = kTogether * kMostPanels * kPanelColumns;

struct Conv {
  Slide slide;
  std::int64_t groups;
  const ByteLoops& loops;
};

ConvOperands operands(const KernelSetup& setup) {
  return {.image = kImage, .filter = kFilter, .output = setup.inputs.size()};
}

std::int64_t filter_bytes(std::int64_t rows, std::int64_t depth) {
  constexpr std::int64_t kLine = 64;
  return (rows * packed_row(depth) + kLine - 1) / kLine * kLine;
}

std::int64_t lane_bytes(std::int64_t depth) {
  return kMostPanels * packed_panel(depth) + kStage;
}

/// The number of panels of one tile of positions. It is lower if there would not be a tile for each lane.
std::int64_t panels_together(const Convolution& conv) {
  const std::int64_t all = conv.images * conv.groups * panels_of(conv.output.area());
  return std::clamp(all / kScratchLanes, std::int64_t{1}, kMostPanels);
}

void conv_integer(KernelRun& run) {
  const Array &x = run.inputs[kImage], &w = run.inputs[kFilter];
  Array& output = run.outputs[0];
  output.sizes[0] = x.sizes[0];
  const auto& state = kept<Conv>(run);
  const Convolution conv = conv_of(x, w, output, state.slide, state.groups);
  if (output.count() == 0) return;
  const std::int64_t depth = conv.depth(), area = conv.output.area(), row = packed_row(depth);
  const bool is_packed = run.inputs.size() > kPacked;
  const std::byte* const filter = is_packed ? run.inputs[kPacked].data : run.scratch.data();
  if (!is_packed) pack_rows(state.loops, run.parallel, w.sizes[0], depth, w.dtype, w.data, run.scratch.data());

  const ZeroPoints image_zero(run.inputs[kImageZero]), filter_zeros(run.inputs[kFilterZero]);
  const std::int64_t together = panels_together(conv), tile = together * kPanelColumns;
  const std::int64_t tiles = (area + tile - 1) / tile;
  const auto compute = [&](std::int64_t item, std::byte* panels) {
    const std::int64_t plane = item / tiles, first_row = plane % conv.groups * conv.out;
    const std::int64_t begin = item % tiles * tile, end = std::min(area, begin + tile);
    auto* const stage = reinterpret_cast<std::uint8_t*>(panels + kMostPanels * packed_panel(depth));
    const std::int64_t count = panels_of(end - begin);
    const auto columns_of = [&](std::int64_t panel) {
      return static_cast<int>(std::min<std::int64_t>(kPanelColumns, end - begin - panel * kPanelColumns));
    };
    PanelPacker packers[kMostPanels];
    for (std::int64_t p = 0; p < count; ++p)
      packers[p] = PanelPacker(state.loops, depth, x.dtype, panels + p * packed_panel(depth));
    int staged = 0;
    const auto pack = [&] {
      for (std::int64_t p = 0; p < count; ++p) packers[p].add(stage + p * kPanelColumns, tile, columns_of(p));
      staged = 0;
    };
    const std::uint8_t* channel = x.as<const std::uint8_t>() + plane * conv.in * conv.image.area();
    for (std::int64_t c = 0; c < conv.in; ++c, channel += conv.image.area())
      for (std::int64_t u = 0; u < conv.filter.rows; ++u)
        for (std::int64_t v = 0; v < conv.filter.columns; ++v) {
          copy_taps(conv, channel, u, v, begin, end, *image_zero.bytes, stage + staged * tile);
          if (++staged == kTogether) pack();
        }
    if (staged > 0) pack();
    for (std::int64_t p = 0; p < count; ++p)
      multiply_panel(state.loops, conv.out, depth, columns_of(p), filter + first_row * row,
                     panels + p * packed_panel(depth), filter_zeros.from(first_row), image_zero,
                     output.as<std::int32_t>() + plane * conv.out * area + begin + p * kPanelColumns, area);
  };
  std::byte* const lanes = run.scratch.data() + (is_packed ? 0 : filter_bytes(w.sizes[0], depth));
  in_lanes(run, conv.images * conv.groups * tiles, lanes, lane_bytes(depth), compute);
}

template <int level>
std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  return keep(Conv{slide_here(setup, operands(setup)), setup.attrs.get<std::int64_t>("groups"), byte_loops_of(level)});
}

std::int64_t scratch_bytes(const KernelSetup& setup) {
  const Convolution conv = conv_of(setup, operands(setup));
  const std::int64_t filter = setup.inputs.size() > kPacked ? 0 : filter_bytes(conv.groups * conv.out, conv.depth());
  return filter + kScratchLanes * lane_bytes(conv.depth());
}

std::int64_t packed_elements(const Type& filter) {
  const std::vector<std::int64_t> sizes = filter.shape.sizes();
  return sizes[0] * packed_row(product(sizes, 1, static_cast<int>(sizes.size())));
}

/// Checks inputs and outputs itself, because no op definition does it for this kernel.
template <int level>
std::unique_ptr<KernelState> prepare_packing(const KernelSetup& setup) {
  const bool one = setup.inputs.size() == 1 && setup.outputs.size() == 1;
  const Type filter = one ? setup.inputs[0] : Type(), packed = one ? setup.outputs[0] : Type();
  if (filter.shape.rank() != 4 || size_of(filter.dtype) != 1 || packed.dtype != filter.dtype ||
      packed.shape.count() != packed_elements(filter))
    throw Error(Code::plan, "PackedRows: it cannot make " + packed.str() + " of " + filter.str());
  return keep(&byte_loops_of(level));
}

void packed_filter(KernelRun& run) {
  const Array& filter = run.inputs[0];
  pack_rows(*kept<const ByteLoops*>(run), run.parallel, filter.sizes[0], product(filter.sizes, 1, 4), filter.dtype,
            filter.data, run.outputs[0].data);
}

template <int level>
constexpr Kernel kKernels[2] = {
    {.op = "Conv2DInteger",
     .run = conv_integer,
     .prepare = prepare<level>,
     .scratch_bytes = scratch_bytes,
     .takes = kBytesAndSums,
     .packing = {kFilter, "PackedRows",
                 [](const KernelSetup& setup) { return packed_elements(setup.inputs[kFilter]); }}},
    {.op = "PackedRows", .run = packed_filter, .prepare = prepare_packing<level>, .takes = kBytesAndSums},
};

}  // namespace

std::span<const Kernel> conv_integer_kernels(int level) {
  return level == 4 ? kKernels<4> : level == 3 ? kKernels<3> : kKernels<1>;
}

}  // namespace ferry::cpu
