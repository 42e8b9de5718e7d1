// Every case with every way to split one of its values, on two to four tasks, compared with the unsplit result. Ops
// that can work on parts must give parts of the same result, and other ops must get whole values. So must gradients.
// The same for inputs that are partial sums, of every dtype: what is not linear needs the whole sum.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>

#include "executor/session/session.hpp"
#include "ops/array/reshape.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry::test {
namespace {

/// A value that is split, and along which dim. Values are numbered, first the inputs, then the outputs.
struct Cut {
  std::size_t value;
  int dim;
};

std::vector<Cut> cuts_of(const CaseGraph& made) {
  std::vector<Cut> cuts;
  Values all = made.x;
  all.insert(all.end(), made.y.begin(), made.y.end());
  for (std::size_t v = 0; v < all.size(); ++v)
    for (int d = 0; d < all[v].rank(); ++d) cuts.push_back({v, d});
  return cuts;
}

/// Makes the fetches from a case's inputs and outputs.
using Wanted = std::function<Values(Graph& graph, const Values& x, const Values& y)>;

std::vector<Tensor> run_split(const Case& which, const std::vector<Tensor>& inputs, const Cut& cut, int tasks,
                              const Wanted& wanted) {
  Graph g;
  Values fetches;
  {
    Values x, y;
    const auto scope = g.on(g.mesh("all"));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      x.push_back(g.input("x" + std::to_string(i), inputs[i].dtype(), inputs[i].type().shape));
      if (cut.value == i) x.back().laid({split(cut.dim)});
    }
    y = which.build(x);
    if (cut.value >= inputs.size()) {
      Value& chosen = y[cut.value - inputs.size()];
      chosen = identity(chosen).laid({split(cut.dim)});
    }
    fetches = wanted(g, x, y);
  }
  Session session(g, Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = ""}));
  return session.run(fetches, feeds_of(inputs));
}

/// A dtype that kernels take, and for the first shape also one that is widened for them.
std::vector<DType> dtypes_for(const Case& which, std::size_t shape) {
  const DTypeSet known = dtypes_of(which);
  std::vector<DType> dtypes;
  for (DType dtype : {DType::float32, DType::int64, DType::boolean})
    if (known.has(dtype) && dtypes.empty()) dtypes.push_back(dtype);
  for (DType dtype : {DType::int8, DType::float16})
    if (known.has(dtype) && dtypes.size() == 1 && shape == 0) dtypes.push_back(dtype);
  return dtypes;
}

/// Checks every way to split one of the case's values, for these inputs.
void check_cuts(const Case& which, const std::vector<Tensor>& inputs) {
  const CaseGraph made(which, inputs);
  const std::vector<Tensor> wanted = Evaluator(made.graph).run(made.y, feeds_of(inputs));
  for (const Cut& cut : cuts_of(made)) {
    for (int tasks : {2, 3, 4}) {
      CAPTURE(cut.value);
      CAPTURE(cut.dim);
      CAPTURE(tasks);
      std::vector<Tensor> got;
      CHECK_NOTHROW(got =
                        run_split(which, inputs, cut, tasks, [](Graph&, const Values&, const Values& y) { return y; }));
      const int roundings = 2 * tasks;  // once in each task's part, once in each fold
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(difference(got[i], Nd(wanted[i]), roundings) == "");
    }
  }
}

/// The first element that differs by more than another order of sums explains; "" when there is none.
std::string apart(const Tensor& got, const Tensor& wanted) {
  if (got.type() != wanted.type()) return got.type().str() + ", not " + wanted.type().str();
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const double number = got.number(i), reference = wanted.number(i);
    if (!(std::abs(number - reference) <= 1e-12 * (1 + std::abs(reference))))
      return "element " + std::to_string(i) + " is " + std::to_string(number) + ", not " + std::to_string(reference);
  }
  return "";
}

/// Compares the gradients with respect to the inputs `asked`, with every way to split one of the case's values, with
/// the gradients of whole values.
void check_gradients(const Case& which, const std::vector<Tensor>& inputs, const std::vector<std::size_t>& asked) {
  const Wanted of_inputs = [&](Graph& graph, const Values& x, const Values& y) {
    Values in;
    for (const std::size_t i : asked) in.push_back(x[i]);
    return gradients(weighted_sum(graph, y), in);
  };
  CaseGraph made(which, inputs);
  const std::vector<Cut> cuts = cuts_of(made);
  const Values whole = of_inputs(made.graph, made.x, made.y);
  const std::vector<Tensor> wanted = Evaluator(made.graph).run(whole, feeds_of(inputs));
  for (const Cut& cut : cuts) {
    for (int tasks : {2, 3}) {
      CAPTURE(cut.value);
      CAPTURE(cut.dim);
      CAPTURE(tasks);
      std::vector<Tensor> got;
      CHECK_NOTHROW(got = run_split(which, inputs, cut, tasks, of_inputs));
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(apart(got[i], wanted[i]) == "");
    }
  }
}

// ---- Partial sums ----

/// Two terms of every element, whose sum is the element to the bit: twice the element, and its negative. Integers wrap.
/// Their dim is the first.
Tensor terms_of(const Tensor& whole) {
  Sizes sizes = whole.sizes();
  sizes.insert(sizes.begin(), 2);
  Tensor terms(whole.dtype(), sizes);
  dispatch(whole.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto made = terms.mutable_data<T>();
    const auto elements = static_cast<std::size_t>(whole.count());
    for (std::size_t i = 0; i < elements; ++i) {
      T &twice = made[i % 2 * elements + i], &negative = made[(i + 1) % 2 * elements + i];
      if constexpr (std::is_integral_v<T>) {
        const auto element = static_cast<std::uint64_t>(whole.integer(static_cast<std::int64_t>(i)));
        twice = static_cast<T>(2 * element);
        negative = static_cast<T>(0 - element);
      } else {
        const double element = whole.number(static_cast<std::int64_t>(i));
        twice = static_cast<T>(2 * element);
        negative = static_cast<T>(-element);
      }
    }
  });
  return terms;
}

/// Values of a graph for two tasks; each task has a term of every element.
class PartialValues {
 public:
  /// A value whose terms are added up, first by each task, so that it is a partial sum.
  Value add(const Tensor& whole) {
    const Tensor terms = terms_of(whole);
    const std::string name = "x" + std::to_string(feeds_.size());
    const Value laid = graph.input(name, terms.dtype(), terms.type().shape).laid({split(0)});
    feeds_.emplace(name, terms);
    return sum(laid, {0});
  }
  /// A value that every task has whole.
  Value add_whole(const Tensor& whole) {
    const std::string name = "x" + std::to_string(feeds_.size());
    feeds_.emplace(name, whole);
    return graph.input(name, whole.dtype(), whole.type().shape);
  }
  std::vector<Tensor> run(const Values& fetches) {
    Session session(graph, Cluster::connect(ClusterOptions{.tasks = 2, .threads = 1, .jobs = ""}));
    return session.run(fetches, feeds_);
  }

  Graph graph;

 private:
  std::map<std::string, Tensor, std::less<>> feeds_;
};

/// Runs the case with partial sums for all inputs that are numbers, and for each of them alone, and compares with what
/// whole inputs give.
void check_partial(const Case& which, const std::vector<Tensor>& inputs) {
  const CaseGraph made(which, inputs);
  const std::vector<Tensor> wanted = Evaluator(made.graph).run(made.y, feeds_of(inputs));
  PartialValues values;
  Values fetches;
  {
    const auto scope = values.graph.on(values.graph.mesh("all"));
    Values whole, parts;
    for (const Tensor& input : inputs) {
      whole.push_back(values.add_whole(input));
      parts.push_back(kNumbers.has(input.dtype()) ? values.add(input) : whole.back());
    }
    const auto build = [&](const Values& x) {
      for (const Value& y : which.build(x)) fetches.push_back(identity(y));
    };
    build(parts);
    for (std::size_t i = 0; i < inputs.size() && inputs.size() > 1; ++i) {
      Values x = whole;
      x[i] = parts[i];
      if (!x[i].is(whole[i])) build(x);
    }
  }
  std::vector<Tensor> got;
  CHECK_NOTHROW(got = values.run(fetches));
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(got[i], Nd(wanted[i % wanted.size()]), 32) == "");
  }
}

}  // namespace

TEST_CASE("ops give the same of partial sums, whatever their dtype") {
  for (const Case& which : op_cases()) {
    for (const DType dtype : kDTypes) {
      if (!dtypes_of(which).has(dtype) || dtype == DType::boolean) continue;
      const std::vector<Tensor> inputs = inputs_for(which, 0, dtype);
      if (inputs.empty() || elements_of(inputs) > 500) continue;
      CAPTURE(which.op);
      CAPTURE(name_of(dtype));
      check_partial(which, inputs);
    }
  }
}

TEST_CASE("gradients are the same where the gradient of the result is a partial sum") {
  for_each_smooth([](const Case& which, std::size_t shape, const auto& inputs, const auto& asked) {
    if (elements_of(inputs) > 500 || shape > 0) return;
    CAPTURE(which.op);
    CaseGraph made(which, inputs);
    if (std::ranges::any_of(made.y, [](const Value& y) { return y.shape().bounded(); })) return;
    const std::vector<Tensor> y = Evaluator(made.graph).run(made.y, feeds_of(inputs));
    const auto of_inputs = [&](const Values& x, const Values& results, const auto& weights) {
      Values asked_for, weighed;
      for (const std::size_t i : asked) asked_for.push_back(x[i]);
      Value total;
      for (std::size_t k = 0; k < results.size(); ++k) {
        const Value part = sum(results[k] * weights(k));
        total = total.defined() ? total + part : part;
      }
      return gradients(total, asked_for);
    };
    const Values whole = of_inputs(made.x, made.y, [&](std::size_t k) { return made.graph.constant(y[k]); });
    const std::vector<Tensor> wanted = Evaluator(made.graph).run(whole, feeds_of(inputs));
    PartialValues values;
    Values fetches;
    {
      const auto scope = values.graph.on(values.graph.mesh("all"));
      Values x;
      for (const Tensor& input : inputs) x.push_back(values.add_whole(input));
      fetches = of_inputs(x, which.build(x), [&](std::size_t k) { return values.add(y[k]); });
    }
    const std::vector<Tensor> got = values.run(fetches);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(apart(got[i], wanted[i]) == "");
  });
}

TEST_CASE("a square of a partial sum is that of the sum, also where that is infinite") {
  const float infinity = std::numeric_limits<float>::infinity();
  PartialValues values;
  Values fetches;
  {
    const auto scope = values.graph.on(values.graph.mesh("all"));
    const Value terms = values.graph.constant(Tensor::of<float>({2, 2}, {infinity, 3, -1, 4}));
    const Value p = sum(identity(terms).laid({split(0)}), {0});
    fetches = {identity(p * p), identity(p / p), identity(square(p))};
  }
  const std::vector<Tensor> got = values.run(fetches);
  CHECK(got[0].number(0) == infinity);
  CHECK(std::isnan(got[1].number(0)));
  CHECK(got[2].number(0) == infinity);
  CHECK(got[0].number(1) == 49);
  CHECK(got[1].number(1) == 1);
}

TEST_CASE("gradients are the same however values are split") {
  for_each_smooth([](const Case& which, std::size_t shape, const auto& inputs, const auto& asked) {
    if (elements_of(inputs) > 500) return;
    CAPTURE(which.op);
    CAPTURE(shape);
    check_gradients(which, inputs, asked);
  });
}

TEST_CASE("ops give the same however their values are split") {
  for (const Case& which : op_cases()) {
    for (std::size_t shape = 0; shape < which.shapes.size(); ++shape) {
      for (DType dtype : dtypes_for(which, shape)) {
        const std::vector<Tensor> inputs = inputs_for(which, shape, dtype);
        if (elements_of(inputs) > 500) continue;
        CAPTURE(which.op);
        CAPTURE(shape);
        CAPTURE(name_of(dtype));
        check_cuts(which, inputs);
      }
    }
  }
}

}  // namespace ferry::test
