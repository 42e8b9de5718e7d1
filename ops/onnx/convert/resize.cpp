// Converters of ops that resize images.
#include "ops/image/resize.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/number_text.hpp"
#include "ops/array/array.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// Returns the choice with the name in the attribute.
template <class T>
T chosen(Context& c, std::string_view attribute, std::string_view otherwise,
         std::initializer_list<std::pair<std::string_view, T>> choices) {
  const std::string given = c.text(attribute, otherwise);
  for (const auto& [name, choice] : choices)
    if (given == name) return choice;
  Context::fail("attribute '" + std::string(attribute) + "' is '" + given + "'");
}

/// The node's mode. The linear mode has two names, and models use both.
Interpolation interpolation_of(Context& c) {
  return chosen<Interpolation>(c, "mode", "nearest",
                               {{"nearest", Interpolation::nearest},
                                {"linear", Interpolation::linear},
                                {"bilinear", Interpolation::linear},
                                {"cubic", Interpolation::cubic}});
}

/// The number of elements of a scaled dim. It is computed in single precision, as in onnxruntime.
std::int64_t scaled_size(std::int64_t size, double scale) {
  const float scaled = static_cast<float>(size) * static_cast<float>(scale);
  if (!(scaled >= 0 && scaled < 0x1p31F)) Context::fail("a scale of " + digits_text(scale, 6));
  return static_cast<std::int64_t>(std::floor(scaled));
}

std::vector<ResizedDim> scaled(Context& c, const Ints& axes, const Floats& scales) {
  if (scales.size() != axes.size())
    Context::fail(std::to_string(scales.size()) + " scales for " + std::to_string(axes.size()) + " dims");
  std::vector<ResizedDim> dims;
  for (std::size_t k = 0; k < axes.size(); ++k)
    if (scales[k] != 1) dims.push_back({axes[k], scaled_size(c.size(0, axes[k]), scales[k]), scales[k]});
  return dims;
}

Floats numbers_of(const Tensor& tensor) {
  Floats numbers;
  for (std::int64_t i = 0; i < tensor.count(); ++i) numbers.push_back(tensor.number(i));
  return numbers;
}

Ints all_axes(Context& c) {
  Ints axes(static_cast<std::size_t>(c.rank(0)));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Resizes input 0. As in onnxruntime, integers are interpolated in float32 and rounded toward zero, or with antialias
/// to the nearest integer.
Value resized(Context& c, const std::vector<ResizedDim>& dims, const Resizing& resizing) {
  const Value x = c.in(0);
  if (is_float(x.dtype()) || resizing.interpolation == Interpolation::nearest) return resize(x, dims, resizing);
  const Value y = resize(cast(x, DType::float32), dims, resizing);
  return cast(resizing.antialias ? floor(y + 0.5) : y, x.dtype());
}

/// Upsample, and the first version of Resize. Element i comes from i / scale: rounded up in dims that shrink, otherwise
/// rounded down, as in ONNX's test cases of these versions.
Outs upsampled(Context& c, const Floats& scales) {
  Resizing resizing;
  resizing.interpolation = interpolation_of(c);
  resizing.coordinates = Coordinates::asymmetric;
  std::vector<ResizedDim> dims = scaled(c, all_axes(c), scales);
  if (resizing.interpolation != Interpolation::nearest) return resized(c, dims, resizing);
  const auto larger =
      std::stable_partition(dims.begin(), dims.end(), [](const ResizedDim& dim) { return dim.scale < 1; });
  resizing.rounding = Rounding::ceil;
  const Value smaller = resize(c.in(0), {dims.begin(), larger}, resizing);
  resizing.rounding = Rounding::floor;
  return resize(smaller, {larger, dims.end()}, resizing);
}
Outs to_upsample_7(Context& c) {
  return upsampled(c, c.reals("scales"));
}
Outs to_upsample(Context& c) {
  return upsampled(c, numbers_of(c.constant(1)));
}

/// The dims with their new sizes. With a policy other than "stretch", all dims are scaled by the same factor.
std::vector<ResizedDim> sized(Context& c, const Ints& axes, const Ints& sizes, const std::string& policy) {
  if (sizes.size() != axes.size())
    Context::fail(std::to_string(sizes.size()) + " sizes for " + std::to_string(axes.size()) + " dims");
  std::vector<ResizedDim> dims;
  float least = INFINITY, most = 0;  // single precision, as in scaled_size()
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (sizes[k] < 1 || sizes[k] > (std::int64_t{1} << 31) || c.size(0, axes[k]) < 1)
      Context::fail("a size of " + std::to_string(sizes[k]) + " for " + std::to_string(c.size(0, axes[k])));
    dims.push_back({axes[k], sizes[k]});
    const float scale = static_cast<float>(sizes[k]) / static_cast<float>(c.size(0, axes[k]));
    least = std::min(least, scale);
    most = std::max(most, scale);
  }
  if (policy == "stretch") return dims;
  if (policy != "not_larger" && policy != "not_smaller") Context::fail("a policy of '" + policy + "'");
  for (ResizedDim& dim : dims) {
    const float scale = policy == "not_larger" ? least : most;
    dim.scale = scale;
    dim.size = static_cast<std::int64_t>(std::round(scale * static_cast<float>(c.size(0, dim.axis))));
  }
  return dims;
}

Resizing resizing_of(Context& c) {
  Resizing resizing;
  resizing.interpolation = interpolation_of(c);
  resizing.coordinates = chosen<Coordinates>(c, "coordinate_transformation_mode", "half_pixel",
                                             {{"half_pixel", Coordinates::half_pixel},
                                              {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
                                              {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
                                              {"tf_half_pixel_for_nn", Coordinates::half_pixel_floor},
                                              {"align_corners", Coordinates::align_corners},
                                              {"asymmetric", Coordinates::asymmetric},
                                              {"tf_crop_and_resize", Coordinates::crop}});
  resizing.rounding = chosen<Rounding>(c, "nearest_mode", "round_prefer_floor",
                                       {{"round_prefer_floor", Rounding::prefer_floor},
                                        {"round_prefer_ceil", Rounding::prefer_ceil},
                                        {"floor", Rounding::floor},
                                        {"ceil", Rounding::ceil}});
  resizing.cubic = c.real("cubic_coeff_a", -0.75);
  resizing.exclude_outside = c.integer("exclude_outside", 0) != 0;
  resizing.antialias = c.integer("antialias", 0) != 0;
  resizing.outside = c.real("extrapolation_value", 0);
  return resizing;
}

Outs to_resize(Context& c) {
  const Resizing resizing = resizing_of(c);
  const Ints axes = c.integers("axes", all_axes(c));
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  std::vector<ResizedDim> dims;
  const Tensor scales = c.has(2) ? c.constant(2) : Tensor();
  const bool by_scales = scales.defined() && scales.count() > 0;
  if (by_scales && c.has(3) && c.type(3).shape != Shape{std::int64_t{0}})
    Context::fail("it has both scales and sizes; remove one of the two inputs");
  dims = by_scales ? scaled(c, axes, numbers_of(scales)) : sized(c, axes, c.ints(3), policy);
  if (resizing.coordinates == Coordinates::crop) {
    const Floats roi = numbers_of(c.constant(1));
    if (roi.size() != 2 * axes.size()) Context::fail("roi has " + std::to_string(roi.size()) + " numbers");
    for (ResizedDim& dim : dims) {
      const auto k = static_cast<std::size_t>(std::find(axes.begin(), axes.end(), dim.axis) - axes.begin());
      dim.begin = roi[k];
      dim.end = roi[k + axes.size()];
    }
  }
  return resized(c, dims, resizing);
}

/// CenterCropPad: cuts or pads equally on both sides; an odd element is at the end.
Outs to_center_crop_pad(Context& c) {
  const Ints axes = c.integers("axes", all_axes(c)), wanted = c.ints(1);
  if (axes.size() != wanted.size()) Context::fail("axes and sizes of different lengths");
  Value y = c.in(0);
  Ints low(static_cast<std::size_t>(y.rank())), high = low;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const int axis = c.axis(0, axes[k]);
    if (wanted[k] < 0) Context::fail("a size of " + std::to_string(wanted[k]));
    const std::int64_t more = wanted[k] - c.size(0, axis);
    if (more < 0) y = slice(y, axis, -more / 2, -more / 2 + wanted[k]);
    if (more <= 0) continue;
    low[axis] = more / 2;
    high[axis] = more - more / 2;
  }
  return pad(y, low, high);
}

constexpr ConvertOp kResize[] = {
    {"CenterCropPad", 18, to_center_crop_pad},
    {"Resize", 10, to_upsample},
    {"Resize", 11, to_resize},
    {"Upsample", 7, to_upsample_7},
    {"Upsample", 9, to_upsample},
};

}  // namespace

std::span<const ConvertOp> resize_converters() {
  return kResize;
}

}  // namespace ferry::onnx
