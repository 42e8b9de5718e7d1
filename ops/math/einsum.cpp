#include "ops/math/einsum.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry {
namespace {

bool has(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

/// The labels for which keep(label) is true.
template <class Keep>
std::string filter_labels(const std::string& labels, const Keep& keep) {
  std::string result;
  for (char label : labels)
    if (keep(label)) result += label;
  return result;
}

/// A value and a label for each of its dims: a letter, or for the dims of "..." digits; the last of these dims has the
/// digit 0.
struct Labelled {
  Value value;
  std::string labels;

  [[nodiscard]] int axis(char label) const { return static_cast<int>(labels.find(label)); }
};

[[noreturn]] void fail(const std::string& why, const SourceLine& line) {
  throw Error(Code::plan, "einsum: " + why).at(line);
}

// ---- Reading the notation ----

struct Terms {
  std::vector<std::string> inputs;
  std::string output;
};

Terms split_terms(std::string_view notation) {
  std::string text;
  for (char c : notation)
    if (c != ' ') text += c;
  const std::size_t arrow = text.find("->");
  Terms terms;
  std::string left = text.substr(0, arrow);
  for (std::size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',')) {
    terms.inputs.push_back(left.substr(0, comma));
    left = left.substr(comma + 1);
  }
  terms.inputs.push_back(left);
  if (arrow != std::string::npos) {
    terms.output = text.substr(arrow + 2);
    return terms;
  }
  std::string all_letters;
  for (const std::string& term : terms.inputs) all_letters += filter_labels(term, [](char c) { return c != '.'; });
  std::sort(all_letters.begin(), all_letters.end());
  terms.output = text.find("...") == std::string::npos ? "" : "...";
  for (char c : all_letters)
    if (std::count(all_letters.begin(), all_letters.end(), c) == 1) terms.output += c;
  return terms;
}

/// The labels of a term: its letters, with `dims` digits in place of "...".
std::string labels_of(const std::string& term, int dims, const SourceLine& line) {
  const std::size_t dots = term.find("...");
  std::string labels = dots == std::string::npos ? term : std::string(term).erase(dots, 3);
  for (char c : labels)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
      fail("\"" + term + "\" has a '" + std::string(1, c) + "'", line);
  std::string digits;
  for (int d = dims; d > 0; --d) digits += static_cast<char>('0' + d - 1);
  return dots == std::string::npos ? labels : labels.insert(dots, digits);
}

int letters_in(const std::string& term) {
  return static_cast<int>(term.size()) - (term.find("...") == std::string::npos ? 0 : 3);
}

// ---- Computing ----

Labelled permuted(const Labelled& x, const std::string& order) {
  if (x.labels == order) return x;
  Ints perm;
  for (char label : order) perm.push_back(x.axis(label));
  return {transpose(x.value, perm), order};
}

Labelled summed(const Labelled& x, const std::string& gone) {
  if (gone.empty()) return x;
  Ints axes;
  for (char label : gone) axes.push_back(x.axis(label));
  return {sum(x.value, axes), filter_labels(x.labels, [&](char c) { return !has(gone, c); })};
}

/// Takes the diagonal of two dims with the same label: every (n+1)-th of the n*n elements.
Labelled extract_diagonals(Labelled x, const SourceLine& line) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const char label = x.labels[i];
    const std::size_t second = x.labels.find(label, i + 1);
    if (second == std::string::npos) continue;
    const Shape& shape = x.value.shape();
    const Dim n = shape[static_cast<int>(i)];
    if (!n.known() || n != shape[static_cast<int>(second)])
      fail("the sizes of '" + std::string(1, label) + "' in " + shape.str() + " are not known to be equal", line);
    std::string others = x.labels;
    others.erase(second, 1).erase(i, 1);
    std::string order = others + label;  // of the result, which has one dim instead of two
    Ints perm, sizes;
    for (char other : others) perm.push_back(x.axis(other));
    for (std::int64_t dim : perm) {
      const Dim& size = shape[static_cast<int>(dim)];
      sizes.push_back(size.known() ? size.size() : -1);
    }
    perm.insert(perm.end(), {static_cast<std::int64_t>(i), static_cast<std::int64_t>(second)});
    sizes.push_back(n.size() * n.size());
    const Value flat = reshape(transpose(x.value, perm), sizes);
    x = {slice(flat, -1, 0, kEnd, n.size() + 1), order};
    --i;
  }
  return x;
}

/// x with its dims in the order of `order`, and a dim of size 1 for each label that x lacks.
Value expand_to(const Labelled& x, const std::string& order) {
  const Labelled own = permuted(x, filter_labels(order, [&](char c) { return has(x.labels, c); }));
  Ints added;
  for (std::size_t d = 0; d < order.size(); ++d)
    if (!has(x.labels, order[d])) added.push_back(static_cast<std::int64_t>(d));
  return expand_dims(own.value, added);
}

/// x reshaped so that its consecutive dims `labels` become one dim with the first label. Undefined if too few sizes are
/// known for the reshape.
Labelled merge_dims(const Labelled& x, const std::string& labels) {
  if (labels.size() < 2) return x;
  const auto first = static_cast<std::size_t>(x.axis(labels[0]));
  Ints sizes;
  std::int64_t product = 1;
  int open = 0;
  for (std::size_t d = 0; d < x.labels.size(); ++d) {
    const Dim& dim = x.value.shape()[static_cast<int>(d)];
    const bool member = d >= first && d < first + labels.size();
    if (!dim.known() && (member || ++open > 1)) return {};
    if (member)
      product *= dim.size();
    else
      sizes.push_back(dim.known() ? dim.size() : -1);
  }
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(first), product);
  std::string left = x.labels;
  left.erase(first + 1, labels.size() - 1);
  return {reshape(x.value, sizes), left};
}

/// The product of two values, summed over the labels `inner`, which both values have. It is computed by matmul: the
/// last label that only a has becomes the rows, the last label that only b has becomes the columns, and all others
/// except `inner` are leading dims. If `inner` cannot become one dim (see merge_dims()), it is computed by an
/// elementwise product and a sum.
Labelled multiply_matrices(const Labelled& a, const Labelled& b, const std::string& batch, const std::string& inner) {
  std::string rows = filter_labels(a.labels, [&](char c) { return !has(b.labels, c); });
  std::string columns = filter_labels(b.labels, [&](char c) { return !has(a.labels, c); });
  const Labelled left = merge_dims(permuted(a, batch + rows + inner), inner);
  const Labelled right = merge_dims(permuted(b, batch + inner + columns), inner);
  if (!left.value.defined() || !right.value.defined()) {
    const std::string all = batch + rows + columns + inner;
    const Value x = expand_to(a, all);
    return summed({x * expand_to(b, all), all}, inner);
  }
  const std::string row = rows.empty() ? "" : rows.substr(rows.size() - 1);
  const std::string column = columns.empty() ? "" : columns.substr(columns.size() - 1);
  if (!rows.empty()) rows.pop_back();
  if (!columns.empty()) columns.pop_back();
  const std::string leading = batch + rows + columns;
  // If there are no rows (or columns), "(" (or ")") is the label of a dim of size 1.
  const std::string one_row = row.empty() ? "(" : row, one_column = column.empty() ? ")" : column;
  const Value x = expand_to(left, leading + one_row + inner.substr(0, 1));
  const Value y = expand_to(right, leading + inner.substr(0, 1) + one_column);
  Value product = matmul(x, y);
  Ints ones;
  if (row.empty()) ones.push_back(-2);
  if (column.empty()) ones.push_back(-1);
  return {squeeze(product, ones), leading + row + column};
}

/// The product of two values, summed over the labels that are not `needed` by the result or a later value.
Labelled contract(Labelled a, Labelled b, const std::string& needed) {
  a = summed(a, filter_labels(a.labels, [&](char c) { return !has(b.labels, c) && !has(needed, c); }));
  b = summed(b, filter_labels(b.labels, [&](char c) { return !has(a.labels, c) && !has(needed, c); }));
  const std::string batch = filter_labels(a.labels, [&](char c) { return has(b.labels, c) && has(needed, c); });
  const std::string inner = filter_labels(a.labels, [&](char c) { return has(b.labels, c) && !has(needed, c); });
  if (!inner.empty()) return multiply_matrices(a, b, batch, inner);
  const std::string all = a.labels + filter_labels(b.labels, [&](char c) { return !has(a.labels, c); });
  const Value x = expand_to(a, all);
  return {x * expand_to(b, all), all};
}

/// Whether several ops that round make the result: more than one product, or sums before the product.
bool rounds_often(const std::vector<Labelled>& inputs, const std::string& output) {
  if (inputs.size() != 2) return inputs.size() > 2;
  const auto sums = [&](const Labelled& x, const Labelled& other) {
    return !filter_labels(x.labels, [&](char c) { return !has(other.labels, c) && !has(output, c); }).empty();
  };
  return sums(inputs[0], inputs[1]) || sums(inputs[1], inputs[0]);
}

void check_output(const std::string& output, const std::vector<Labelled>& inputs, const SourceLine& line) {
  for (char c : output) {
    if (std::count(output.begin(), output.end(), c) > 1)
      fail("'" + std::string(1, c) + "' comes twice in the result", line);
    const auto has_label = [c](const Labelled& x) { return has(x.labels, c); };
    if (std::none_of(inputs.begin(), inputs.end(), has_label))
      fail("'" + std::string(1, c) + "' of the result comes in no value", line);
  }
}

}  // namespace

Value einsum(std::string_view notation, std::span<const Value> values, source_location at) {
  const Scope here = caller_scope(graph_of(values, at), at);
  const Terms terms = split_terms(notation);
  if (terms.inputs.size() != values.size())
    fail("\"" + std::string(notation) + "\" is of " + std::to_string(terms.inputs.size()) + " values, not " +
             std::to_string(values.size()),
         at);
  std::vector<Labelled> inputs;
  int most = 0;  // the largest number of dims that a "..." stands for
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& term = terms.inputs[i];
    const int dims = values[i].rank() - letters_in(term);
    if (dims < 0 || dims > 10 || (dims > 0 && term.find("...") == std::string::npos))
      fail("\"" + term + "\" does not fit " + values[i].name() + " " + values[i].shape().str(), at);
    if (term.find("...") != std::string::npos) most = std::max(most, dims);
    inputs.push_back(extract_diagonals({values[i], labels_of(term, dims, at)}, at));
  }
  if (most > 0 && terms.output.find("...") == std::string::npos) fail("the result lacks \"...\"", at);
  const std::string output = labels_of(terms.output, most, at);
  check_output(output, inputs, at);
  DType dtype = inputs[0].value.dtype();
  for (const Labelled& input : inputs) dtype = promoted(dtype, input.value.dtype());
  if (is_half(dtype) && rounds_often(inputs, output))
    for (Labelled& input : inputs) input.value = cast(input.value, DType::float32);
  Labelled result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    std::string needed = output;
    for (std::size_t later = i + 1; later < inputs.size(); ++later) needed += inputs[later].labels;
    result = contract(result, inputs[i], needed);
  }
  result = summed(result, filter_labels(result.labels, [&](char c) { return !has(output, c); }));
  return cast(permuted(result, output).value, dtype);
}

}  // namespace ferry
