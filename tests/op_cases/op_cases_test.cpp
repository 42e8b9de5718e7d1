// Compares every case with its reference, for every dtype, on empty and broadcast shapes, and gradients with finite
// differences; results have the same bits for any number of threads; and every op has a case.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "ops/gradient/gradient.hpp"
#include "ops/op_set.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/threads.hpp"

namespace ferry::test {
namespace {

std::vector<Tensor> outputs_of(const CaseGraph& made, const std::vector<Tensor>& inputs, int threads = 1,
                               const KernelTable& kernels = cpu_kernels()) {
  Threads parallel(threads);
  EvaluateOptions options;
  options.kernels = &kernels;
  options.parallel = &parallel;
  return Evaluator(made.graph, options).run(made.y, feeds_of(inputs));
}

/// Calls f(case, dtype, inputs) for every dtype and every shape of every case.
template <class F>
void for_each_run(const F& f) {
  for (const Case& which : op_cases()) {
    const DTypeSet dtypes = dtypes_of(which);
    REQUIRE_MESSAGE(dtypes.str() != "", which.op);
    for (DType dtype : kDTypes) {
      if (!dtypes.has(dtype)) continue;
      for (std::size_t shape = 0; shape < which.shapes.size(); ++shape) {
        CAPTURE(which.op);
        CAPTURE(name_of(dtype));
        CAPTURE(shape);
        f(which, dtype, inputs_for(which, shape, dtype));
      }
    }
  }
}

/// Checks the gradients of weighted_sum(y) with respect to the inputs `asked` against central differences.
void check_gradient(const Case& which, const std::vector<Tensor>& inputs, const std::vector<std::size_t>& asked) {
  CaseGraph made(which, inputs);
  const Value loss = weighted_sum(made.graph, made.y);
  Values xs;
  for (std::size_t i : asked) xs.push_back(made.x[i]);
  const Values gradient = gradients(loss, xs);
  Evaluator evaluator(made.graph);
  const std::vector<Tensor> exact = evaluator.run(gradient, feeds_of(inputs));

  const auto loss_at = [&](std::size_t input, std::int64_t element, double change) {
    std::vector<Tensor> moved = inputs;
    moved[input] = Tensor::of<double>(inputs[input].sizes(), inputs[input].data<double>());
    moved[input].mutable_data<double>()[element] += change;
    return evaluator.run({loss}, feeds_of(moved))[0].number(0);
  };
  for (std::size_t k = 0; k < asked.size(); ++k) {
    REQUIRE(exact[k].sizes() == inputs[asked[k]].sizes());
    for (std::int64_t e = 0; e < exact[k].count(); ++e) {
      const double h = 1e-5;
      const double estimate = (loss_at(asked[k], e, h) - loss_at(asked[k], e, -h)) / (2 * h);
      CAPTURE(asked[k]);
      CAPTURE(e);
      CHECK(exact[k].number(e) == doctest::Approx(estimate).epsilon(1e-6).scale(1));
    }
  }
}

}  // namespace

TEST_CASE("ops give what the reference gives") {
  for_each_run([](const Case& which, DType, const std::vector<Tensor>& inputs) {
    const CaseGraph made(which, inputs);
    const std::vector<Tensor> got = outputs_of(made, inputs);
    const std::vector<Nd> wanted = which.reference({inputs.begin(), inputs.end()});
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(difference(got[i], wanted[i]) == "");
  });
}

TEST_CASE("ops give the types that were inferred") {
  for_each_run([](const Case& which, DType, const std::vector<Tensor>& inputs) {
    const CaseGraph made(which, inputs);
    const std::vector<Tensor> got = outputs_of(made, inputs);
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].dtype() == made.y[i].dtype());
      if (!made.y[i].shape().bounded()) CHECK(got[i].type() == made.y[i].type());
    }
  });
}

TEST_CASE("ops give the same bits for any number of threads") {
  for_each_run([](const Case& which, DType, const std::vector<Tensor>& inputs) {
    const CaseGraph made(which, inputs);
    const std::vector<Tensor> one = outputs_of(made, inputs, 1);
    for (int threads : {2, 3}) {
      const std::vector<Tensor> several = outputs_of(made, inputs, threads);
      for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].same_bits(several[i]));
    }
  });
}

TEST_CASE("ops give the same bits by any instruction set") {
  for_each_run([](const Case& which, DType, const std::vector<Tensor>& inputs) {
    const CaseGraph made(which, inputs);
    const std::vector<Tensor> baseline = outputs_of(made, inputs, 1, cpu_kernel_levels().front());
    for (const KernelTable& level : cpu_kernel_levels().subspan(1)) {
      CAPTURE(level.level());
      const std::vector<Tensor> other = outputs_of(made, inputs, 1, level);
      for (std::size_t i = 0; i < baseline.size(); ++i) CHECK(baseline[i].same_bits(other[i]));
    }
  });
}

TEST_CASE("gradients agree with finite differences") {
  for_each_smooth([](const Case& which, std::size_t shape, const auto& inputs, const auto& asked) {
    std::int64_t elements = 0;
    for (const std::size_t i : asked) elements += inputs[i].count();
    if (elements > 100) return;
    CAPTURE(which.op);
    CAPTURE(shape);
    check_gradient(which, inputs, asked);
  });
}

TEST_CASE("no op is left out") {
  // The results of these do not depend on their inputs alone: each has a test of its own in tests/kernels or tests/ops.
  const std::set<std::string_view> elsewhere{
      "Input",         "Variable",          "Assign",       "Parameter",         "While",      "Cond",    "Constant",
      "RandomUniform", "RandomUniformLike", "RandomNormal", "Shuffle",           "ReadIdx",    "ReadCsv", "ReadNpy",
      "ReadRaw",       "ReadSafetensors",   "ReadLibsvm",   "ReadLibsvmWeights", "ReadImages", "Batch",   "BatchFile",
      "Print",         "HostName",          "Asynchronous"};
  // These have no kernel: the executor itself carries them out.
  const std::set<std::string_view> executor{"Input", "Variable", "Assign", "Parameter", "While", "Cond"};
  std::set<std::string_view> covered;
  for (const Case& which : op_cases()) covered.insert(which.op);
  for (const OpDef* def : default_ops().all()) {
    CAPTURE(def->name);
    CHECK((covered.contains(def->name) || elsewhere.contains(def->name)));
    CHECK((def->is(kView) || executor.contains(def->name) || cpu_kernels().find(def->name) != nullptr));
    CHECK((def->grad != nullptr) != !def->no_grad.empty());
  }
}

}  // namespace ferry::test
