#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "graph/op/infer.hpp"
#include "kernels/cpu/array/strided.hpp"
#include "kernels/cpu/elements/convert.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/check_range.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/indices.hpp"
#include "kernels/shared/nest.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

static_assert(kMaxDims == kMaxRank);

std::unique_ptr<KernelState> prepare_axis(const KernelSetup& setup) {
  return keep(setup.attrs.get<std::int64_t>("axis"));
}

/// x as [before, rows, after]: `rows` is the size of the indexed axis.
struct Rows {
  std::int64_t before, rows, after;
};

Rows rows_of(const Array& x, int dim) {
  return {product(x.sizes, 0, dim), x.sizes[dim], product(x.sizes, dim + 1, x.rank())};
}

template <class Index>
void check_indices(const Array& indices, std::int64_t rows) {
  const auto* index = indices.as<const Index>();
  const auto* end = index + indices.count();
  const auto* wrong = std::find_if(index, end, [rows](Index i) { return !is_index(i, rows); });
  if (wrong != end) throw bad_row(1, *wrong, rows);
}

/// Copies the rows at the given indices; a row has `after` elements.
template <class T, class Index>
void copy_rows(const T* from, std::int64_t rows, std::int64_t after, const Index* index, std::int64_t count, T* to) {
  if constexpr (sizeof(T) == 4)
    if (after == 1) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[from_front(index[i], rows)];
      return;
    }
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(from + from_front(index[i], rows) * after, after, to + i * after);
}

void gather(KernelRun& run) {
  const Array &x = run.inputs[0], &indices = run.inputs[1];
  Array& output = run.outputs[0];
  const int dim = dim_of(kept<std::int64_t>(run), x.rank());
  if (dim > 0)
    output.sizes[0] = x.sizes[0];
  else if (indices.rank() > 0)
    output.sizes[0] = indices.sizes[0];
  const auto [before, rows, after] = rows_of(x, dim);
  const std::int64_t taken = indices.count();
  dispatch_indices(indices.dtype, [&, rows = rows, after = after, before = before](auto index_zero) {
    const auto* index = indices.as<const decltype(index_zero)>();
    check_indices<decltype(index_zero)>(indices, rows);
    dispatch_sizes(x.dtype, [&](auto zero) {
      using T = decltype(zero);
      for_chunks(run.parallel, before * taken, grain_of(after), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end;) {
          const std::int64_t outer = at / taken, first = at % taken, count = std::min(taken - first, end - at);
          copy_rows(x.as<const T>() + outer * rows * after, rows, after, index + first, count,
                    output.as<T>() + at * after);
          at += count;
        }
      });
    });
  });
}

/// Threads divide the elements of a row, never the rows. So each element gets its terms in the order of the indices.
void scatter_add(KernelRun& run) {
  const Array &y = run.inputs[0], &indices = run.inputs[1];
  Array& output = run.outputs[0];
  const int dim = dim_of(kept<std::int64_t>(run), output.rank());
  if (output.bounded) output.sizes[0] = run.inputs[2].sizes[0];  // else input 2 may be split in another way
  fill_zeros(run.parallel, output);
  const auto [before, rows, after] = rows_of(output, dim);
  const std::int64_t taken = indices.count();
  dispatch_indices(indices.dtype, [&, rows = rows, after = after, before = before](auto index_zero) {
    const auto* index = indices.as<const decltype(index_zero)>();
    check_indices<decltype(index_zero)>(indices, rows);
    dispatch_numbers(y.dtype, [&](auto zero) {
      using T = decltype(zero);
      for_chunks(run.parallel, before * after, grain_of(taken), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end;) {
          const std::int64_t outer = at / after;
          const std::int64_t first = at % after;
          const std::int64_t n = std::min(after - first, end - at);
          for (std::int64_t i = 0; i < taken; ++i) {
            const T* from = y.as<const T>() + (outer * taken + i) * after + first;
            T* to = output.as<T>() + (outer * rows + from_front(index[i], rows)) * after + first;
            for (std::int64_t k = 0; k < n; ++k) to[k] = functors::Add()(to[k], from[k]);
          }
          at += n;
        }
      });
    });
  });
}

/// 0 and 1 as elements of the output's dtype.
struct ZeroAndOne {
  std::array<std::byte, 8> zero{}, one{};
};

std::unique_ptr<KernelState> prepare_one_hot(const KernelSetup& setup) {
  constexpr std::int64_t kOne = 1;
  ZeroAndOne elements;
  convert_elements(DType::int64, reinterpret_cast<const std::byte*>(&kOne), setup.outputs[0].dtype, elements.one.data(),
                   1);
  return keep(elements);
}

void one_hot(KernelRun& run) {
  const Array& indices = run.inputs[0];
  Array& output = run.outputs[0];
  if (indices.rank() > 0) output.sizes[0] = indices.sizes[0];
  const std::int64_t depth = output.sizes.back();
  const std::int64_t begin_depth = output.begin.back();  // the first depth of this task's part, if the depth is split
  const auto index_bytes = static_cast<std::int64_t>(size_of(indices.dtype));
  dispatch_sizes(output.dtype, [&](auto element) {
    using T = decltype(element);
    T zero, one;
    std::memcpy(&zero, kept<ZeroAndOne>(run).zero.data(), sizeof zero);
    std::memcpy(&one, kept<ZeroAndOne>(run).one.data(), sizeof one);
    for_chunks(run.parallel, indices.count(), grain_of(depth), [&](std::int64_t begin, std::int64_t end) {
      T* out = output.as<T>();
      std::fill(out + begin * depth, out + end * depth, zero);
      for (std::int64_t at = begin; at < end; ++at) {
        std::int64_t index = 0;
        convert_elements(indices.dtype, indices.data + at * index_bytes, DType::int64,
                         reinterpret_cast<std::byte*>(&index), 1);
        const std::int64_t place = index - begin_depth;
        if (place >= 0 && place < depth) out[at * depth + place] = one;
      }
    });
  });
}

void nonzero(KernelRun& run) {
  const Array& x = run.inputs[0];
  Array& output = run.outputs[0];
  std::int64_t found = 0;
  dispatch_among<bool, float, double, std::int32_t, std::int64_t>(x.dtype, [&](auto zero) {
    const auto* data = x.as<const decltype(zero)>();
    auto* out = output.as<std::int64_t>();
    const std::int64_t count = x.count();
    for (std::int64_t at = 0; at < count; ++at) {
      if (data[at] == zero) continue;
      std::int64_t rest = at;
      for (auto d = static_cast<std::size_t>(x.rank()); d-- > 0; rest /= x.sizes[d])
        out[found * x.rank() + static_cast<std::int64_t>(d)] = rest % x.sizes[d];
      ++found;
    }
  });
  output.sizes[0] = found;
}

void arange(KernelRun& run) {
  Array& output = run.outputs[0];
  const std::int64_t count = *run.inputs[0].as<const std::int64_t>(), most = output.sizes[0];
  if (count > most)
    throw BadValue(0, std::to_string(count) + " elements are asked for, of at most " + std::to_string(most));
  output.sizes[0] = std::max<std::int64_t>(count, 0);
  std::iota(output.as<std::int64_t>(), output.as<std::int64_t>() + output.sizes[0], 0);
}

/// The error for `number`, which is element `place` of input 0.
BadValue bad_number(const RangeCheck& check, std::int64_t place, std::int64_t number) {
  switch (check.kind) {
    case RangeCheck::Kind::label:
      return bad_label(0, number, check.size);
    case RangeCheck::Kind::length:
      return bad_length(0, place, number, check.size);
    case RangeCheck::Kind::image:
      return bad_image(0, place, number, check.size);
    case RangeCheck::Kind::position:
      break;
  }
  return bad_position(0, number, check.size);
}

void check_range(KernelRun& run) {
  const Array& numbers = run.inputs[0];
  Array& output = run.outputs[0];
  if (numbers.rank() > 0) output.sizes[0] = numbers.sizes[0];
  const auto& check = kept<RangeCheck>(run);
  dispatch_indices(numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto *begin = numbers.as<const T>(), *end = begin + numbers.count();
    const auto* wrong = std::find_if(begin, end, [&](T number) { return !check.is_valid(number); });
    if (wrong != end) throw bad_number(check, first_number(numbers) + (wrong - begin), *wrong);
    if (output.data != numbers.data) std::copy(begin, end, output.as<T>());
  });
}

constexpr Kernel kKernels[] = {
    {.op = "Gather", .run = gather, .prepare = prepare_axis, .takes = kAnyType},
    {.op = "ScatterAdd", .run = scatter_add, .prepare = prepare_axis},
    {.op = "OneHot", .run = one_hot, .prepare = prepare_one_hot, .takes = kAnyType},
    {.op = "NonZero", .run = nonzero},
    {.op = "Arange", .run = arange},
    {.op = "CheckRange", .run = check_range, .prepare = prepare_range_check, .in_place = 1},
};

}  // namespace

std::span<const Kernel> indexing_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
