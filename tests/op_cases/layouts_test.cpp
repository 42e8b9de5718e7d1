// Every case with every way to split one of its values, on two to four tasks, compared with the unsplit result: ops
// that can work on parts must give parts of the same, and ops that cannot must be given whole values. So must
// gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "executor/session/session.hpp"
#include "ops/array/reshape.hpp"
#include "ops/gradient/gradient.hpp"
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

/// Makes what is fetched out of a case's inputs and outputs.
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

/// Checks the gradients by the inputs `asked`, with every way to split one of the case's values, against those of whole
/// values.
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

}  // namespace

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
