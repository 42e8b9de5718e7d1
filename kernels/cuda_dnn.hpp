// The library of convolutions of CUDA devices, cuDNN, behind functions of ferry's own. It makes plans without a GPU, so
// that tests can look at them.
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

/// A convolution, or one of its gradients. Sums of 16-bit floats are float32. There are as many groups as a filter's
/// channels go into the image's. Pairs are of rows and columns.
struct DnnConvolution {
  DnnResult result = DnnResult::output;
  DType dtype = DType::float32;  ///< a float
  DnnArray image, filter, output;
  std::array<std::int64_t, 2> strides{}, dilations{};
  std::array<std::int64_t, 2> before{}, after{};  ///< padding, at least 0
};

/// Why there is no library of convolutions; empty: there is one.
[[nodiscard]] std::string why_no_dnn();

/// The library's way to compute a convolution on a device.
class DnnPlan {
 public:
  virtual ~DnnPlan() = default;
  /// What the library says of it, for people.
  [[nodiscard]] virtual std::string str() const = 0;
};

/// The first plan among the library's suggestions that gives the same bits in every run and adds the convolution's
/// products in the dtype of sums. It uses neither TF32 nor transforms (Winograd, Fourier), which round differently. For
/// arrays that are aligned to `alignment` bytes, a power of 2 of at most 16. Null if the library has none. Takes some
/// time. `device`: what the library has written of a device that this machine lacks; empty: the current one.
[[nodiscard]] std::unique_ptr<const DnnPlan> choose_plan(const DnnConvolution& convolution, std::uint32_t alignment,
                                                         std::size_t workspace_bytes, const std::string& device = {});

/// The convolution for the library. Nothing where it has no elements, or where the library has no words for it: parts
/// of split images may begin inside of the first window.
[[nodiscard]] std::optional<DnnConvolution> for_library(const Convolution& conv, DnnResult result, DType dtype);

/// The library's working memory: the plans that are best for layers of usual networks need no more.
[[nodiscard]] std::int64_t workspace_bytes(const Convolution& conv, DnnResult result, DType dtype);

}  // namespace ferry::cuda
