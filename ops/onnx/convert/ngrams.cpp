// Converter of TfIdfVectorizer, which counts n-grams in sequences of numbers.
#include <algorithm>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// All n-grams of one length. `numbers` has them one after another.
struct Grams {
  std::int64_t length, count;
  Ints numbers;

  /// The number at position `place` of each n-gram.
  [[nodiscard]] Tensor at(std::int64_t place) const {
    Tensor column(DType::int64, {count});
    for (std::int64_t g = 0; g < count; ++g) column.mutable_data<std::int64_t>()[g] = numbers[g * length + place];
    return column;
  }
};

/// The n-grams of the attribute pool_int64s, by length, from length 1 on.
std::vector<Grams> grams_of(Context& c) {
  if (c.has_attr("pool_strings")) Context::fail("it looks for texts, which ferry does not compute with");
  const Ints begins = c.integers("ngram_counts"), pool = c.integers("pool_int64s");
  std::vector<Grams> all;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto length = static_cast<std::int64_t>(i) + 1;
    const std::int64_t begin = begins[i], end = i + 1 < begins.size() ? begins[i + 1] : std::ssize(pool);
    if (begin < 0 || begin > end || end > std::ssize(pool) || (end - begin) % length != 0)
      Context::fail("ngram_counts do not fit the pool of " + std::to_string(pool.size()) + " numbers");
    all.push_back({length, (end - begin) / length, {pool.begin() + begin, pool.begin() + end}});
  }
  return all;
}

/// Counts the occurrences of each n-gram in x [batch,size]. In an occurrence, all neighbouring numbers of the n-gram
/// are the same distance apart in x, with 0 to `skip` other numbers between them. Returns [batch,count], or an
/// undefined value if x is too short.
Value count_grams(const Value& x, std::int64_t size, const Grams& grams, std::int64_t skip) {
  Graph& graph = x.graph().current();
  Value total;
  for (std::int64_t step = 1; step <= (grams.length == 1 ? 1 : skip + 1); ++step) {
    const std::int64_t places = size - (grams.length - 1) * step;
    if (places < 1) break;
    Value match;
    for (std::int64_t k = 0; k < grams.length; ++k) {
      const Value here = expand_dims(slice(x, 1, k * step, k * step + places), {2});
      const Value same = equal(here, graph.constant(grams.at(k)));
      match = match.defined() ? logical_and(match, same) : same;
    }
    const Value times = sum(cast(match, DType::float32), {1});
    total = total.defined() ? total + times : times;
  }
  return total;
}

/// TfIdfVectorizer: x [size] or [batch,size] becomes [width] or [batch,width]; width is the largest of ngram_indexes
/// plus 1. Each n-gram adds its weighted count to its column, which is in ngram_indexes.
Outs to_ngrams(Context& c) {
  const std::vector<Grams> all = grams_of(c);
  const Ints columns = c.integers("ngram_indexes");
  const Floats weights = c.reals("weights", Floats(columns.size(), 1));
  const std::int64_t least = c.integer("min_gram_length"), most = c.integer("max_gram_length");
  const std::int64_t skip = c.integer("max_skip_count");
  const std::string mode = c.text("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") Context::fail("a mode of '" + mode + "'");
  const int rank = c.rank(0);
  const std::int64_t size = c.size(0, -1);
  if (rank != 1 && rank != 2) Context::fail("its input has rank " + std::to_string(rank));
  if (columns.empty() || *std::min_element(columns.begin(), columns.end()) < 0 || weights.size() != columns.size() ||
      skip < 0 || skip > kMostValues || std::ssize(all) > kMostValues)
    Context::fail("its indexes, weights or skips do not fit");
  const std::int64_t width = *std::max_element(columns.begin(), columns.end()) + 1;
  const Value given = cast(c.in(0), DType::int64);
  const Value x = rank == 2 ? given : expand_dims(given, {0});
  Value y;
  std::size_t number = 0;  // index of an n-gram in the whole pool
  for (const Grams& grams : all) {
    check_computed("sequences times columns", checked_count(Ints{grams.count, width}), SourceLine());
    Tensor place(DType::float32, {grams.count, width});
    for (std::int64_t g = 0; g < grams.count; ++g, ++number) {
      if (number >= columns.size()) Context::fail("it has fewer indexes than sequences");
      const double weight = mode == "TF" ? 1 : weights[number];
      place.mutable_data<float>()[g * width + columns[number]] = static_cast<float>(weight);
    }
    if (grams.length < least || grams.length > most || grams.count == 0) continue;
    Value times = count_grams(x, size, grams, skip);
    if (!times.defined()) continue;
    if (mode == "IDF") times = cast(greater(times, 0), DType::float32);
    const Value part = matmul(times, c.graph().constant(place));
    y = y.defined() ? y + part : part;
  }
  if (!y.defined()) y = broadcast_to(c.scalar(0, DType::float32), {rank == 2 ? c.size(0, 0) : 1, width});
  return rank == 2 ? y : reshape(y, {width});
}

constexpr ConvertOp kNgrams[] = {
    {"TfIdfVectorizer", 9, to_ngrams},
};

}  // namespace

std::span<const ConvertOp> ngram_converters() {
  return kNgrams;
}

}  // namespace ferry::onnx
