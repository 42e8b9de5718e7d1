// Converters of ops that sample images at positions that are data.
#include "ops/image/sample.hpp"

#include "ops/array/reshape.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

Interpolation interpolation_of(const std::string& mode) {
  if (mode == "bilinear" || mode == "linear") return Interpolation::linear;
  if (mode == "bicubic" || mode == "cubic") return Interpolation::cubic;
  if (mode == "nearest") return Interpolation::nearest;
  Context::fail("a mode of '" + mode + "'");
}

Outside outside_of(const std::string& padding) {
  if (padding == "zeros") return Outside::zeros;
  if (padding == "border") return Outside::border;
  if (padding == "reflection") return Outside::reflection;
  Context::fail("a padding_mode of '" + padding + "'");
}

Outs to_grid_sample(Context& c) {
  Sampling sampling;
  sampling.interpolation = interpolation_of(c.text("mode", "linear"));
  sampling.outside = outside_of(c.text("padding_mode", "zeros"));
  sampling.align_corners = c.integer("align_corners", 0) != 0;
  const Value x = c.in(0);
  return grid_sample(x, c.in(1), sampling);
}

Outs to_affine_grid(Context& c) {
  const Ints sizes = c.ints(1);
  if (sizes.size() < 4) Context::fail("sizes of " + std::to_string(sizes.size()) + " dims");
  return affine_grid(c.in(0), {sizes.begin() + 2, sizes.end()}, c.integer("align_corners", 0) != 0);
}

Outs roi_aligned(Context& c, bool half_pixel) {
  Regions cut;
  cut.rows = c.integer("output_height", 1);
  cut.columns = c.integer("output_width", 1);
  cut.samples = c.integer("sampling_ratio", 0);
  cut.scale = c.real("spatial_scale", 1);
  cut.half_pixel = half_pixel;
  cut.largest = c.text("mode", "avg") == "max";
  const Value x = c.in(0);
  const Value regions = c.in(1);
  return roi_align(x, regions, c.in(2), cut);
}
Outs to_roi_align_10(Context& c) {
  return roi_aligned(c, false);
}
Outs to_roi_align(Context& c) {
  return roi_aligned(c, c.text("coordinate_transformation_mode", "half_pixel") == "half_pixel");
}

Outs to_deform_conv(Context& c) {
  Deforming deforming;
  deforming.sliding = {c.integers("strides"), c.integers("pads"), c.integers("dilations")};
  deforming.groups = c.integer("group", 1);
  deforming.offset_groups = c.integer("offset_group", 1);
  if (c.has(4)) deforming.mask = c.in(4);
  static_cast<void>(c.window_of(1));
  const Value x = c.in(0);
  const Value w = c.in(1);
  const Value y = deform_conv(x, w, c.in(2), deforming);
  if (!c.has(3)) return y;
  return y + expand_dims(c.in(3), {1, 2});
}

constexpr ConvertOp kSample[] = {
    {"AffineGrid", 20, to_affine_grid}, {"DeformConv", 19, to_deform_conv}, {"GridSample", 16, to_grid_sample},
    {"RoiAlign", 10, to_roi_align_10},  {"RoiAlign", 16, to_roi_align},
};

}  // namespace

std::span<const ConvertOp> sample_converters() {
  return kSample;
}

}  // namespace ferry::onnx
