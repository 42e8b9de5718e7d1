#include "ops/image/windows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/build.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

std::int64_t product(const Ints& sizes) {
  return checked_count(sizes);
}

/// How a window moves along one dim: the dim's size, the window's size, its stride, the padding at both ends, and the
/// dilation.
struct Move {
  std::int64_t size = 1, window = 1, stride = 1, low = 0, high = 0, dilation = 1;

  [[nodiscard]] std::int64_t covered() const { return (window - 1) * dilation + 1; }
  [[nodiscard]] std::int64_t positions() const { return (low + size + high - covered()) / stride + 1; }
  /// The end of the last window in the padded dim.
  [[nodiscard]] std::int64_t end() const { return (positions() - 1) * stride + covered(); }
  [[nodiscard]] bool is_identity() const { return window == 1 && stride == 1 && low == 0 && high == 0; }
};
using Moves = std::vector<Move>;

/// A call of one of the functions below, for checks and their errors.
struct CallChecks {
  std::string_view what;
  const Value& x;
  SourceLine line;

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(Code::plan, std::string(what) + ": of " + x.name() + " " + x.shape().str() + ": " + why).at(line);
  }
  /// The size of a dim of `value`, which must be known.
  [[nodiscard]] std::int64_t size(const Value& value, int dim) const {
    const Dim& size = value.shape()[dim];
    if (!size.fixed())
      fail("dim " + std::to_string(dim) + " of " + value.name() + " " + value.shape().str() + " must be known");
    check_number("a dim", size.size());
    return size.size();
  }
  /// The number of dims that windows move over: one, two or three.
  [[nodiscard]] int image_dims() const {
    const int dims = x.rank() - 2;
    if (dims < 1 || dims > 3) fail("an image [n,channels,…] has one, two or three dims more");
    return dims;
  }
  /// `given`, or `count` times `fallback` if it is empty. Rejects numbers below `fallback`, and numbers so large that
  /// sums of products overflow.
  [[nodiscard]] Ints checked_numbers(std::string_view name, Ints given, std::size_t count,
                                     std::int64_t fallback) const {
    if (given.empty()) given.assign(count, fallback);
    if (given.size() != count || *std::min_element(given.begin(), given.end()) < fallback)
      fail(std::string(name) + " must be " + std::to_string(count) + " numbers of at least " +
           std::to_string(fallback));
    check_number(name, *std::max_element(given.begin(), given.end()));
    return given;
  }
  void check_number(std::string_view name, std::int64_t number) const {
    check_computed(std::string(what) + ": " + std::string(name), number, line);
  }
  /// Rejects windows with too many taps, for functions that make ops for each tap.
  void check_taps(const Moves& moves) const {
    constexpr std::int64_t kMost = 4096;
    for (const Move& move : moves)
      if (move.window > kMost)
        fail("a window of " + std::to_string(move.window) + " elements along a dim; the limit is " +
             std::to_string(kMost) + " here");
  }
  [[nodiscard]] Moves moves(const Ints& sizes, const Ints& window, const Sliding& sliding) const {
    const std::size_t dims = sizes.size();
    Ints padding = sliding.padding;
    if (padding.size() == dims) padding.insert(padding.end(), sliding.padding.begin(), sliding.padding.end());
    padding = checked_numbers("padding", std::move(padding), 2 * dims, 0);
    const Ints strides = checked_numbers("strides", sliding.strides, dims, 1);
    const Ints dilations = checked_numbers("dilations", sliding.dilations, dims, 1);
    const Ints taps = checked_numbers("the window", window, dims, 1);
    Moves moves;
    for (std::size_t d = 0; d < dims; ++d) check_number("a dim", sizes[d]);
    for (std::size_t d = 0; d < dims; ++d)
      moves.push_back({sizes[d], taps[d], strides[d], padding[d], padding[dims + d], dilations[d]});
    return moves;
  }
  void check_fit(const Moves& moves) const {
    for (const Move& move : moves)
      if (move.covered() > move.low + move.size + move.high)
        fail("a window that covers " + std::to_string(move.covered()) + " is larger than a dim of " +
             std::to_string(move.low + move.size + move.high) + " with its padding");
  }
};

/// Converts the moves over rows and columns to the form of conv2d().
Sliding sliding_of(const Move& rows, const Move& columns) {
  return {{rows.stride, columns.stride},
          {rows.low, columns.low, rows.high, columns.high},
          {rows.dilation, columns.dilation}};
}

Ints image_sizes(const CallChecks& call) {
  Ints sizes;
  for (int d = 2; d < call.x.rank(); ++d) sizes.push_back(call.size(call.x, d));
  return sizes;
}

/// The moves over images whose sizes may be unknown; an unknown size is -1.
Moves open_moves(const CallChecks& call, const Ints& window, const Sliding& sliding) {
  Ints sizes;
  for (int d = 2; d < call.x.rank(); ++d) sizes.push_back(call.x.shape()[d].size());
  return call.moves(sizes, window, sliding);
}

/// Calls f(x, moves over rows, moves over columns) for x [n,c,rows,columns]. An image of one dim is treated as one row.
template <class F>
Value over_planes(const Value& x, const Moves& moves, const F& f) {
  if (moves.size() == 2) return f(x, moves[0], moves[1]);
  return squeeze(f(expand_dims(x, {2}), Move(), moves[0]), {2});
}

Ints window_of(const CallChecks& call, const Value& w) {
  if (w.rank() != call.x.rank()) call.fail("the filter " + w.shape().str() + " must have as many dims");
  Ints window;
  for (int d = 2; d < w.rank(); ++d) window.push_back(call.size(w, d));
  return window;
}

Value padded(const Value& x, int dim, std::int64_t low, std::int64_t high, double value = 0) {
  if (low == 0 && high == 0) return x;
  Ints before(static_cast<std::size_t>(x.rank())), behind = before;
  before[dim] = low;
  behind[dim] = high;
  return pad(x, before, behind, value);
}

/// The elements of a padded dim that are under tap `tap` of the windows.
Value under_tap(const Value& x, int dim, const Move& move, std::int64_t tap) {
  const std::int64_t begin = tap * move.dilation;
  return slice(x, dim, begin, begin + (move.positions() - 1) * move.stride + 1, move.stride);
}

// ---- Convolution ----

/// Folds depth into the batch: [n,c,d,h,w] to [n * d,c,h,w].
Value as_planes(const Value& x) {
  const Value planes = transpose(x, {0, 2, 1, 3, 4});
  return reshape(planes, {-1, x.shape()[1].size(), x.shape()[3].size(), x.shape()[4].size()});
}
/// The inverse of as_planes(): [n * depth,c,h,w] to [n,c,depth,h,w].
Value as_volumes(const Value& y, std::int64_t depth) {
  const Value planes = reshape(y, {-1, depth, y.shape()[1].size(), y.shape()[2].size(), y.shape()[3].size()});
  return transpose(planes, {0, 2, 1, 3, 4});
}

/// A convolution over three dims, computed as a convolution over two dims: the taps of the first dim become channels of
/// the image and of the filter.
Value conv3d(const CallChecks& call, const Value& x, const Value& w, const Moves& moves, std::int64_t groups) {
  static_cast<void>(image_sizes(call));
  call.check_fit(moves);
  call.check_taps(moves);
  const Move& depth = moves[0];
  const std::int64_t channels = call.size(x, 1), out = call.size(w, 0);
  const Value deep = padded(x, 2, depth.low, depth.high);
  Values taps;
  for (std::int64_t t = 0; t < depth.window; ++t) taps.push_back(expand_dims(under_tap(deep, 2, depth, t), {2}));
  const Value stacked =
      reshape(concat(taps, 2), {-1, channels * depth.window, depth.positions(), moves[1].size, moves[2].size});
  const Value filter = reshape(w, {out, call.size(w, 1) * depth.window, moves[1].window, moves[2].window});
  const Value planes = conv2d(as_planes(stacked), filter, sliding_of(moves[1], moves[2]), groups);
  return as_volumes(planes, depth.positions());
}

/// Puts the elements of dim 2 `stride` apart, with zeros between them.
Value insert_zeros(const Value& x, std::int64_t stride) {
  if (stride == 1) return x;
  const std::int64_t size = x.shape()[2].size();
  const Value apart = padded(expand_dims(x, {3}), 3, 0, stride - 1);
  const Value joined =
      reshape(apart, {-1, x.shape()[1].size(), size * stride, x.shape()[3].size(), x.shape()[4].size()});
  return slice(joined, 2, 0, (size - 1) * stride + 1);
}

/// The transposed convolution over three dims. Each tap of the first dim has its own output channels, which are moved
/// to their positions and added.
Value conv3d_transpose(const CallChecks& call, const Value& x, const Value& w, const Moves& moves,
                       std::int64_t groups) {
  call.check_taps(moves);
  const Move& depth = moves[0];
  const std::int64_t given = image_sizes(call)[0], out = call.size(w, 1) * groups;
  const std::int64_t full = (given - 1) * depth.stride + depth.covered(), size = full - depth.low - depth.high;
  if (size < 1)
    call.fail("padding of " + std::to_string(depth.low + depth.high) + " leaves nothing of " + std::to_string(full));
  const Value filter = reshape(w, {call.size(w, 0), call.size(w, 1) * depth.window, moves[1].window, moves[2].window});
  const Value planes = conv2d_transpose(as_planes(x), filter, sliding_of(moves[1], moves[2]), groups);
  const Ints image{planes.shape()[2].size(), planes.shape()[3].size()};
  const Value taps = reshape(as_volumes(planes, given), {-1, out, depth.window, given, image[0], image[1]});
  Value sum;
  for (std::int64_t t = 0; t < depth.window; ++t) {
    const Value part = insert_zeros(squeeze(slice(taps, 2, t, t + 1), {2}), depth.stride);
    const Value placed = padded(part, 2, t * depth.dilation, (depth.window - 1 - t) * depth.dilation);
    sum = sum.defined() ? sum + placed : placed;
  }
  return slice(sum, 2, depth.low, depth.low + size);
}

// ---- Pooling ----

/// The move with Pooling::ceil: the padding at the end extends to the end of the last window.
Move with_ceil_padding(Move move) {
  const std::int64_t room = move.low + move.size + move.high - move.covered();
  std::int64_t last = (room + move.stride - 1) / move.stride;
  if (last * move.stride >= move.low + move.size) --last;
  move.high = std::max<std::int64_t>(0, last * move.stride + move.covered() - move.low - move.size);
  return move;
}

bool is_dilated(const Moves& moves) {
  return std::any_of(moves.begin(), moves.end(), [](const Move& m) { return m.dilation > 1 && m.window > 1; });
}

/// Whether max_pool2d and avg_pool2d can do this pooling directly. They do not need known sizes, and have their own
/// checks.
bool is_plain(const CallChecks& call, const Moves& moves, const Pooling& pooling) {
  return moves.size() < 3 && !pooling.ceil && !is_dilated(moves) && is_float(call.x.dtype());
}

Moves pooling_moves(const CallChecks& call, const Pooling& pooling) {
  static_cast<void>(call.image_dims());
  Moves moves = open_moves(call, pooling.size, pooling.sliding);
  if (is_plain(call, moves, pooling)) return moves;
  static_cast<void>(image_sizes(call));
  call.check_fit(moves);
  if (is_dilated(moves) || !is_float(call.x.dtype())) call.check_taps(moves);
  if (pooling.ceil) std::transform(moves.begin(), moves.end(), moves.begin(), with_ceil_padding);
  return moves;
}

using Pool2D = Value (*)(const Value&, Ints, const Sliding&, source_location);

/// Pools windows without dilations over two dims.
Value pool_plane(const Value& x, const Move& rows, const Move& columns, Pool2D pool) {
  Sliding sliding = sliding_of(rows, columns);
  sliding.dilations.clear();
  return pool(x, {rows.window, columns.window}, sliding, source_location::current());
}

/// Pools three dims: first the last two, then the first.
Value pool_volume(const Value& x, const Moves& moves, Pool2D pool) {
  const std::int64_t channels = x.shape()[1].size();
  const Move &depth = moves[0], &rows = moves[1], &columns = moves[2];
  const Value planes = reshape(x, {-1, channels * depth.size, rows.size, columns.size});
  const Value flat = reshape(pool_plane(planes, rows, columns, pool),
                             {-1, channels, depth.size, rows.positions() * columns.positions()});
  const Value y = pool_plane(flat, depth, Move(), pool);
  return reshape(y, {-1, channels, depth.positions(), rows.positions(), columns.positions()});
}

Value pool_by_planes(const Value& x, const Moves& moves, Pool2D pool) {
  if (moves.size() == 3) return pool_volume(x, moves, pool);
  return over_planes(x, moves, [&](const Value& planes, const Move& rows, const Move& columns) {
    return pool_plane(planes, rows, columns, pool);
  });
}

double lowest(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  return dispatch(dtype, [](auto zero) { return static_cast<double>(std::numeric_limits<decltype(zero)>::lowest()); });
}

/// Pools any windows dim by dim, the last dim first. `join` combines the elements under two taps.
template <class Join>
Value pool_by_taps(Value x, const Moves& moves, double padding, const Join& join) {
  for (int d = static_cast<int>(moves.size()) - 1; d >= 0; --d) {
    const Move& move = moves[d];
    if (move.is_identity()) continue;
    const Value all = padded(x, d + 2, move.low, move.high, padding);
    x = under_tap(all, d + 2, move, 0);
    for (std::int64_t t = 1; t < move.window; ++t) {
      const Value next = under_tap(all, d + 2, move, t);
      x = join(x, next);
    }
  }
  return x;
}

/// The number of each element in an image, in row-major or column-major order. The shape is [1,1,d1,…].
Tensor numbered(const Ints& sizes, bool columns_first) {
  Ints shape{1, 1};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  Tensor tensor(DType::int64, shape);
  const auto numbers = tensor.mutable_data<std::int64_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t number = 0, step = product(sizes);
    Ints index(sizes.size());
    for (std::size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) index[d] = rest % sizes[d];
    for (std::size_t d = sizes.size(); d-- > 0;) number += index[d] * (step /= sizes[d]);
    numbers[i] = columns_first ? number : static_cast<std::int64_t>(i);
  }
  return tensor;
}

/// The number of the first element of each image in x [n,c,…]. The shape is [n,c,1,…].
Tensor first_element_numbers(const CallChecks& call, std::int64_t area) {
  Ints shape(static_cast<std::size_t>(call.x.rank()), 1);
  shape[0] = call.size(call.x, 0);
  shape[1] = call.size(call.x, 1);
  Tensor tensor(DType::int64, shape);
  const auto numbers = tensor.mutable_data<std::int64_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i) * area;
  return tensor;
}

/// The number of elements of each window that are in the image. The shape is [p1,…].
Tensor counts(const CallChecks& call, const Moves& moves, DType dtype) {
  Ints all_positions;
  for (const Move& move : moves) all_positions.push_back(move.positions());
  call.check_number("an image", product(all_positions));
  std::vector<double> all{1};
  Ints shape;
  for (const Move& move : moves) {
    std::vector<double> next;
    for (double outer : all)
      for (std::int64_t p = 0; p < move.positions(); ++p) {
        int inside = 0;
        for (std::int64_t k = 0; k < move.window; ++k) {
          const std::int64_t place = p * move.stride - move.low + k * move.dilation;
          inside += place >= 0 && place < move.size ? 1 : 0;
        }
        next.push_back(outer * inside);
      }
    all = std::move(next);
    shape.push_back(move.positions());
  }
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < all.size(); ++i)
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      tensor.mutable_data<T>()[i] = static_cast<T>(all[i]);
    });
  return tensor;
}

/// Makes padding a part of the image. At the end of dim d, at most most[d] elements become a part of the image; the
/// rest stays padding in `moves`.
Value with_padding(const Value& x, Moves& moves, const Ints& most) {
  Ints low{0, 0}, high{0, 0};
  for (std::size_t d = 0; d < moves.size(); ++d) {
    Move& move = moves[d];
    const std::int64_t behind = std::min(move.high, most[d]);
    low.push_back(move.low);
    high.push_back(behind);
    move.size += move.low + behind;
    move.low = 0;
    move.high -= behind;
  }
  return pad(x, low, high);
}

Value mean_of_windows(const CallChecks& call, const Value& x, const Moves& moves) {
  if (!is_dilated(moves)) return pool_by_planes(x, moves, avg_pool2d);
  const Value sums = pool_by_taps(x, moves, 0, [](const Value& a, const Value& b) { return a + b; });
  return sums / x.graph().constant(counts(call, moves, x.dtype()));
}

void check_float(const CallChecks& call) {
  if (!is_float(call.x.dtype())) call.fail("takes floating-point numbers, not " + std::string(name_of(call.x.dtype())));
}

/// Checks quantized numbers and their zero point. It has at most `rank` dims: with 1, there is a zero point for each
/// index of dim 0.
void check_bytes(const CallChecks& call, const Value& v, const Value& zero, int rank) {
  if (!kQuantized.has(v.dtype()))
    call.fail("takes int8 and uint8, not " + v.name() + " of " + std::string(name_of(v.dtype())));
  if (!zero.defined()) return;
  if (zero.dtype() != v.dtype() || zero.rank() > rank || (zero.rank() == 1 && !same_dim(zero.shape()[0], v.shape()[0])))
    call.fail("the zero point " + zero.name() + " is " + std::string(name_of(zero.dtype())) + zero.shape().str() +
              ", the zero point of " + v.name() + " must be " + std::string(name_of(v.dtype())) +
              (rank == 0 ? " and a scalar" : "[] or one for each output channel"));
}

}  // namespace

Value conv(const Value& x, const Value& w, const Sliding& sliding, std::int64_t groups, source_location at) {
  const Scope here = caller_scope(graph_of({{x, w}}, at), at);
  const CallChecks call{"conv", x, at};
  const int dims = call.image_dims();
  const Moves moves = open_moves(call, window_of(call, w), sliding);
  if (dims == 3) return conv3d(call, x, w, moves, groups);
  return over_planes(x, moves, [&](const Value& planes, const Move& rows, const Move& columns) {
    return conv2d(planes, dims == 1 ? expand_dims(w, {2}) : w, sliding_of(rows, columns), groups);
  });
}

Value conv_integer(const Value& x, const Value& w, const Value& x_zero, const Value& w_zero, const Sliding& sliding,
                   std::int64_t groups, source_location at) {
  const Scope here = caller_scope(graph_of({{x, w}}, at), at);
  const CallChecks call{"conv_integer", x, at};
  const int dims = call.image_dims();
  const Moves moves = open_moves(call, window_of(call, w), sliding);
  if (dims < 3)
    return over_planes(x, moves, [&](const Value& planes, const Move& rows, const Move& columns) {
      return conv2d_integer(planes, dims == 1 ? expand_dims(w, {2}) : w, x_zero, w_zero, sliding_of(rows, columns),
                            groups);
    });
  check_bytes(call, x, x_zero, 0);
  check_bytes(call, w, w_zero, 1);
  const auto centred = [](const Value& v, const Value& zero) {  // float64 represents all integers up to 2^53
    const Value wide = cast(v, DType::float64);
    if (!zero.defined()) return wide;
    const Value point = cast(zero, DType::float64);
    return wide - (point.rank() == 0 ? point : expand_dims(point, {1, 2, 3, 4}));
  };
  const Value image = centred(x, x_zero);
  const Value filter = centred(w, w_zero);
  // The conversion to int32 wraps around.
  return cast(cast(conv3d(call, image, filter, moves, groups), DType::int64), DType::int32);
}

Value conv_transpose(const Value& x, const Value& w, const Sliding& sliding, std::int64_t groups, Ints extra,
                     source_location at) {
  const Scope here = caller_scope(graph_of({{x, w}}, at), at);
  const CallChecks call{"conv_transpose", x, at};
  const int dims = call.image_dims();
  extra = call.checked_numbers("extra", std::move(extra), static_cast<std::size_t>(dims), 0);
  Moves moves = open_moves(call, window_of(call, w), sliding);
  Ints low(static_cast<std::size_t>(dims) + 2), behind = low;
  for (std::size_t d = 0; d < moves.size(); ++d) {
    behind[d + 2] = std::max<std::int64_t>(0, extra[d] - moves[d].high);
    moves[d].high = std::max<std::int64_t>(0, moves[d].high - extra[d]);
  }
  const auto transposed = [&](const Value& planes, const Move& rows, const Move& columns) {
    return conv2d_transpose(planes, dims == 1 ? expand_dims(w, {2}) : w, sliding_of(rows, columns), groups);
  };
  const auto of_volumes = [&](const Values& v) {
    return conv3d_transpose(CallChecks{"conv_transpose", v[0], at}, v[0], v[1], moves, groups);
  };
  const Value y = dims == 3 ? in_float32({x, w}, at, of_volumes) : over_planes(x, moves, transposed);
  return behind == low ? y : pad(y, low, behind);
}

Value col2im(const Value& x, const Ints& image, const Ints& window, const Sliding& sliding, source_location at) {
  Graph& graph = graph_of({{x}}, at);
  const Scope here = caller_scope(graph, at);
  const CallChecks call{"col2im", x, at};
  if (x.rank() != 3) call.fail("must have 3 dims");
  const Moves moves = call.moves(image, window, sliding);
  call.check_fit(moves);
  const std::int64_t taps = product(window), rows = call.size(x, 1), channels = rows / taps;
  Ints sizes{-1, rows}, extra, filter{rows, 1};
  std::int64_t positions = 1;
  for (const Move& move : moves) {
    sizes.push_back(move.positions());
    positions *= move.positions();
    extra.push_back(move.low + move.size + move.high - move.end());  // the elements at the end that no window covers
  }
  if (rows % taps != 0 || positions != call.size(x, 2))
    call.fail("blocks of " + std::to_string(taps) + " elements at " + std::to_string(positions) + " positions");
  filter.insert(filter.end(), window.begin(), window.end());
  call.check_number("a filter", product(filter));
  Tensor ones(x.dtype(), filter);  // row t of a channel's taps goes to tap t
  for (std::int64_t row = 0; row < rows; ++row)
    dispatch(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      ones.mutable_data<T>()[row * taps + row % taps] = static_cast<T>(1);
    });
  return conv_transpose(reshape(x, sizes), graph.constant(ones), sliding, channels, extra);
}

Value max_pool(const Value& x, const Pooling& pooling, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  const Moves moves = pooling_moves(CallChecks{"max_pool", x, at}, pooling);
  if (is_float(x.dtype()) && !is_dilated(moves)) return pool_by_planes(x, moves, max_pool2d);
  return pool_by_taps(x, moves, lowest(x.dtype()), [](const Value& a, const Value& b) { return maximum(a, b); });
}

Largest max_pool_indices(const Value& x, const Pooling& pooling, bool columns_first, source_location at) {
  Graph& graph = graph_of({{x}}, at);
  const Scope here = caller_scope(graph, at);
  const CallChecks call{"max_pool_indices", x, at};
  const Moves moves = pooling_moves(call, pooling);
  call.check_taps(moves);
  const Ints sizes = image_sizes(call);
  call.check_number("an image", product(sizes));
  Largest best{x, graph.constant(numbered(sizes, columns_first))};
  for (int d = static_cast<int>(moves.size()) - 1; d >= 0; --d) {
    const Move& move = moves[d];
    if (move.is_identity()) continue;
    const Value all = padded(best.y, d + 2, move.low, move.high, lowest(x.dtype()));
    const Value places = padded(best.indices, d + 2, move.low, move.high);
    best = {under_tap(all, d + 2, move, 0), under_tap(places, d + 2, move, 0)};
    for (std::int64_t t = 1; t < move.window; ++t) {
      const Value next = under_tap(all, d + 2, move, t);
      const Value place = under_tap(places, d + 2, move, t);
      best.indices = select(greater(next, best.y), place, best.indices);
      best.y = maximum(best.y, next);
    }
  }
  best.indices = best.indices + graph.constant(first_element_numbers(call, product(sizes)));
  return best;
}

Value max_unpool(const Value& x, const Value& indices, const Ints& image, source_location at) {
  const Scope here = caller_scope(graph_of({{x, indices}}, at), at);
  const CallChecks call{"max_unpool", x, at};
  if (static_cast<int>(image.size()) != call.image_dims()) call.fail("an image of other dims");
  Ints sizes{call.size(x, 0), call.size(x, 1)};
  sizes.insert(sizes.end(), image.begin(), image.end());
  const Value nothing = number_constant(x.graph(), 0, x.dtype(), at);
  const Value zeros = broadcast_to(nothing, {product(sizes)});
  const Value places = check_range(reshape(indices, {-1}), product(sizes), IndexKind::position, {}, at);
  return reshape(scatter_elements(zeros, places, reshape(x, {-1})), sizes);
}

Value avg_pool(const Value& x, const Pooling& pooling, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  check_float(CallChecks{"avg_pool", x, at});
  return in_float32({x}, at, [&](const Values& v) {
    const CallChecks call{"avg_pool", v[0], at};
    Moves moves = pooling_moves(call, pooling);
    if (!pooling.count_padding) return mean_of_windows(call, v[0], moves);
    Ints given;
    for (const Move& move : open_moves(call, pooling.size, pooling.sliding)) given.push_back(move.high);
    const Value all = with_padding(v[0], moves, given);
    return mean_of_windows(call, all, moves);
  });
}

Value lp_pool(const Value& x, const Pooling& pooling, double p, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  check_float(CallChecks{"lp_pool", x, at});
  if (!(p >= 1) || std::isinf(p))
    throw Error(Code::plan, "lp_pool: p is {}; it must be finite and at least 1", as_is(digits_text(p, 6)))
        .at(at)
        .hint("give p = 2 for the Euclidean norm, or use max_pool for the largest element");
  return in_float32({x}, at, [&](const Values& v) {
    const CallChecks call{"lp_pool", v[0], at};
    Moves moves = pooling_moves(call, pooling);
    const Value sized = p == 2 ? square(v[0]) : abs(v[0]);
    const Value powers = p == 1 || p == 2 ? sized : pow(sized, p);
    const Value all = with_padding(powers, moves, Ints(moves.size(), std::numeric_limits<std::int64_t>::max()));
    const Value sums = mean_of_windows(call, all, moves) * static_cast<double>(product(pooling.size));
    if (p == 1) return sums;
    const Value none = equal(sums, 0);
    const Value some = select(none, 1, sums);  // avoids a root of 0, which has an infinite gradient
    return select(none, 0, p == 2 ? sqrt(some) : pow(some, 1 / p));
  });
}

}  // namespace ferry
