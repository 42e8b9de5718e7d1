#include <algorithm>

#include "kernels/cpu/kernels.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

struct Suppression {
  std::int64_t most;
  double overlap, score;
  bool centres;
};

std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  return keep(Suppression{attrs.get<std::int64_t>("most"), attrs.get<double>("overlap"), attrs.get<double>("score"),
                          attrs.get<bool>("centres")});
}

std::int64_t scratch_bytes(const KernelSetup& setup) {
  const Shape& scores = setup.inputs[1].shape;
  return scores[scores.rank() - 1].size() * static_cast<std::int64_t>(sizeof(std::int64_t));
}

template <class T>
struct Box {
  T left, right, top, bottom;

  Box(const T* box, bool centres) {
    if (centres) {
      left = box[0] - box[2] / 2;
      right = box[0] + box[2] / 2;
      top = box[1] - box[3] / 2;
      bottom = box[1] + box[3] / 2;
    } else {
      left = std::min(box[1], box[3]);
      right = std::max(box[1], box[3]);
      top = std::min(box[0], box[2]);
      bottom = std::max(box[0], box[2]);
    }
  }
  [[nodiscard]] T area() const { return (right - left) * (bottom - top); }
};

/// The intersection of two boxes over their union; 0 if they do not intersect.
template <class T>
double overlap_of(const Box<T>& a, const Box<T>& b) {
  const T width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const T height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return 0;
  const T shared = width * height;
  return static_cast<double>(shared / (a.area() + b.area() - shared));
}

/// Appends the boxes of one image and class that are kept to `rows`, which has `found` rows. Returns the new number of
/// rows.
template <class T>
std::int64_t suppress(const T* boxes, std::span<const T> scores, const Suppression& how, std::int64_t* order,
                      std::int64_t image, std::int64_t of_class, std::int64_t* rows, std::int64_t found) {
  std::int64_t candidates = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (static_cast<double>(scores[i]) > how.score) order[candidates++] = static_cast<std::int64_t>(i);
  std::sort(order, order + candidates, [&](std::int64_t a, std::int64_t b) {
    const T x = scores[a], y = scores[b];
    return x != y ? x > y : a < b;
  });
  const std::int64_t first = found;
  for (std::int64_t i = 0; i < candidates && found - first < how.most; ++i) {
    const Box<T> box(boxes + order[i] * 4, how.centres);
    bool free = true;
    for (std::int64_t k = first; k < found && free; ++k)
      free = overlap_of(Box<T>(boxes + rows[k * 3 + 2] * 4, how.centres), box) <= how.overlap;
    if (!free) continue;
    std::int64_t* row = rows + found++ * 3;
    row[0] = image;
    row[1] = of_class;
    row[2] = order[i];
  }
  return found;
}

void non_max_suppression(KernelRun& run) {
  const Array &boxes = run.inputs[0], &scores = run.inputs[1];
  Array& output = run.outputs[0];
  const auto& how = kept<Suppression>(run);
  auto* order = reinterpret_cast<std::int64_t*>(run.scratch.data());
  const bool one = scores.rank() == 1;
  const std::int64_t images = one ? 1 : scores.sizes[0], classes = one ? 1 : scores.sizes[1], n = scores.sizes.back();
  std::int64_t found = 0;
  dispatch_floats(boxes.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t image = 0; image < images; ++image)
      for (std::int64_t c = 0; c < classes; ++c) {
        const std::span<const T> row(scores.as<const T>() + (image * classes + c) * n, static_cast<std::size_t>(n));
        found =
            suppress(boxes.as<const T>() + image * n * 4, row, how, order, image, c, output.as<std::int64_t>(), found);
      }
  });
  output.sizes[0] = found;
}

constexpr Kernel kKernels[] = {
    {.op = "NonMaxSuppression", .run = non_max_suppression, .prepare = prepare, .scratch_bytes = scratch_bytes},
};

}  // namespace

std::span<const Kernel> box_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
