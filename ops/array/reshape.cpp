#include "ops/array/reshape.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"

namespace ferry {
namespace {

/// Computes the index notation of a reshape. From the left, the dims of both sides are divided into groups of equal
/// product. A dim that is alone in its group on both sides survives and keeps its letter. In other groups, the
/// outermost dims of both sides share a letter if their sizes have a common divisor above 1 (IndexSpace::divisor). The
/// k-th part of one of these dims then has the elements of the k-th part of the other. All other dims must be whole,
/// because a part of such a dim does not correspond to a part of any dim on the other side. For example, a reshape of
/// [6,10,64] to [60,8,8] gives "a[b]c->ac[d]".
class ReshapeLetters {
 public:
  ReshapeLetters(const Shape& in, const Shape& out) : in_(in), out_(out) {
    while (i_ < in_.rank() || o_ < out_.rank()) {
      if (i_ < in_.rank() && o_ < out_.rank() && same_dim(in_[i_], out_[o_]))
        keep_dim();
      else if (i_ < in_.rank() && is_one(in_[i_]))
        add_whole_in();
      else if (o_ < out_.rank() && is_one(out_[o_]))
        add_whole_out();
      else if (!match_group())
        add_rest_whole();
    }
  }
  [[nodiscard]] std::string in() const { return term(in_text_); }
  [[nodiscard]] std::string out() const { return term(out_text_); }
  /// The term of an input with the shape of the output (ReshapeLike). A shared letter has the size of the dim in the
  /// first input, so that this input gets another letter there.
  [[nodiscard]] std::string like() {
    std::string text;
    for (std::size_t i = 0; i < out_text_.size(); ++i)
      text += shared_.contains(i) ? whole(letters_.next()) : std::string(1, out_text_[i]);
    return term(text);
  }

 private:
  void keep_dim() {
    const std::string letter = letters_.next();
    in_text_ += letter;
    out_text_ += letter;
    ++i_;
    ++o_;
  }
  void share_letter() {
    shared_.insert(out_text_.size());
    keep_dim();
  }
  void add_whole_in() {
    in_text_ += whole(letters_.next());
    ++i_;
  }
  void add_whole_out() {
    out_text_ += whole(letters_.next());
    ++o_;
  }
  void add_rest_whole() {
    while (i_ < in_.rank()) add_whole_in();
    while (o_ < out_.rank()) add_whole_out();
  }
  /// Takes dims from the side with the smaller product until the products are equal. Returns false if they never are.
  bool match_group() {
    int i = i_, o = o_;
    std::int64_t in = 1, out = 1;
    do {
      const bool from_in = in <= out;
      const Shape& shape = from_in ? in_ : out_;
      int& at = from_in ? i : o;
      if (at == shape.rank() || !shape[at].fixed()) return false;
      if (__builtin_mul_overflow(from_in ? in : out, shape[at].size(), from_in ? &in : &out)) return false;
      ++at;
    } while (in != out || o == o_);
    if (std::gcd(in_[i_].size(), out_[o_].size()) > 1) share_letter();
    while (i_ < i) add_whole_in();
    while (o_ < o) add_whole_out();
    return true;
  }

  const Shape& in_;
  const Shape& out_;
  Letters letters_;
  int i_ = 0, o_ = 0;
  std::string in_text_, out_text_;
  std::set<std::size_t> shared_;  ///< positions in out_text_ of the letters that both sides share
};

/// The product of the fixed dims, and the dims that are not fixed.
struct Factors {
  std::int64_t known = 1;
  std::vector<Dim> open;
};

Factors factors(std::span<const Dim> dims) {
  Factors result;
  Ints sizes;
  for (const Dim& dim : dims) {
    if (dim.fixed())
      sizes.push_back(dim.size());
    else
      result.open.push_back(dim);
  }
  result.known = checked_count(sizes);
  return result;
}

[[noreturn]] void fail_reshape(const Shape& from, const Ints& to) {
  std::string sizes;
  for (std::int64_t size : to) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  OpFacts::fail("the elements of " + from.str() + " do not fit [" + sizes + "]");
}

/// The dim for a size of -1.
Dim left_over(const Shape& from, const Ints& to, std::int64_t others) {
  const Factors in = factors(from.dims());
  if (in.open.empty()) {
    if (others == 0 || in.known % others != 0) fail_reshape(from, to);
    return in.known / others;
  }
  if (in.open.size() == 1 && in.known == others) return in.open[0];
  return Dim::unknown();
}

Shape reshaped(const Shape& from, const Ints& to) {
  Shape shape;
  Ints given;
  int open = -1;
  for (std::int64_t size : to) {
    if (size < -1) OpFacts::fail("a size of " + std::to_string(size));
    if (size == -1 && open >= 0) OpFacts::fail("more than one size is -1");
    if (size == -1)
      open = shape.rank();
    else
      given.push_back(size);
    shape.push_back(size);
  }
  const std::int64_t others = checked_count(given);
  if (open >= 0)
    shape[open] = left_over(from, to, others);
  else if (from.known() && (from.bounded() || from.count() != others))
    fail_reshape(from, to);
  if (from.bounded() && (open != 0 || !shape[0].bounded()))
    OpFacts::fail("the first dim of " + from.str() + " is bounded and must stay");
  return shape;
}

std::vector<Shape> reshape_shape(const OpFacts& facts) {
  return {reshaped(facts.shape(0), facts.attr<Ints>("shape"))};
}

std::string reshape_index(const OpFacts& facts) {
  const Shape to = reshaped(facts.shape(0), facts.attr<Ints>("shape"));
  const ReshapeLetters letters(facts.shape(0), to);
  return letters.in() + "->" + letters.out();
}

std::vector<Shape> reshape_like_shape(const OpFacts& facts) {
  const Shape& from = facts.shape(0);
  const Shape& to = facts.shape(1);
  if (from.known() && to.known() && from.count() != to.count())
    OpFacts::fail("the elements of " + from.str() + " do not fit " + to.str());
  if (from.bounded() && to.rank() > 0 && !(from[0] == to[0]))
    OpFacts::fail("the first dim of " + from.str() + " is bounded and must stay");
  return {to};
}

std::string reshape_like_index(const OpFacts& facts) {
  ReshapeLetters letters(facts.shape(0), facts.shape(1));
  return letters.in() + "," + letters.like() + "->" + letters.out();
}

// ---- ReshapeRows: joins or divides the rows of a bounded value ----

/// The number of elements of a row (the dims after the first); -1 if one of the dims is not known.
std::int64_t row_of(const Shape& shape) {
  Ints sizes;
  for (int d = 1; d < shape.rank(); ++d) {
    if (!shape[d].known()) return -1;
    sizes.push_back(shape[d].size());
  }
  return checked_count(sizes);
}

/// For example, [<=3,8] becomes [<=12,2], and [<=12,2] becomes [<=3,8].
std::vector<Shape> reshape_rows_shape(const OpFacts& facts) {
  const Shape& from = facts.shape(0);
  if (from.rank() == 0) OpFacts::fail("a scalar has no rows");
  Shape to{Dim::unknown()};
  for (std::int64_t size : facts.attr<Ints>("row")) {
    if (size < 1) OpFacts::fail("a row has a size of " + std::to_string(size));
    to.push_back(size);
  }
  const std::int64_t row = row_of(from), wanted = row_of(to);
  if (row < 0 || !from[0].known()) return {to};
  const std::int64_t rows = checked_count(Ints{from[0].size(), row}) / wanted;
  to[0] = from[0].bounded() ? Dim::at_most(rows) : Dim(rows);
  return {to};
}

/// Returns index notation such as "[a][b]c->[d]c": trailing dims that are equal on both sides may be split.
std::string reshape_rows_index(const OpFacts& facts) {
  const Shape& from = facts.shape(0);
  const Shape to = reshape_rows_shape(facts)[0];
  Letters letters;
  std::string in, out;
  int i = from.rank(), o = to.rank();
  for (; i > 1 && o > 1 && same_dim(from[i - 1], to[o - 1]); --i, --o) {
    const std::string letter = letters.next();
    in = letter + in;
    out = letter + out;
  }
  for (; i > 0; --i) in = whole(letters.next()) + in;
  for (; o > 0; --o) out = whole(letters.next()) + out;
  return in + "->" + out;
}

Values reshape_rows_grad(GradCtx& g) {
  Ints sizes{-1};
  for (int d = 1; d < g.in().rank(); ++d) sizes.push_back(g.in().shape()[d].size());
  return {reshape(g.dout(), sizes)};
}

/// Whether `sizes` would change the size of x's rows. x is bounded.
bool changes_rows(const Value& x, const Ints& sizes) {
  if (!x.shape().bounded() || sizes.empty() || sizes[0] != -1) return false;
  const auto positive = [](std::int64_t size) { return size > 0; };
  return std::all_of(sizes.begin() + 1, sizes.end(), positive) &&
         checked_count(std::span(sizes).subspan(1)) != row_of(x.shape());
}

/// The attribute `axes` as sorted dims of a value of rank `rank`.
std::vector<int> dims_of_axes(const OpFacts& facts, int rank) {
  std::vector<int> dims;
  for (std::int64_t axis : facts.attr<Ints>("axes")) {
    if (axis < -rank || axis >= rank)
      OpFacts::fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
    dims.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end()) OpFacts::fail("an axis is given twice");
  return dims;
}

bool has(const std::vector<int>& dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

std::vector<Shape> expand_shape(const OpFacts& facts) {
  const Shape& from = facts.shape(0);
  const int rank = from.rank() + static_cast<int>(facts.attr<Ints>("axes").size());
  const std::vector<int> added = dims_of_axes(facts, rank);
  if (from.bounded() && has(added, 0)) OpFacts::fail("the first dim of " + from.str() + " is bounded and must stay");
  Shape shape;
  for (int d = 0, i = 0; d < rank; ++d) shape.push_back(has(added, d) ? Dim(1) : from[i++]);
  return {shape};
}

/// Returns index notation such as "ab->a[x]b".
std::string expand_index(const OpFacts& facts) {
  const int rank = facts.shape(0).rank() + static_cast<int>(facts.attr<Ints>("axes").size());
  const std::vector<int> added = dims_of_axes(facts, rank);
  Letters letters;
  std::string in, out;
  for (int d = 0; d < rank; ++d) {
    const std::string letter = letters.next();
    if (!has(added, d)) in += letter;
    out += has(added, d) ? whole(letter) : letter;
  }
  return term(in) + "->" + term(out);
}

/// Returns index notation such as "a[x]b->ab".
std::string squeeze_index(const OpFacts& facts) {
  const Shape& from = facts.shape(0);
  const std::vector<int> removed = dims_of_axes(facts, from.rank());
  Letters letters;
  std::string in, out;
  for (int d = 0; d < from.rank(); ++d) {
    const std::string letter = letters.next();
    in += has(removed, d) ? whole(letter) : letter;
    if (!has(removed, d)) out += letter;
    if (has(removed, d) && from[d].known() && !is_one(from[d]))
      OpFacts::fail("dim " + std::to_string(d) + " of " + from.str() + " is not 1");
  }
  return term(in) + "->" + term(out);
}

constexpr AttrDef kShapeAttr[] = {{"shape", "ints"}};

constexpr OpDef kIdentity{.name = "Identity",
                          .types = "T->T",
                          .T = kAnyType,
                          .index = "...->...",
                          .linear = 0b1,
                          .flops = 0,
                          .flags = kView,
                          .grad = [](GradCtx& g) { return Values{g.dout()}; }};

constexpr OpDef kStopGradient{.name = "StopGradient",
                              .types = "T->T",
                              .T = kAnyType,
                              .index = "...->...",
                              .linear = 0b1,
                              .flops = 0,
                              .flags = kView,
                              .grad = [](GradCtx&) { return Values{Value()}; }};

constexpr OpDef kReshape{.name = "Reshape",
                         .types = "T->T",
                         .T = kAnyType,
                         .attrs = kShapeAttr,
                         .index_of = reshape_index,
                         .linear = 0b1,
                         .infer = reshape_shape,
                         .flops = 0,
                         .flags = kView,
                         .grad = [](GradCtx& g) { return Values{reshape_as(g.dout(), g.like())}; }};

constexpr AttrDef kRowAttr[] = {{"row", "ints"}};

// ReshapeRows is not a view (as Reshape is), because it changes the extent. A view has the same extent as its input.
constexpr OpDef kReshapeRows{.name = "ReshapeRows",
                             .types = "T->T",
                             .T = kAnyType,
                             .attrs = kRowAttr,
                             .index_of = reshape_rows_index,
                             .linear = 0b1,
                             .infer = reshape_rows_shape,
                             .flops = 0,
                             .flags = kMoves,
                             .grad = reshape_rows_grad};

constexpr OpDef kReshapeLike{.name = "ReshapeLike",
                             .types = "T,U->T",
                             .T = kAnyType,
                             .U = kAnyType,
                             .index_of = reshape_like_index,
                             .linear = 0b01,
                             .unread = 0b10,
                             .infer = reshape_like_shape,
                             .flops = 0,
                             .flags = kView,
                             .grad = [](GradCtx& g) {
                               return Values{reshape_as(g.dout(), g.like()), Value()};
                             }};

constexpr OpDef kExpandDims{.name = "ExpandDims",
                            .types = "T->T",
                            .T = kAnyType,
                            .attrs = kAxesAttr,
                            .index_of = expand_index,
                            .linear = 0b1,
                            .infer = expand_shape,
                            .flops = 0,
                            .flags = kView,
                            .grad = [](GradCtx& g) { return Values{squeeze(g.dout(), g.attrs().get<Ints>("axes"))}; }};

constexpr OpDef kSqueeze{.name = "Squeeze",
                         .types = "T->T",
                         .T = kAnyType,
                         .attrs = kAxesAttr,
                         .index_of = squeeze_index,
                         .linear = 0b1,
                         .flops = 0,
                         .flags = kView,
                         .grad = [](GradCtx& g) { return Values{expand_dims(g.dout(), g.attrs().get<Ints>("axes"))}; }};

constexpr const OpDef* kReshapeOps[] = {&kIdentity,    &kStopGradient, &kReshape, &kReshapeRows,
                                        &kReshapeLike, &kExpandDims,   &kSqueeze};

}  // namespace

Value identity(const Value& x, source_location at) {
  return make_one(kIdentity, {x}, at);
}
Value stop_gradient(const Value& x, source_location at) {
  return make_one(kStopGradient, {x}, at);
}

Value reshape(const Value& x, Ints sizes, source_location at) {
  static_cast<void>(graph_of({{x}}, at));
  if (changes_rows(x, sizes)) return make_one(kReshapeRows, {x}, at, {{"row", Ints(sizes.begin() + 1, sizes.end())}});
  return make_one(kReshape, {x}, at, {{"shape", std::move(sizes)}});
}

Value reshape_as(const Value& x, const Value& like, source_location at) {
  if (surely_equal(x.shape(), like.shape())) return x;
  if (like.shape().fixed()) return reshape(x, like.shape().sizes(), at);
  return make_one(kReshapeLike, {x, like}, at);
}

Value expand_dims(const Value& x, Ints axes, source_location at) {
  return axes.empty() ? x : make_one(kExpandDims, {x}, at, {{"axes", std::move(axes)}});
}

Value squeeze(const Value& x, Ints axes, source_location at) {
  return axes.empty() ? x : make_one(kSqueeze, {x}, at, {{"axes", std::move(axes)}});
}

std::span<const OpDef* const> reshape_ops() {
  return kReshapeOps;
}

}  // namespace ferry
