#include "ops/math/linalg.hpp"

#include "graph/op/op_work.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

bool flag(const Attrs& attrs, std::string_view name) {
  return attrs.get_or(name, false);
}

std::string matmul_index(const OpFacts& facts) {
  const std::string a = flag(facts.attrs(), "transpose_a") ? "...km" : "...mk";
  const std::string b = flag(facts.attrs(), "transpose_b") ? "...nk" : "...kn";
  return a + "," + b + "->...mn";
}

/// The sum over all rows of products of rows. One product of all rows together needs no product for each of the leading
/// dims, and no sum of these products.
std::string over_rows_index(const OpFacts& facts) {
  if (facts.shape(0).rank() != facts.shape(1).rank() || facts.shape(0).rank() < 2)
    OpFacts::fail("rows of " + facts.shape(0).str() + " and " + facts.shape(1).str());
  Letters letters;
  const std::string rows = letters.next(facts.shape(0).rank() - 1), k = letters.next(), n = letters.next();
  return rows + k + "," + rows + n + "->" + k + n;
}
Values over_rows_grad(GradCtx& g) {
  return {g.want(0, [&] { return matmul(g.in(1), g.dout(), false, true); }),
          g.want(1, [&] { return matmul(g.in(0), g.dout()); })};
}
constexpr OpDef kMatMulOverRows{.name = "MatMulOverRows",
                                .types = "T,T->T",
                                .index_of = over_rows_index,
                                .reduce = Reduce::sum,
                                .linear = 0b01,
                                .flops = 2,
                                .grad = over_rows_grad};

// With Y = A B, where A and B are a and b after their transposes: dA = dY B', dB = A' dY. The gradient of a transposed
// input is also transposed: it is the product of the transposed factors in reverse order.
Values matmul_grad(GradCtx& g) {
  const bool ta = flag(g.attrs(), "transpose_a");
  const bool tb = flag(g.attrs(), "transpose_b");
  const Value a = g.in(0);
  const Value b = g.in(1);
  const Value dy = g.dout();
  const bool many = b.rank() == 2 && a.rank() > 2 && !ta;  // many matrices times one matrix
  return {g.want(0, [&] { return ta ? matmul(b, dy, tb, true) : matmul(dy, b, false, !tb); }), g.want(1, [&] {
            if (many) return tb ? matmul_over_rows(dy, a) : matmul_over_rows(a, dy);
            return tb ? matmul(dy, a, true, ta) : matmul(a, dy, !ta, false);
          })};
}

constexpr AttrDef kMatMulAttrs[] = {{"transpose_a", "bool", false}, {"transpose_b", "bool", false}};
constexpr OpDef kMatMul{.name = "MatMul",
                        .types = "T,T->T",
                        .attrs = kMatMulAttrs,
                        .index_of = matmul_index,
                        .reduce = Reduce::sum,
                        .linear = 0b01,
                        .flops = 2,
                        .grad = matmul_grad};

std::string matmul_integer_index(const OpFacts& facts) {
  if (facts.shape(1).rank() != 2 || facts.shape(0).rank() < 1)
    OpFacts::fail("a matrix is multiplied, not " + facts.shape(1).str() + ", from the left by rows, not by " +
                  facts.shape(0).str());
  const bool each_row = facts.shape(2).rank() > 0, each_column = facts.shape(3).rank() > 0;
  if ((each_row && facts.shape(0).rank() != 2) || facts.shape(2).rank() > 1 || facts.shape(3).rank() > 1)
    OpFacts::fail("zero points must be scalars, of a matrix one for each row, of the second one for each column, not " +
                  facts.shape(2).str() + " and " + facts.shape(3).str());
  const std::string rows = each_row ? "m" : "...";
  return rows + "k,kn," + term(each_row ? "m" : "") + "," + term(each_column ? "n" : "") + "->" + rows + "n";
}

constexpr OpDef kMatMulInteger{.name = "MatMulInteger",
                               .types = "T,U,T,U->int32",
                               .T = kQuantized,
                               .U = kQuantized,
                               .index_of = matmul_integer_index,
                               .reduce = Reduce::sum,
                               .flops = 2,
                               .no_grad = "integers have no gradient"};

std::string det_index(const OpFacts& facts) {
  const Shape& shape = facts.shape(0);
  const int rank = shape.rank();
  if (rank < 2 || (shape[rank - 1].known() && shape[rank - 2].known() && shape[rank - 1] != shape[rank - 2]))
    OpFacts::fail(shape.str() + " are no square matrices");
  const std::string leading = Letters().next(rank - 2);
  return leading + "[y][z]->" + term(leading);
}
std::string cofactors_index(const OpFacts& facts) {
  static_cast<void>(det_index(facts));
  const std::string leading = Letters().next(facts.shape(0).rank() - 2);
  return leading + "[y][z]->" + leading + "[y][z]";
}

Value cofactors(const Value& x);

/// The size and the number of square matrices.
struct Matrices {
  explicit Matrices(const Shape& shape) {
    const Dim& rows = shape[shape.rank() - 1];
    n = rows.known() ? static_cast<double>(rows.size()) : 1;
    count = n == 0 ? 0 : known_count(shape) / (n * n);
  }
  double n, count;
};

/// The flops of a determinant by Gaussian elimination. Each of n - 1 steps divides a column, and subtracts a multiple
/// of a row from each row below. Finally, the pivots are multiplied.
double elimination_flops(double n) {
  return (n - 1) * n * (2 * n - 1) / 3 + n * (n - 1) / 2 + n;
}
double det_flops(const OpFacts& facts, std::span<const Type>) {
  const Matrices all(facts.shape(0));
  return all.count * elimination_flops(all.n);
}
/// The flops of the determinants of all minors.
double cofactors_flops(const OpFacts& facts, std::span<const Type>) {
  const Matrices all(facts.shape(0));
  return all.count * all.n * all.n * elimination_flops(all.n - 1);
}

constexpr OpDef kDet{
    .name = "Det", .types = "T->T", .T = kFloats, .index_of = det_index, .flops_of = det_flops, .grad = [](GradCtx& g) {
      const Value dy = expand_dims(g.dout(), {-2, -1});
      return Values{dy * cofactors(g.in())};
    }};

constexpr OpDef kCofactors{.name = "Cofactors",
                           .types = "T->T",
                           .T = kFloats,
                           .index_of = cofactors_index,
                           .flops_of = cofactors_flops,
                           .no_grad = "second derivatives of determinants are not built"};

constexpr const OpDef* kLinalgOps[] = {&kMatMul, &kMatMulOverRows, &kMatMulInteger, &kDet, &kCofactors};

Value cofactors(const Value& x) {
  return make_one(kCofactors, {x}, x.op().line());
}

}  // namespace

Value matmul(const Value& a, const Value& b, bool transpose_a, bool transpose_b, source_location at) {
  Graph& graph = graph_of({{a, b}}, at);
  if (const bool row = a.rank() == 1, column = b.rank() == 1; row || column) {
    const Scope here = caller_scope(graph, at);
    const Value left = row ? expand_dims(a, {0}) : a;
    const Value right = column ? expand_dims(b, {1}) : b;
    const Value product = matmul(left, right, transpose_a && !row, transpose_b && !column, at);
    return squeeze(product, row && column ? Ints{-2, -1} : Ints{row ? -2 : -1});
  }
  Attrs attrs;
  if (transpose_a) attrs.set("transpose_a", true);
  if (transpose_b) attrs.set("transpose_b", true);
  const Values both = same_dtype({a, b}, at);
  return make_one(kMatMul, {both[0], both[1]}, at, std::move(attrs));
}

Value matmul_over_rows(const Value& a, const Value& b, source_location at) {
  return make_one(kMatMulOverRows, {a, b}, at);
}

Value matmul_integer(const Value& a, const Value& b, const Value& a_zero, const Value& b_zero, source_location at) {
  const Scope here = caller_scope(graph_of({{a, b}}, at), at);
  const Value a_point = zero_point(a, a_zero, at);
  const Value b_point = zero_point(b, b_zero, at);
  return make_one(kMatMulInteger, {a, b, a_point, b_point}, at);
}

Value det(const Value& x, source_location at) {
  return make_one(kDet, {x}, at);
}

std::span<const OpDef* const> linalg_ops() {
  return kLinalgOps;
}

}  // namespace ferry
