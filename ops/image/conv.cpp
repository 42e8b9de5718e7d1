#include "ops/image/conv.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/op/op_work.hpp"
#include "graph/types/halo.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"

namespace ferry {
namespace {

// ---- Shapes ----

/// Rejects numbers so large that a sum of products of two such numbers could overflow.
void check_number(std::string_view name, std::int64_t number) {
  if (number > kMostComputed)
    OpFacts::fail(std::string(name) + " of " + std::to_string(number) + "; the limit is " +
                  std::to_string(kMostComputed));
}

/// The number of positions of a window along one dim. `side`: 0 for rows, 1 for columns.
Dim positions(const OpFacts& facts, const Dim& image, const Dim& window, std::size_t side) {
  if (!image.known() || !window.known()) return Dim::unknown();
  check_number("an image's dim", image.size());
  check_number("a window", window.size());
  const Ints& padding = facts.attr<Ints>("padding");
  const std::int64_t dilation = facts.attrs().has("dilations") ? facts.attr<Ints>("dilations")[side] : 1;
  const std::int64_t covered = (window.size() - 1) * dilation + 1;
  const std::int64_t padded = image.size() + padding[side] + padding[side + 2];
  const std::string which = side == 0 ? "rows" : "columns";
  if (window.size() < 1) OpFacts::fail("the window has no " + which);
  if (covered > padded)
    OpFacts::fail("a window that covers " + std::to_string(covered) + " " + which + " is larger than the image of " +
                  std::to_string(padded) + " with its padding");
  return Dim((padded - covered) / facts.attr<Ints>("strides")[side] + 1);
}

void check_sliding(const OpFacts& facts) {
  const auto check = [&](std::string_view name, std::size_t count, std::int64_t least) {
    const Ints& given = facts.attr<Ints>(name);
    if (given.size() != count || *std::min_element(given.begin(), given.end()) < least)
      OpFacts::fail(std::string(name) + " must be " + std::to_string(count) + " numbers of at least " +
                    std::to_string(least));
    check_number(name, *std::max_element(given.begin(), given.end()));
  };
  check("strides", 2, 1);
  check("padding", 4, 0);
  if (facts.attrs().has("dilations")) check("dilations", 2, 1);
  if (facts.attrs().has("size")) check("size", 2, 1);
}

void check_rank(const OpFacts& facts, int input, std::string_view what) {
  if (facts.shape(input).rank() == 4) return;
  OpFacts::fail(std::string(what) + " must have 4 dims, not " + facts.shape(input).str());
}

std::int64_t groups_of(const OpFacts& facts) {
  return facts.attr<std::int64_t>("groups");
}

void check_channels(const OpFacts& facts, const Dim& channels, const Shape& filter) {
  const std::int64_t groups = groups_of(facts);
  if (groups < 1) OpFacts::fail("groups must be at least 1");
  if (channels.known() && filter[1].known() && channels.size() != filter[1].size() * groups)
    OpFacts::fail("the image has " + channels.str() + " channels, the filter " + filter[1].str() + " in each of " +
                  std::to_string(groups) + " groups");
  if (filter[0].known() && filter[0].size() % groups != 0)
    OpFacts::fail(filter[0].str() + " output channels cannot be cut into " + std::to_string(groups) + " groups");
}

/// The shape of the output of conv2d(). `image` and `filter` are indices of inputs.
Shape convolved(const OpFacts& facts, int image, int filter) {
  check_rank(facts, image, "the image");
  check_rank(facts, filter, "the filter");
  check_sliding(facts);
  const Shape &x = facts.shape(image), &w = facts.shape(filter);
  check_channels(facts, x[1], w);
  return Shape({x[0], w[0], positions(facts, x[2], w[2], 0), positions(facts, x[3], w[3], 1)});
}

std::vector<Shape> conv_shape(const OpFacts& facts) {
  return {convolved(facts, 0, 1)};
}

std::vector<Shape> conv_integer_shape(const OpFacts& facts) {
  const Shape convolution = convolved(facts, 0, 1);
  const Shape &image_zero = facts.shape(2), &filter_zero = facts.shape(3);
  const auto differ = [](const Dim& a, const Dim& b) { return a.known() && b.known() && a.size() != b.size(); };
  if (image_zero.rank() > 0 || filter_zero.rank() > 1 ||
      (filter_zero.rank() == 1 && differ(filter_zero[0], facts.shape(1)[0])))
    OpFacts::fail("the zero point of the image must be a scalar, not " + image_zero.str() +
                  ", the zero point of the filter a scalar or one for each output channel, not " + filter_zero.str());
  return {convolution};
}

/// Checks that input 0, the gradient of an op's output, has the shape `given` of the output.
void check_gradient(const OpFacts& facts, const Shape& given) {
  check_rank(facts, 0, "the gradient");
  const Shape& dy = facts.shape(0);
  for (int d = 0; d < 4; ++d)
    if (dy[d].known() && given[d].known() && dy[d].size() != given[d].size())
      OpFacts::fail("the output is " + given.str() + ", its gradient " + dy.str());
}

std::vector<Shape> grad_input_shape(const OpFacts& facts) {
  check_gradient(facts, convolved(facts, 2, 1));
  return {facts.shape(2)};
}

std::vector<Shape> grad_filter_shape(const OpFacts& facts) {
  check_gradient(facts, convolved(facts, 1, 2));
  return {facts.shape(2)};
}

/// The size of an image's dim along which a window has `positions` positions. `side` as in positions().
Dim unpooled(const OpFacts& facts, const Dim& positions, const Dim& window, std::size_t side) {
  if (!positions.known() || !window.known()) return Dim::unknown();
  check_number("an image's dim", positions.size());
  check_number("a window", window.size());
  const Ints& padding = facts.attr<Ints>("padding");
  const std::int64_t full = (positions.size() - 1) * facts.attr<Ints>("strides")[side] +
                            (window.size() - 1) * facts.attr<Ints>("dilations")[side] + 1;
  const std::int64_t size = full - padding[side] - padding[side + 2];
  if (positions.size() > 0 && window.size() > 0 && size >= 1) return size;
  OpFacts::fail("of " + std::to_string(full) + (side == 0 ? " rows" : " columns") + " padding leaves nothing");
}

std::vector<Shape> transpose_shape(const OpFacts& facts) {
  check_rank(facts, 0, "the input");
  check_rank(facts, 1, "the filter");
  check_sliding(facts);
  const Shape &x = facts.shape(0), &w = facts.shape(1);
  const std::int64_t groups = groups_of(facts);
  if (groups < 1 || (w[0].known() && w[0].size() % groups != 0))
    OpFacts::fail(w[0].str() + " channels cannot be cut into " + std::to_string(groups) + " groups");
  if (x[1].known() && w[0].known() && x[1].size() != w[0].size())
    OpFacts::fail("the input has " + x[1].str() + " channels, the filter takes " + w[0].str());
  const Dim channels = w[1].known() ? Dim(w[1].size() * groups) : Dim::unknown();
  return {Shape({x[0], channels, unpooled(facts, x[2], w[2], 0), unpooled(facts, x[3], w[3], 1)})};
}

Shape pooled(const OpFacts& facts, int image) {
  check_rank(facts, image, "the image");
  check_sliding(facts);
  const Ints &size = facts.attr<Ints>("size"), &padding = facts.attr<Ints>("padding");
  for (std::size_t side = 0; side < 4; ++side)
    if (padding[side] >= size[side % 2])
      OpFacts::fail("padding of " + std::to_string(padding[side]) + " is not smaller than the window's " +
                    std::to_string(size[side % 2]) + (side % 2 == 0 ? " rows" : " columns"));
  const Shape& x = facts.shape(image);
  return Shape({x[0], x[1], positions(facts, x[2], Dim(size[0]), 0), positions(facts, x[3], Dim(size[1]), 1)});
}

std::vector<Shape> pool_shape(const OpFacts& facts) {
  return {pooled(facts, 0)};
}

std::vector<Shape> pick_shape(const OpFacts& facts) {
  return {pooled(facts, 1)};
}

std::vector<Shape> pool_grad_shape(const OpFacts& facts) {
  check_gradient(facts, pooled(facts, 1));
  return {facts.shape(1)};
}

// ---- Notation: with several groups, channels must be whole ----

/// The terms of index notation for the image, the filter and the output. There is one product for each element of the
/// filter and each position of its window. These determine the row and column of the image and, with several groups,
/// the channel.
struct ConvTerms {
  std::string image, filter, output;
};

ConvTerms terms(const OpFacts& facts) {
  if (groups_of(facts) == 1) return {"nc(x)(y)", "oc[u][v]", "no[p][q]"};
  return {"n(c)(x)(y)", "[o][i][u][v]", "n[o][p][q]"};
}

std::string conv_index(const OpFacts& facts) {
  const ConvTerms t = terms(facts);
  return t.image + "," + t.filter + "->" + t.output;
}
std::string conv_integer_index(const OpFacts& facts) {
  const ConvTerms t = terms(facts);
  const std::string filters = groups_of(facts) == 1 ? "o" : "[o]";
  return t.image + "," + t.filter + ",.," + (facts.shape(3).rank() > 0 ? filters : ".") + "->" + t.output;
}
std::string grad_input_index(const OpFacts& facts) {
  const ConvTerms t = terms(facts);
  return t.output + "," + t.filter + "," + t.image + "->" + t.image;
}
std::string transpose_index(const OpFacts& facts) {
  const ConvTerms t = terms(facts);
  return t.output + "," + t.filter + "->" + t.image;
}
std::string grad_filter_index(const OpFacts& facts) {
  const ConvTerms t = terms(facts);
  return t.output + "," + t.image + "," + t.filter + "->" + t.filter;
}

// ---- Rows that ops read if they are split along rows or columns ----

/// The windows over an image along one dim, one for each element of the output dim.
Reads windows_over(const OpFacts& facts, const Shape& image, const Shape* filter, std::size_t side) {
  const Dim window = filter != nullptr ? (*filter)[static_cast<int>(side) + 2] : Dim(facts.attr<Ints>("size")[side]);
  const std::int64_t dilation = facts.attrs().has("dilations") ? facts.attr<Ints>("dilations")[side] : 1;
  return {.begin = -facts.attr<Ints>("padding")[side],
          .step = facts.attr<Ints>("strides")[side],
          .size = positions(facts, image[static_cast<int>(side) + 2], window, side).size(),
          .extent = (window.size() - 1) * dilation + 1};
}
/// The elements that an element of an image reads from a value with one element for each window: one for each window
/// that covers it.
Reads covering_windows(const Reads& windows, std::int64_t size) {
  return {.size = size, .windows = {windows.begin, windows.step, windows.extent}};
}
/// The elements that an element of an image reads from a value of the image's size: the elements of all windows that
/// cover it.
Reads elements_of_windows(const Reads& windows, std::int64_t size) {
  Reads among = covering_windows(windows, size);
  among.begin = windows.begin;
  among.step = windows.step;
  among.extent = windows.extent;
  return among;
}

/// The sliding dims for rows and columns; of(side, dim) makes each of them.
template <class Of>
std::vector<SlidingDim> rows_and_columns(const Of& of) {
  return {of(std::size_t{0}, 2), of(std::size_t{1}, 3)};
}

std::vector<SlidingDim> conv_slides(const OpFacts& facts) {
  return rows_and_columns([&](std::size_t side, int dim) -> SlidingDim {
    return {dim, {{0, dim, windows_over(facts, facts.shape(0), &facts.shape(1), side)}}};
  });
}
std::vector<SlidingDim> transpose_slides(const OpFacts& facts) {
  const Shape image = transpose_shape(facts)[0];
  return rows_and_columns([&](std::size_t side, int dim) -> SlidingDim {
    return {dim, {{0, dim, covering_windows(windows_over(facts, image, &facts.shape(1), side), image[dim].size())}}};
  });
}
std::vector<SlidingDim> grad_input_slides(const OpFacts& facts) {
  const Shape& image = facts.shape(2);
  return rows_and_columns([&](std::size_t side, int dim) -> SlidingDim {
    return {dim, {{0, dim, covering_windows(windows_over(facts, image, &facts.shape(1), side), image[dim].size())}}};
  });
}
/// The gradient is a sum over output positions: each task adds the positions of its part.
std::vector<SlidingDim> grad_filter_slides(const OpFacts& facts) {
  return rows_and_columns([&](std::size_t side, int dim) -> SlidingDim {
    return {-1,
            {{0, dim, {.size = facts.shape(0)[dim].size()}},
             {1, dim, windows_over(facts, facts.shape(1), &facts.shape(2), side)}}};
  });
}
std::vector<SlidingDim> pool_slides(const OpFacts& facts) {
  return rows_and_columns([&](std::size_t side, int dim) -> SlidingDim {
    return {dim, {{0, dim, windows_over(facts, facts.shape(0), nullptr, side)}}};
  });
}
std::vector<SlidingDim> pick_slides(const OpFacts& facts) {
  return rows_and_columns([&](std::size_t side, int dim) -> SlidingDim {
    const Reads windows = windows_over(facts, facts.shape(1), nullptr, side);
    return {dim, {{0, dim, windows}, {1, dim, windows}}};
  });
}
std::vector<SlidingDim> max_pool_grad_slides(const OpFacts& facts) {
  const Shape& image = facts.shape(1);
  return rows_and_columns([&](std::size_t side, int dim) -> SlidingDim {
    const Reads windows = windows_over(facts, image, nullptr, side);
    return {dim,
            {{0, dim, covering_windows(windows, image[dim].size())},
             {1, dim, elements_of_windows(windows, image[dim].size())}}};
  });
}
std::vector<SlidingDim> avg_pool_grad_slides(const OpFacts& facts) {
  const Shape& image = facts.shape(1);
  return rows_and_columns([&](std::size_t side, int dim) -> SlidingDim {
    return {dim, {{0, dim, covering_windows(windows_over(facts, image, nullptr, side), image[dim].size())}}};
  });
}

// ---- The ops ----

constexpr AttrDef kConvAttrs[] = {{"dilations", "ints"}, {"groups", "int"}, {"padding", "ints"}, {"strides", "ints"}};
constexpr AttrDef kPoolAttrs[] = {{"padding", "ints"}, {"size", "ints"}, {"strides", "ints"}};

/// One of the convolution ops. They are linear in each factor and adjoint to one another.
constexpr OpDef convolving(std::string_view name, IndexFn index_of, InferFn infer, SlidesFn slides, GradFn grad) {
  OpDef def{.name = name, .types = "T,T->T", .T = kFloats};
  def.attrs = kConvAttrs;
  def.index_of = index_of;
  def.reduce = Reduce::sum;
  def.linear = 0b01;
  def.infer = infer;
  def.slides = slides;
  def.flops = 2;
  def.grad = grad;
  return def;
}

/// Adds a third input to the op, which only determines the sizes of the output.
constexpr OpDef like_input_2(OpDef def) {
  def.types = "T,T,T->T";
  def.unread = 0b100;
  return def;
}

constexpr std::string_view kDown = "nc(x)(y)->nc[p][q]";
constexpr std::string_view kDownBoth = "nc(x)(y),nc(x)(y)->nc[p][q]";
constexpr std::string_view kUp = "nc[p][q],nc(x)(y)->nc(x)(y)";

/// One comparison or addition for each element of each window. `windows` has an element for each window.
double flops_of_windows(const OpFacts& facts, const Shape& windows) {
  const auto& size = facts.attr<Ints>("size");
  return known_count(windows) * static_cast<double>(size[0] * size[1]);
}
double pool_flops(const OpFacts& facts, std::span<const Type> outputs) {
  return flops_of_windows(facts, outputs[0].shape);
}
double pool_grad_flops(const OpFacts& facts, std::span<const Type>) {
  return flops_of_windows(facts, facts.shape(0));
}

constexpr OpDef pooling(std::string_view name, std::string_view index, InferFn infer, SlidesFn slides, GradFn grad) {
  OpDef def{.name = name, .types = index.find(',') == std::string_view::npos ? "T->T" : "T,T->T", .T = kFloats};
  def.attrs = kPoolAttrs;
  def.index = index;
  def.infer = infer;
  def.slides = slides;
  def.flops_of = index == kUp ? pool_grad_flops : pool_flops;
  def.grad = grad;
  return def;
}

/// Marks the op as linear in its first input, so that partial sums may pass through it.
constexpr OpDef linear(OpDef def) {
  def.linear = 0b01;
  return def;
}

constexpr OpDef reads_sizes_of_1(OpDef def) {
  def.unread = 0b10;
  return def;
}

Values conv_grad(GradCtx& g);
Values transpose_grad(GradCtx& g);
Values grad_input_grad(GradCtx& g);
Values grad_filter_grad(GradCtx& g);
Values max_pool_grad(GradCtx& g);
Values max_pool_grad_grad(GradCtx& g);
Values pick_grad(GradCtx& g);
Values avg_pool_grad(GradCtx& g);
Values avg_pool_grad_grad(GradCtx& g);

constexpr OpDef kConv2D = convolving("Conv2D", conv_index, conv_shape, conv_slides, conv_grad);
constexpr OpDef of_integers(OpDef def) {
  def.types = "T,U,T,U->int32";
  def.T = def.U = kQuantized;
  def.linear = 0;
  def.no_grad = "integers have no gradient";
  return def;
}
constexpr OpDef kConv2DInteger =
    of_integers(convolving("Conv2DInteger", conv_integer_index, conv_integer_shape, conv_slides, nullptr));
constexpr OpDef kConv2DTranspose =
    convolving("Conv2DTranspose", transpose_index, transpose_shape, transpose_slides, transpose_grad);
constexpr OpDef kConv2DGradInput =
    like_input_2(convolving("Conv2DGradInput", grad_input_index, grad_input_shape, grad_input_slides, grad_input_grad));
constexpr OpDef kConv2DGradFilter = like_input_2(
    convolving("Conv2DGradFilter", grad_filter_index, grad_filter_shape, grad_filter_slides, grad_filter_grad));
constexpr OpDef kMaxPool2D = pooling("MaxPool2D", kDown, pool_shape, pool_slides, max_pool_grad);
constexpr OpDef kMaxPool2DGrad =
    linear(pooling("MaxPool2DGrad", kUp, pool_grad_shape, max_pool_grad_slides, max_pool_grad_grad));
constexpr OpDef kMaxPool2DPick = linear(pooling("MaxPool2DPick", kDownBoth, pick_shape, pick_slides, pick_grad));
constexpr OpDef kAvgPool2D = linear(pooling("AvgPool2D", kDown, pool_shape, pool_slides, avg_pool_grad));
constexpr OpDef kAvgPool2DGrad =
    reads_sizes_of_1(linear(pooling("AvgPool2DGrad", kUp, pool_grad_shape, avg_pool_grad_slides, avg_pool_grad_grad)));

/// Makes an op with the window attributes of g's op.
Value also(const OpDef& def, std::initializer_list<Value> inputs, GradCtx& g) {
  return make_one(def, inputs, g.line(), g.attrs());
}

Values conv_grad(GradCtx& g) {
  return {g.want(0,
                 [&] {
                   return also(kConv2DGradInput, {g.dout(), g.in(1), g.like(0)}, g);
                 }),
          g.want(1, [&] {
            return also(kConv2DGradFilter, {g.dout(), g.in(0), g.like(1)}, g);
          })};
}
Values transpose_grad(GradCtx& g) {
  return {g.want(0,
                 [&] {
                   return also(kConv2D, {g.dout(), g.in(1)}, g);
                 }),
          g.want(1, [&] {
            return also(kConv2DGradFilter, {g.in(0), g.dout(), g.like(1)}, g);
          })};
}
Values grad_input_grad(GradCtx& g) {
  return {g.want(0,
                 [&] {
                   return also(kConv2D, {g.dout(), g.in(1)}, g);
                 }),
          g.want(1,
                 [&] {
                   return also(kConv2DGradFilter, {g.in(0), g.dout(), g.like(1)}, g);
                 }),
          Value()};
}
Values grad_filter_grad(GradCtx& g) {
  return {g.want(0,
                 [&] {
                   return also(kConv2D, {g.in(1), g.dout()}, g);
                 }),
          g.want(1,
                 [&] {
                   return also(kConv2DGradInput, {g.in(0), g.dout(), g.like(1)}, g);
                 }),
          Value()};
}
Values max_pool_grad(GradCtx& g) {
  return {also(kMaxPool2DGrad, {g.dout(), g.in()}, g)};
}
Values max_pool_grad_grad(GradCtx& g) {
  return {also(kMaxPool2DPick, {g.dout(), g.in(1)}, g), Value()};
}
Values pick_grad(GradCtx& g) {
  return {also(kMaxPool2DGrad, {g.dout(), g.in(1)}, g), Value()};
}
Values avg_pool_grad(GradCtx& g) {
  return {also(kAvgPool2DGrad, {g.dout(), g.like()}, g)};
}
Values avg_pool_grad_grad(GradCtx& g) {
  return {also(kAvgPool2D, {g.dout()}, g), Value()};
}

constexpr const OpDef* kConvOps[] = {&kConv2D,           &kConv2DInteger, &kConv2DTranspose, &kConv2DGradInput,
                                     &kConv2DGradFilter, &kMaxPool2D,     &kMaxPool2DGrad,   &kMaxPool2DPick,
                                     &kAvgPool2D,        &kAvgPool2DGrad};

Ints or_all(const Ints& given, std::int64_t number) {
  return given.empty() ? Ints{number, number} : given;
}

Attrs sliding_attrs(const Sliding& sliding) {
  const Ints sides = or_all(sliding.padding, 0);
  Ints padding = sides;
  if (sides.size() == 2) padding.insert(padding.end(), sides.begin(), sides.end());
  return {{"padding", std::move(padding)}, {"strides", or_all(sliding.strides, 1)}};
}

Attrs conv_attrs(const Sliding& sliding, std::int64_t groups) {
  Attrs attrs = sliding_attrs(sliding);
  attrs.set("dilations", or_all(sliding.dilations, 1));
  attrs.set("groups", groups);
  return attrs;
}

Value pool(const OpDef& def, const Value& x, Ints size, const Sliding& sliding, source_location at) {
  if (or_all(sliding.dilations, 1) != Ints{1, 1})
    throw Error(Code::plan, std::string(def.name) + ": of " + x.name() + " with dilations, which pooling has not")
        .at(at);
  Attrs attrs = sliding_attrs(sliding);
  attrs.set("size", std::move(size));
  return make_one(def, {x}, at, std::move(attrs));
}

}  // namespace

Value conv2d(const Value& x, const Value& w, const Sliding& sliding, std::int64_t groups, source_location at) {
  return make_one(kConv2D, {x, w}, at, conv_attrs(sliding, groups));
}

Value conv2d_integer(const Value& x, const Value& w, const Value& x_zero, const Value& w_zero, const Sliding& sliding,
                     std::int64_t groups, source_location at) {
  const Scope here = caller_scope(graph_of({{x, w}}, at), at);
  const Value x_point = zero_point(x, x_zero, at);
  const Value w_point = zero_point(w, w_zero, at);
  return make_one(kConv2DInteger, {x, w, x_point, w_point}, at, conv_attrs(sliding, groups));
}

Value conv2d_transpose(const Value& x, const Value& w, const Sliding& sliding, std::int64_t groups,
                       source_location at) {
  return make_one(kConv2DTranspose, {x, w}, at, conv_attrs(sliding, groups));
}

Value max_pool2d(const Value& x, Ints size, const Sliding& sliding, source_location at) {
  return pool(kMaxPool2D, x, std::move(size), sliding, at);
}

Value avg_pool2d(const Value& x, Ints size, const Sliding& sliding, source_location at) {
  return pool(kAvgPool2D, x, std::move(size), sliding, at);
}

std::span<const OpDef* const> conv_ops() {
  return kConvOps;
}

}  // namespace ferry
