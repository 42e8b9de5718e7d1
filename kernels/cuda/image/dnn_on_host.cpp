// Replaces cuDNN in tests by plain loops over the described arrays.
#include <algorithm>
#include <array>
#include <vector>

#include "base/error.hpp"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/image/dnn.hpp"
#include "kernels/cuda_on_host.hpp"

namespace ferry::cuda {
namespace {

bool dnn_is_offered = false;
std::int64_t dnn_runs = 0;

struct PlanOnHost final : DnnPlan {
  PlanOnHost(const DnnConvolution& given, std::uint32_t align, std::size_t bytes)
      : convolution(given), alignment(align), workspace_bytes(bytes) {}
  [[nodiscard]] std::string str() const override { return "plain loops"; }
  DnnConvolution convolution;
  std::uint32_t alignment;
  std::size_t workspace_bytes;
};

using Place = std::array<std::int64_t, 4>;

std::int64_t offset(const DnnArray& array, const Place& at) {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < at.size(); ++d) sum += at[d] * array.strides[d];
  return sum;
}

template <class F>
void for_each_place(const Place& sizes, const F& f) {
  for (std::int64_t a = 0; a < sizes[0]; ++a)
    for (std::int64_t b = 0; b < sizes[1]; ++b)
      for (std::int64_t c = 0; c < sizes[2]; ++c)
        for (std::int64_t d = 0; d < sizes[3]; ++d) f(Place{a, b, c, d});
}

/// Calls f(image, filter, output) for the places of the factors of each product, and of the sum to which it is added.
/// The order is the order of additions.
template <class F>
void for_each_product(const DnnConvolution& of, const F& f) {
  const std::int64_t outputs_of_group = of.filter.sizes[0] / (of.image.sizes[1] / of.filter.sizes[1]);
  for_each_place(of.output.sizes, [&](const Place& output) {
    for_each_place({1, of.filter.sizes[1], of.filter.sizes[2], of.filter.sizes[3]}, [&](const Place& tap) {
      Place image{output[0], output[1] / outputs_of_group * of.filter.sizes[1] + tap[1], 0, 0};
      for (std::size_t d = 0; d < 2; ++d) {
        image[2 + d] = output[2 + d] * of.strides[d] - of.before[d] + tap[2 + d] * of.dilations[d];
        if (image[2 + d] < 0 || image[2 + d] >= of.image.sizes[2 + d]) return;
      }
      f(image, Place{output[1], tap[1], tap[2], tap[3]}, output);
    });
  });
}

template <class T>
void compute(const DnnConvolution& of, T* image, T* filter, T* output) {
  const DnnArray& result = of.result == DnnResult::output  ? of.output
                           : of.result == DnnResult::image ? of.image
                                                           : of.filter;
  T* const to = of.result == DnnResult::output ? output : of.result == DnnResult::image ? image : filter;
  const Place last{result.sizes[0] - 1, result.sizes[1] - 1, result.sizes[2] - 1, result.sizes[3] - 1};
  std::vector<typename Computed<T>::type> sums(static_cast<std::size_t>(offset(result, last) + 1));
  for_each_product(of, [&](const Place& i, const Place& f, const Place& o) {
    const std::int64_t in_image = offset(of.image, i), in_filter = offset(of.filter, f);
    const std::int64_t in_output = offset(of.output, o);
    switch (of.result) {
      case DnnResult::output:
        sums[in_output] += load(image[in_image]) * load(filter[in_filter]);
        break;
      case DnnResult::image:
        sums[in_image] += load(output[in_output]) * load(filter[in_filter]);
        break;
      case DnnResult::filter:
        sums[in_filter] += load(output[in_output]) * load(image[in_image]);
        break;
    }
  });
  for_each_place(result.sizes, [&](const Place& at) {
    const std::int64_t place = offset(result, at);
    to[place] = stored_as<T>(sums[place]);
  });
}

/// cuDNN's rule for the number of outputs along a dim.
std::int64_t outputs_along(const DnnConvolution& of, std::size_t d) {
  const std::int64_t padded = of.image.sizes[2 + d] + of.before[d] + of.after[d];
  return (padded - (of.filter.sizes[2 + d] - 1) * of.dilations[d] - 1) / of.strides[d] + 1;
}

}  // namespace

void offer_dnn(bool is_there) {
  dnn_is_offered = is_there;
}

std::int64_t runs_of_dnn() {
  return dnn_runs;
}

std::string why_no_dnn() {
  return dnn_is_offered ? "" : "no library is offered";
}

std::unique_ptr<const DnnPlan> choose_plan(const DnnConvolution& convolution, std::uint32_t alignment,
                                           std::size_t workspace_bytes, const std::string& device) {
  const DnnConvolution& of = convolution;
  FERRY_ASSERT(device.empty(), "there is no such device");
  for (const DnnArray* array : {&of.image, &of.filter, &of.output})
    for (std::size_t d = 0; d < array->sizes.size(); ++d)
      FERRY_ASSERT(array->sizes[d] > 0 && array->strides[d] > 0, "an array has bad sizes");
  FERRY_ASSERT(of.image.sizes[0] == of.output.sizes[0] && of.filter.sizes[0] == of.output.sizes[1] &&
                   of.image.sizes[1] % of.filter.sizes[1] == 0 &&
                   of.filter.sizes[0] % (of.image.sizes[1] / of.filter.sizes[1]) == 0,
               "the sizes of a convolution do not fit each other");
  for (std::size_t d = 0; d < 2; ++d)
    FERRY_ASSERT(of.before[d] >= 0 && of.after[d] >= 0 && outputs_along(of, d) == of.output.sizes[2 + d],
                 "a convolution has another number of outputs");
  if (std::ranges::max(of.strides) > 6) return nullptr;  // tests the case that the library has no plan
  return std::make_unique<PlanOnHost>(convolution, alignment, workspace_bytes);
}

void convolve(const KernelRun& run, const DnnPlan& plan, std::byte* image, std::byte* filter, std::byte* output,
              std::span<std::byte> workspace) {
  const auto& chosen = static_cast<const PlanOnHost&>(plan);
  for (const std::byte* array : {image, filter, output})
    FERRY_ASSERT(reinterpret_cast<std::uintptr_t>(array) % chosen.alignment == 0, "an array is not aligned");
  FERRY_ASSERT(workspace.size() == chosen.workspace_bytes, "the workspace has another size");
  FERRY_ASSERT(reinterpret_cast<std::uintptr_t>(workspace.data()) % 256 == 0, "the workspace is not aligned");
  ++dnn_runs;
  detail::launch(run, [&chosen, image, filter, output, workspace] {
    std::ranges::fill(workspace, std::byte{0xff});
    dispatch_all_floats(chosen.convolution.dtype, [&](auto zero) {
      using T = decltype(zero);
      compute(chosen.convolution, reinterpret_cast<T*>(image), reinterpret_cast<T*>(filter),
              reinterpret_cast<T*>(output));
    });
  });
}

}  // namespace ferry::cuda
