#include <algorithm>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/state.hpp"
#include "kernels/shared/top_line.hpp"

namespace ferry::cpu {
namespace {

// ---- TopK ----

struct TopKState {
  std::int64_t axis;
  bool largest;
};

std::unique_ptr<KernelState> prepare_top_k(const KernelSetup& setup) {
  return keep(TopKState{setup.attrs.get<std::int64_t>("axis"), setup.attrs.get<bool>("largest")});
}

void top_k(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array &values = run.outputs[0], &indices = run.outputs[1];
  const auto& best = kept<TopKState>(run);
  const int dim = dim_of(best.axis, input.rank());
  if (input.rank() > 0)
    values.sizes[0] = indices.sizes[0] = dim > 0 ? input.sizes[0] : std::min(values.sizes[0], input.sizes[0]);
  const std::int64_t n = input.sizes[dim];
  const std::int64_t k = values.sizes[dim];
  const std::int64_t inner = product(input.sizes, dim + 1, input.rank());
  const std::int64_t outer = product(input.sizes, 0, dim);
  if (k == 0) return;
  dispatch_ordered(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_chunks(run.parallel, outer * inner, grain_of(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        const T* line = input.as<const T>() + at / inner * n * inner + at % inner;
        const std::int64_t place = at / inner * k * inner + at % inner;
        std::int64_t* found = indices.as<std::int64_t>() + place;
        TopLine<T>(line, n, found, k, inner, best.largest).pick();
        for (std::int64_t i = 0; i < k * inner; i += inner) values.as<T>()[place + i] = line[found[i] * inner];
      }
    });
  });
}

// ---- Unique ----

/// `rows`: the numbers of the rows, sorted by the rows' elements and then by number. `groups`: for each distinct row,
/// the place in `rows` where it begins.
struct RowOrders {
  std::span<std::int64_t> rows, groups;
};

std::int64_t unique_scratch(const KernelSetup& setup) {
  return 2 * setup.inputs[0].shape[0].size() * static_cast<std::int64_t>(sizeof(std::int64_t));
}

std::unique_ptr<KernelState> prepare_unique(const KernelSetup& setup) {
  return keep(setup.attrs.get<bool>("sorted"));
}

/// Compares rows a and b element by element: returns -1, 0 or 1.
template <class T>
int compare_rows(const T* a, const T* b, std::int64_t width) {
  for (std::int64_t k = 0; k < width; ++k) {
    if (is_less(a[k], b[k])) return -1;
    if (is_less(b[k], a[k])) return 1;
  }
  return 0;
}

/// Fills `orders`; returns the number of distinct rows.
template <class T>
std::int64_t order_rows(const T* data, std::int64_t width, bool sorted, const RowOrders& orders) {
  const std::span<std::int64_t> rows = orders.rows, groups = orders.groups;
  const auto n = static_cast<std::int64_t>(rows.size());
  for (std::int64_t i = 0; i < n; ++i) rows[i] = i;
  const auto compare = [&](std::int64_t a, std::int64_t b) {
    return compare_rows(data + a * width, data + b * width, width);
  };
  std::sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a < b;
  });
  std::size_t found = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i == 0 || compare(rows[i - 1], rows[i]) != 0) groups[found++] = static_cast<std::int64_t>(i);
  const auto first = [&](std::int64_t place) { return rows[place]; };
  if (!sorted)
    std::sort(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(found),
              [&](std::int64_t a, std::int64_t b) { return first(a) < first(b); });
  return static_cast<std::int64_t>(found);
}

/// Writes the outputs for distinct row number `group`, which begins at `place` in `rows`.
template <class T>
void write_group(KernelRun& run, std::span<const std::int64_t> rows, std::int64_t group, std::size_t place,
                 std::int64_t width) {
  const T* data = run.inputs[0].as<const T>();
  const std::int64_t first = rows[place];
  std::copy_n(data + first * width, width, run.outputs[0].as<T>() + group * width);
  run.outputs[1].as<std::int64_t>()[group] = first;
  std::int64_t count = 0;
  for (; place < rows.size() && compare_rows(data + first * width, data + rows[place] * width, width) == 0; ++place) {
    run.outputs[2].as<std::int64_t>()[rows[place]] = group;
    ++count;
  }
  run.outputs[3].as<std::int64_t>()[group] = count;
}

void unique(KernelRun& run) {
  const Array& input = run.inputs[0];
  const auto n = static_cast<std::size_t>(input.sizes[0]);
  auto* scratch = reinterpret_cast<std::int64_t*>(run.scratch.data());
  const RowOrders orders{{scratch, n}, {scratch + n, n}};
  const std::int64_t width = product(input.sizes, 1, input.rank());
  std::int64_t found = 0;
  dispatch_ordered(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    found = order_rows(input.as<const T>(), width, kept<bool>(run), orders);
    for (std::int64_t g = 0; g < found; ++g)
      write_group<T>(run, orders.rows, g, static_cast<std::size_t>(orders.groups[g]), width);
  });
  for (std::size_t i : {0U, 1U, 3U}) run.outputs[i].sizes[0] = found;
}

constexpr Kernel kKernels[] = {
    {.op = "TopK", .run = top_k, .prepare = prepare_top_k, .takes = kOrdered},
    {.op = "Unique", .run = unique, .prepare = prepare_unique, .scratch_bytes = unique_scratch, .takes = kOrdered},
};

}  // namespace

std::span<const Kernel> sort_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
