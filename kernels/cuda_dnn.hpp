// The functions of cuDNN, NVIDIA's library of convolutions, that ferry uses. cuDNN makes plans without a GPU, so that
// tests can check plans.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "graph/types/dtype.hpp"
#include "kernels/shared/convolution.hpp"

namespace ferry::cuda {

/// An array of four dims as it is in memory: [images,channels,rows,columns], or for a filter [output channels, channels
/// of a group,rows,columns]. Strides are in elements.
struct DnnArray {
  std::array<std::int64_t, 4> sizes{}, strides{};
};

/// Which of the three arrays is computed from the two others.
enum class DnnResult { output, image, filter };

/// A convolution, or one of its gradients. Sums of 16-bit floats are float32. The number of groups is the image's
/// number of channels divided by the filter's. Arrays of two numbers are for rows and columns.
struct DnnConvolution {
  DnnResult result = DnnResult::output;
  DType dtype = DType::float32;  ///< a float
  DnnArray image, filter, output;
  std::array<std::int64_t, 2> strides{}, dilations{};
  std::array<std::int64_t, 2> before{}, after{};  ///< padding, at least 0
};

/// The reason why cuDNN cannot be used; empty: it can.
[[nodiscard]] std::string why_no_dnn();

/// The library's way to compute a convolution on a device.
class DnnPlan {
 public:
  virtual ~DnnPlan() = default;
  /// A description from the library's facts, for logs and tests.
  [[nodiscard]] virtual std::string str() const = 0;
};

/// The first plan among the library's suggestions that gives the same bits in every run and adds the convolution's
/// products in the dtype of sums. It uses neither TF32 nor transforms (Winograd, Fourier), which round differently. The
/// arrays must be aligned to `alignment` bytes, a power of 2 of at most 16. Null if the library has no such plan. The
/// call takes some time. `device`: the library's description, in JSON, of a device that this machine lacks; empty: the
/// current device.
[[nodiscard]] std::unique_ptr<const DnnPlan> choose_plan(const DnnConvolution& convolution, std::uint32_t alignment,
                                                         std::size_t workspace_bytes, const std::string& device = {});

/// Describes a convolution for the library. Nothing if it has no elements, or if the library cannot describe it: the
/// part of a split image may begin inside the first window, which would be a negative padding.
[[nodiscard]] std::optional<DnnConvolution> for_library(const Convolution& conv, DnnResult result, DType dtype);

/// The bytes of the library's working memory. The best plans for layers of usual networks need no more.
[[nodiscard]] std::int64_t workspace_bytes(const Convolution& conv, DnnResult result, DType dtype);

}  // namespace ferry::cuda
