// Cases of cumulative ops and of ops that rearrange, sort, gather, scatter, augment images and work on boxes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/hash.hpp"
#include "kernels/philox.hpp"
#include "ops/array/arrange.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/scatter.hpp"
#include "ops/array/sort.hpp"
#include "ops/image/augment.hpp"
#include "ops/image/boxes.hpp"
#include "ops/image/sample.hpp"
#include "ops/math/cumulative.hpp"
#include "ops/math/math.hpp"
#include "tests/op_cases/case.hpp"

namespace ferry::test {
namespace {

using X = const Values&;
using D = Real;
using Shapes = std::vector<std::vector<Sizes>>;

const Shapes kCubes{{{2, 3, 4}}, {{3, 1, 2}}, {{2, 0, 3}}, {{40, 30, 20}}};
const Shapes kRows{{{3, 4}}, {{1, 3}}, {{0, 2}}, {{70, 30}}};

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

template <class Each>
void for_indices(const Sizes& sizes, const Each& each) {
  static_cast<void>(Nd(sizes, [&](const Sizes& index) {
    each(index);
    return 0.0;
  }));
}

/// Reference of cumsum and cumprod along dim 1 of an array of rank 3.
Reference running(D start, D (*join)(D, D), bool exclusive, bool reverse) {
  return [=](const std::vector<Nd>& in) {
    const Nd& x = in[0];
    return std::vector{Nd(x.sizes, [&](const Sizes& index) {
      D result = start;
      const std::int64_t n = x.sizes[1];
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t j = reverse ? n - 1 - k : k;
        const bool before = reverse ? j > index[1] : j < index[1];
        if (before || (j == index[1] && !exclusive)) result = join(result, x.at({index[0], j, index[2]}));
      }
      return result;
    })};
  };
}

/// The random block that an op of this name with seed 5 draws for this image in the first step.
Philox::Block drawn_for(std::string_view name, std::int64_t image) {
  const Philox philox{Hasher().add(name).add(std::int64_t{5}).add(std::uint64_t{0}).digest(), 0};
  return philox.block(static_cast<std::uint64_t>(image));
}

/// Reference of random_flip(): about half of the images are mirrored left to right. Dim `axis` is their height.
Reference flipped(std::size_t axis) {
  return [=](const std::vector<Nd>& in) {
    return std::vector{Nd(in[0].sizes, [&](const Sizes& index) {
      Sizes from = index;
      if (drawn_for("flip", index[0])[0] % 2 == 1) from[axis + 1] = in[0].sizes[axis + 1] - 1 - index[axis + 1];
      return in[0].at(from);
    })};
  };
}

/// Reference of random_crop(): each image is moved by up to `padding` up or down and left or right; zeros move in.
Reference cropped(std::size_t axis, std::int64_t padding) {
  return [=](const std::vector<Nd>& in) {
    return std::vector{Nd(in[0].sizes, [&](const Sizes& index) {
      const Philox::Block drawn = drawn_for("crop", index[0]);
      Sizes from = index;
      for (std::size_t d : {std::size_t{0}, std::size_t{1}}) {
        std::int64_t& place = from[axis + d];
        place += static_cast<std::int64_t>(drawn[d]) % (2 * padding + 1) - padding;
        if (place < 0 || place >= in[0].sizes[axis + d]) return D(0);
      }
      return in[0].at(from);
    })};
  };
}

D sum_of(D a, D b) {
  return a + b;
}
D product_of(D a, D b) {
  return a * b;
}
D later_of(D, D b) {
  return b;
}
D larger_of(D a, D b) {
  return std::max(a, b);
}
D smaller_of(D a, D b) {
  return std::min(a, b);
}

/// `index` with its element along the axis replaced by the number that `indices` has there (if negative, from the end).
Sizes moved(const Nd& indices, Sizes index, std::size_t axis, std::int64_t size) {
  const auto to = static_cast<std::int64_t>(indices.at(index));
  index[axis] = to < 0 ? to + size : to;
  return index;
}

Reference read_elements(std::size_t axis) {
  return [=](const std::vector<Nd>& in) {
    return std::vector{
        Nd(in[1].sizes, [&](const Sizes& index) { return in[0].at(moved(in[1], index, axis, in[0].sizes[axis])); })};
  };
}

Reference written_elements(std::size_t axis, D (*join)(D, D)) {
  return [=](const std::vector<Nd>& in) {
    Nd out = in[0];
    for_indices(in[1].sizes, [&](const Sizes& index) {
      D& to = element(out, moved(in[1], index, axis, out.sizes[axis]));
      to = join(to, in[2].at(index));
      ++counted().operations;
    });
    return std::vector{out};
  };
}

/// The position in x that row `row` of GatherND's indices names: the batch dims, the numbers of the row, then `rest`.
Sizes block(const Nd& x, const Nd& indices, const Sizes& row, std::size_t batch, const Sizes& rest) {
  Sizes place(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(batch));
  Sizes index = row;
  index.push_back(0);
  for (index.back() = 0; index.back() < indices.sizes.back(); ++index.back()) {
    const auto to = static_cast<std::int64_t>(indices.at(index));
    place.push_back(to < 0 ? to + x.sizes[place.size()] : to);
  }
  place.insert(place.end(), rest.begin(), rest.end());
  return place;
}

/// Sizes of GatherND's output and of ScatterND's updates.
Sizes blocks(const Nd& x, const Nd& indices, std::size_t batch) {
  Sizes sizes(indices.sizes.begin(), indices.sizes.end() - 1);
  sizes.insert(sizes.end(), x.sizes.begin() + static_cast<std::ptrdiff_t>(batch) + indices.sizes.back(), x.sizes.end());
  return sizes;
}

/// Splits an index of GatherND's output into the index of the row of `indices` and the index within the block that the
/// row names.
std::pair<Sizes, Sizes> parts(const Nd& indices, const Sizes& index) {
  const auto rows = static_cast<std::ptrdiff_t>(indices.sizes.size()) - 1;
  return {Sizes(index.begin(), index.begin() + rows), Sizes(index.begin() + rows, index.end())};
}

Reference read_blocks(std::size_t batch) {
  return [=](const std::vector<Nd>& in) {
    return std::vector{Nd(blocks(in[0], in[1], batch), [&](const Sizes& index) {
      const auto [row, rest] = parts(in[1], index);
      return in[0].at(block(in[0], in[1], row, batch, rest));
    })};
  };
}

Reference written_blocks(std::size_t batch, D (*join)(D, D)) {
  return [=](const std::vector<Nd>& in) {
    Nd out = in[0];
    for_indices(blocks(in[0], in[1], batch), [&](const Sizes& index) {
      const auto [row, rest] = parts(in[1], index);
      D& to = element(out, block(in[0], in[1], row, batch, rest));
      to = join(to, in[2].at(index));
      ++counted().operations;
    });
    return std::vector{out};
  };
}

/// Reference of top_k along dim 0 of a matrix: values and indices.
Reference best_of_columns(std::int64_t k, bool largest) {
  return [=](const std::vector<Nd>& in) {
    const Nd& x = in[0];
    Nd values({k, x.sizes[1]}, [](const Sizes&) { return 0.0; });
    Nd indices = values;
    for (std::int64_t c = 0; c < x.sizes[1]; ++c) {
      std::vector<std::int64_t> order(at(x.sizes[0]));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return largest ? x.at({a, c}) > x.at({b, c}) : x.at({a, c}) < x.at({b, c});
      });
      for (std::int64_t i = 0; i < k; ++i) {
        element(values, {i, c}) = x.at({order[at(i)], c});
        element(indices, {i, c}) = D(order[at(i)]);
      }
    }
    return std::vector{values, indices};
  };
}

std::vector<Nd> different_rows(const std::vector<Nd>& in, bool sorted) {
  const Nd& x = in[0];
  const std::int64_t width = x.sizes[1];
  std::vector<std::vector<D>> rows;
  for (std::int64_t r = 0; r < x.sizes[0]; ++r)
    rows.emplace_back(x.data.begin() + r * width, x.data.begin() + (r + 1) * width);
  std::vector<std::vector<D>> found;
  for (const auto& row : rows)
    if (std::find(found.begin(), found.end(), row) == found.end()) found.push_back(row);
  if (sorted) std::sort(found.begin(), found.end());
  const auto n = static_cast<std::int64_t>(found.size());
  const auto first = [&](const Sizes& i) {
    return D(std::find(rows.begin(), rows.end(), found[at(i[0])]) - rows.begin());
  };
  const auto place = [&](const Sizes& i) {
    return D(std::find(found.begin(), found.end(), rows[at(i[0])]) - found.begin());
  };
  const auto count = [&](const Sizes& i) { return D(std::count(rows.begin(), rows.end(), found[at(i[0])])); };
  return {Nd({n, width}, [&](const Sizes& i) { return found[at(i[0])][at(i[1])]; }), Nd({n}, first),
          Nd({x.sizes[0]}, place), Nd({n}, count)};
}

/// Reference of non_max_suppression for boxes given by corners: per image and class it takes boxes with scores above
/// `score`, highest first, unless the IoU with a box already taken is above `overlap`.
std::vector<Nd> suppressed(const std::vector<Nd>& in, std::size_t most, D overlap, D score) {
  const Nd &boxes = in[0], &scores = in[1];
  const auto side = [&](std::int64_t image, std::int64_t box, std::int64_t low_corner, bool upper) {
    const D a = boxes.at({image, box, low_corner}), b = boxes.at({image, box, low_corner + 2});
    return upper ? std::max(a, b) : std::min(a, b);
  };
  const auto shared = [&](std::int64_t image, std::int64_t a, std::int64_t b) {
    D both = 1, first = 1, second = 1;
    for (std::int64_t d : {0, 1}) {
      both *= std::max(D(0), std::min(side(image, a, d, true), side(image, b, d, true)) -
                                 std::max(side(image, a, d, false), side(image, b, d, false)));
      first *= side(image, a, d, true) - side(image, a, d, false);
      second *= side(image, b, d, true) - side(image, b, d, false);
    }
    return both == 0 ? 0.0 : both / (first + second - both);
  };
  std::vector<D> rows;
  for_indices({scores.sizes[0], scores.sizes[1]}, [&](const Sizes& at) {
    std::vector<std::int64_t> left, taken;
    for (std::int64_t i = 0; i < scores.sizes[2]; ++i)
      if (scores.at({at[0], at[1], i}) > score) left.push_back(i);
    while (!left.empty() && taken.size() < most) {
      const auto next = std::max_element(left.begin(), left.end(), [&](std::int64_t a, std::int64_t b) {
        return scores.at({at[0], at[1], a}) < scores.at({at[0], at[1], b});
      });
      const std::int64_t box = *next;
      left.erase(next);
      if (std::any_of(taken.begin(), taken.end(),
                      [&](std::int64_t other) { return shared(at[0], other, box) > overlap; }))
        continue;
      taken.push_back(box);
      rows.insert(rows.end(), {D(at[0]), D(at[1]), D(box)});
    }
  });
  return {
      Nd({static_cast<std::int64_t>(rows.size() / 3), 3}, [&](const Sizes& i) { return rows[at(i[0] * 3 + i[1])]; })};
}

/// Reference of roi_align: an element of the result is the mean or the largest of the samples in its part of the
/// region.
std::vector<Nd> aligned(const std::vector<Nd>& in, const Regions& cut) {
  const Nd &x = in[0], &regions = in[1];
  // The coordinates of a part's samples: rows (side 1) or columns (side 0).
  const auto places = [&](std::int64_t region, std::int64_t side, std::int64_t parts, std::int64_t part) {
    const D edge = cut.half_pixel ? 0.5 : 0;
    const D begin = regions.at({region, side}) * cut.scale - edge,
            end = regions.at({region, side + 2}) * cut.scale - edge;
    const D length = (cut.half_pixel ? end - begin : std::max(end - begin, D(1))) / D(parts),
            samples = std::ceil(length);
    std::vector<D> found;
    for (D s = 0; s < samples; ++s) found.push_back(begin + D(part) * length + (s + 0.5) * length / samples);
    return found;
  };
  const auto weight = [](D place, std::int64_t i, std::int64_t size) {
    if (place < -1 || place > D(size)) return D(0);
    return std::max(D(0), 1 - std::abs(std::clamp(place, D(0), D(size - 1)) - D(i)));
  };
  return {Nd({regions.sizes[0], x.sizes[1], cut.rows, cut.columns}, [&](const Sizes& i) {
    const std::vector<D> rows = places(i[0], 1, cut.rows, i[2]), columns = places(i[0], 0, cut.columns, i[3]);
    D sum = 0, most = rows.empty() || columns.empty() ? 0 : -1e9;
    for (const D row : rows)
      for (const D column : columns)
        for_indices({x.sizes[2], x.sizes[3]}, [&](const Sizes& at) {
          const D both = weight(row, at[0], x.sizes[2]) * weight(column, at[1], x.sizes[3]);
          const D part = both * x.at({std::int64_t(in[2].at({i[0]})), i[1], at[0], at[1]});
          const bool near = std::abs(row - D(at[0])) < 1 && std::abs(column - D(at[1])) < 1;
          const bool outside = row < -1 || row > D(x.sizes[2]) || column < -1 || column > D(x.sizes[3]);
          if (near || both > 0 || outside) most = std::max(most, part);
          sum += part;
        });
    return cut.largest ? most : sum / std::max(D(1), D(rows.size() * columns.size()));
  })};
}

constexpr In index_of(double size, DType dtype = DType::int64) {
  return {-size, size - 1, dtype};
}

}  // namespace

std::vector<Case> moving_cases() {
  // clang-format off
  return {
      // ---- cumulative ----
      {"CumSum", [](X x) -> Values { return {cumsum(x[0], 1)}; }, running(0, sum_of, false, false), kCubes},
      {"CumSum", [](X x) -> Values { return {cumsum(x[0], -2, true, false)}; }, running(0, sum_of, true, false), kCubes},
      {"CumSum", [](X x) -> Values { return {cumsum(x[0], 1, false, true)}; }, running(0, sum_of, false, true), kCubes},
      {"CumSum", [](X x) -> Values { return {cumsum(x[0], 1, true, true)}; }, running(0, sum_of, true, true), kCubes},
      {"CumProd", [](X x) -> Values { return {cumprod(x[0], 1)}; }, running(1, product_of, false, false), {{{2, 3, 4}}, {{2, 0, 3}}}},
      {"CumProd", [](X x) -> Values { return {cumprod(x[0], 1, true, true)}; }, running(1, product_of, true, true), {{{2, 3, 4}}}},

      // ---- arrange ----
      {"Flip", [](X x) -> Values { return {flip(x[0], {1})}; }, indexed([](auto& in) { return in[0].sizes; }, [](auto& in, auto& i) { return in[0].at({i[0], in[0].sizes[1] - 1 - i[1]}); }), kRows},
      {"Flip", [](X x) -> Values { return {flip(x[0], {-1, 0})}; }, indexed([](auto& in) { return in[0].sizes; }, [](auto& in, auto& i) { return in[0].at({in[0].sizes[0] - 1 - i[0], in[0].sizes[1] - 1 - i[1]}); }), kRows},
      {"Triangle", [](X x) -> Values { return {tril(x[0], 1)}; }, indexed([](auto& in) { return in[0].sizes; }, [](auto& in, auto& i) { return i[1] - i[0] <= 1 ? in[0].at(i) : 0.0; }), kRows},
      {"Triangle", [](X x) -> Values { return {triu(x[0], -1)}; }, indexed([](auto& in) { return in[0].sizes; }, [](auto& in, auto& i) { return i[2] - i[1] >= -1 ? in[0].at(i) : 0.0; }), kCubes},
      {"ReverseSequence", [](X x) -> Values { return {reverse_sequence(x[0], x[1])}; }, indexed([](auto& in) { return in[0].sizes; }, [](auto& in, auto& i) { const auto n = static_cast<std::int64_t>(in[1].at({i[1]})); return in[0].at({i[0] < n ? n - 1 - i[0] : i[0], i[1], i[2]}); }), {{{4, 3, 2}, {3}}, {{4, 0, 2}, {0}}}, {{}, {0, 4, DType::int64}}, 0b01},
      {"ReverseSequence", [](X x) -> Values { return {reverse_sequence(x[0], x[1], 1)}; }, indexed([](auto& in) { return in[0].sizes; }, [](auto& in, auto& i) { const auto n = static_cast<std::int64_t>(in[1].at({i[0]})); return in[0].at({i[0], i[1] < n ? n - 1 - i[1] : i[1]}); }), {{{3, 4}, {3}}}, {{}, {0, 4, DType::int32}}, 0b01},

      // ---- scatter ----
      {"GatherElements", [](X x) -> Values { return {gather_elements(x[0], x[1], 1)}; }, read_elements(1), {{{3, 4}, {3, 5}}, {{3, 4}, {2, 2}}, {{3, 4}, {3, 0}}}, {{}, index_of(4)}, 0b01},
      {"GatherElements", [](X x) -> Values { return {gather_elements(x[0], x[1])}; }, read_elements(0), {{{4, 3}, {5, 3}}, {{4, 300}, {70, 300}}}, {{}, index_of(4, DType::int32)}, 0b01},
      {"ScatterElements", [](X x) -> Values { return {scatter_elements(x[0], x[1], x[2], 1)}; }, written_elements(1, later_of), {{{3, 4}, {3, 1}, {3, 1}}, {{3, 4}, {2, 1}, {2, 1}}, {{3, 4}, {3, 0}, {3, 0}}}, {{}, index_of(4)}, 0b101},
      {"ScatterElements", [](X x) -> Values { return {scatter_elements(x[0], x[1], x[2], 0, Scatter::add)}; }, written_elements(0, sum_of), {{{4, 3}, {6, 3}, {6, 3}}, {{4, 3}, {6, 2}, {6, 2}}, {{4, 300}, {70, 300}, {70, 300}}}, {{}, index_of(4, DType::int32)}, 0b101, kNumbers},
      {"ScatterElements", [](X x) -> Values { return {scatter_elements(x[0], x[1], x[2], 0, Scatter::multiply)}; }, written_elements(0, product_of), {{{4, 3}, {6, 3}, {6, 3}}}, {{}, index_of(4)}, 0, kNumbers},
      {"ScatterElements", [](X x) -> Values { return {scatter_elements(x[0], x[1], x[2], 0, Scatter::largest)}; }, written_elements(0, larger_of), {{{4, 3}, {6, 3}, {6, 3}}}, {{}, index_of(4)}, 0b101, kNumbers},
      {"ScatterElements", [](X x) -> Values { return {scatter_elements(x[0], x[1], x[2], 0, Scatter::smallest)}; }, written_elements(0, smaller_of), {{{4, 3}, {6, 3}, {6, 3}}}, {{}, index_of(4)}, 0b101, kNumbers},
      {"GatherND", [](X x) -> Values { return {gather_nd(x[0], x[1])}; }, read_blocks(0), {{{4, 4, 3}, {5, 2}}, {{4, 2}, {2, 3, 1}}, {{4}, {1}}, {{4, 4}, {0, 2}}, {{4, 90}, {700, 1}}}, {{}, index_of(4)}, 0b01},
      {"GatherND", [](X x) -> Values { return {gather_nd(x[0], x[1], 1)}; }, read_blocks(1), {{{2, 4, 3}, {2, 5, 1}}, {{2, 4, 4}, {2, 2}}, {{0, 4, 3}, {0, 5, 1}}}, {{}, index_of(4, DType::int32)}, 0b01},
      {"ScatterND", [](X x) -> Values { return {scatter_nd(x[0], x[1], x[2])}; }, written_blocks(0, later_of), {{{4, 4, 3}, {1, 2}, {1, 3}}, {{4, 2}, {0, 1}, {0, 2}}, {{4}, {1}, {}}}, {{}, index_of(4)}, 0b101},
      {"ScatterND", [](X x) -> Values { return {scatter_nd(x[0], x[1], x[2], 0, Scatter::add)}; }, written_blocks(0, sum_of), {{{4, 4, 3}, {5, 2}, {5, 3}}, {{4, 2}, {2, 3, 1}, {2, 3, 2}}, {{4, 900}, {70, 1}, {70, 900}}}, {{}, index_of(4)}, 0b101, kNumbers},
      {"ScatterND", [](X x) -> Values { return {scatter_nd(x[0], x[1], x[2], 1, Scatter::largest)}; }, written_blocks(1, larger_of), {{{2, 4, 3}, {2, 5, 1}, {2, 5, 3}}}, {{}, index_of(4)}, 0b101, kNumbers},

      // ---- sort ----
      {"TopK", [](X x) -> Values { const TopK best = top_k(x[0], 2, 0); return {best.values, best.indices}; }, best_of_columns(2, true), {{{4, 3}}, {{2, 2}}, {{2, 0}}, {{300, 70}}}, {}, 0},
      {"TopK", [](X x) -> Values { return {top_k(x[0], 3, 0, false).values}; }, [](auto& in) { return std::vector{best_of_columns(3, false)(in)[0]}; }, {{{5, 3}}, {{3, 2}}}},
      {"TopK", [](X x) -> Values { const TopK best = top_k(x[0], 40, 0); return {best.values, best.indices}; }, best_of_columns(40, true), {{{40, 3}}}, {}, 0},
      {"TopK", [](X x) -> Values { const TopK best = top_k(gather(x[0], arange(x[1], 6)), 4, 0); return {best.values, best.indices}; }, [](auto& in) { const std::int64_t n = std::clamp<std::int64_t>(static_cast<std::int64_t>(in[1].data[0]), 0, 6); return best_of_columns(std::min<std::int64_t>(n, 4), true)({Nd({n, in[0].sizes[1]}, [&](const Sizes& i) { return in[0].at(i); })}); }, {{{6, 3}, {}}, {{6, 40}, {}}}, {{}, {2, 6, DType::int64}}, 0},
      {"Unique", [](X x) -> Values { const Unique u = unique(x[0]); return {u.values, u.indices, u.inverse, u.counts}; }, [](auto& in) { return different_rows(in, true); }, {{{9, 1}}, {{20, 2}}, {{0, 2}}}, {{0, 2}}},
      {"Unique", [](X x) -> Values { const Unique u = unique(x[0], false); return {u.values, u.indices, u.inverse, u.counts}; }, [](auto& in) { return different_rows(in, false); }, {{{9, 1}}, {{20, 2}}}, {{0, 2}}},

      // ---- augment ----
      {"RandomFlip", [](X x) -> Values { return {random_flip(x[0], 1, 5).named("flip")}; }, flipped(1), {{{9, 3, 4, 2}}, {{6, 1, 5}}, {{0, 3, 4}}, {{70, 5, 40, 3}}}},
      {"RandomFlip", [](X x) -> Values { return {random_flip(x[0], -2, 5).named("flip")}; }, flipped(2), {{{9, 3, 2, 4}}, {{6, 2, 3, 0}}}},
      {"RandomCrop", [](X x) -> Values { return {random_crop(x[0], 2, 1, 5).named("crop")}; }, cropped(1, 2), {{{9, 3, 4, 2}}, {{6, 1, 1}}, {{0, 3, 4}}, {{70, 5, 40, 3}}}},
      {"RandomCrop", [](X x) -> Values { return {random_crop(x[0], 1, 2, 5).named("crop")}; }, cropped(2, 1), {{{9, 3, 6, 5}}, {{6, 2, 3, 0}}}},

      // ---- boxes ----
      {"NonMaxSuppression", [](X x) -> Values { return {non_max_suppression(x[0], x[1], 5, 0.3, -1)}; }, [](auto& in) { return suppressed(in, 5, 0.3, -1); }, {{{2, 12, 4}, {2, 3, 12}}, {{1, 0, 4}, {1, 2, 0}}, {{1, 60, 4}, {1, 1, 60}}}},
      {"NonMaxSuppression", [](X x) -> Values { const Value rows = arange(x[2], 12); const Value boxes = gather(x[0], rows); return {non_max_suppression(boxes, gather(x[1], rows), 5, 0.3, -1)}; }, [](auto& in) { const auto n = static_cast<std::int64_t>(in[2].data[0]); const Nd boxes({1, n, 4}, [&](const Sizes& i) { return in[0].at({i[1], i[2]}); }), scores({1, 1, n}, [&](const Sizes& i) { return in[1].at({i[2]}); }); return suppressed({boxes, scores}, 5, 0.3, -1); }, {{{12, 4}, {12}, {}}}, {{}, {}, {3, 12, DType::int64}}},
      {"NonMaxSuppression", [](X x) -> Values { const Value centres = concat({slice(x[0], 2, 1, 2), slice(x[0], 2, 0, 1)}, 2); const Value half = slice(x[0], 2, 2, 4); const Value across = concat({slice(half, 2, 1, 2), slice(half, 2, 0, 1)}, 2); return {non_max_suppression(concat({centres, across * 2}, 2), x[1], 9, 0.2, 0, true)}; }, [](auto& in) { const Nd corners(in[0].sizes, [&](const Sizes& i) { const D middle = in[0].at({i[0], i[1], i[2] % 2}), half = in[0].at({i[0], i[1], i[2] % 2 + 2}); return i[2] < 2 ? middle - half : middle + half; }); return suppressed({corners, in[1]}, 9, 0.2, 0); }, {{{1, 20, 4}, {1, 2, 20}}}, {{0.1, 1}}},

      // ---- regions ----
      {"RoiAlign", [](X x) -> Values { return {roi_align(x[0], x[1], x[2], {2, 3, 0, 0.5})}; }, [](auto& in) { return aligned(in, {2, 3, 0, 0.5}); }, {{{2, 3, 5, 6}, {4, 4}, {4}}, {{2, 1, 4, 4}, {0, 4}, {0}}, {{2, 20, 9, 8}, {30, 4}, {30}}}, {{}, {-3, 18}, {0, 1, DType::int64}}},
      {"RoiAlign", [](X x) -> Values { const Value rows = arange(x[3], 4); const Value regions = gather(x[1], rows); return {roi_align(x[0], regions, gather(x[2], rows), {2, 3, 0, 0.5})}; }, [](auto& in) { const auto n = static_cast<std::int64_t>(in[3].data[0]); const Nd regions({n, 4}, [&](const Sizes& i) { return in[1].at(i); }), images({n}, [&](const Sizes& i) { return in[2].at(i); }); return aligned({in[0], regions, images}, {2, 3, 0, 0.5}); }, {{{2, 3, 5, 6}, {4, 4}, {4}, {}}}, {{}, {-3, 18}, {0, 1, DType::int64}, {1, 3, DType::int64}}},
      {"RoiAlign", [](X x) -> Values { return {roi_align(x[0], x[1], x[2], {3, 1, 0, 1, false, true})}; }, [](auto& in) { return aligned(in, {3, 1, 0, 1, false, true}); }, {{{2, 2, 6, 5}, {5, 4}, {5}}}, {{0.1, 2}, {-3, 9}, {0, 1, DType::int64}}},
  };
  // clang-format on
}

}  // namespace ferry::test
