// A case: one line with the function that builds an op, its inputs, and its expected outputs. All tests here run every
// case.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "tests/op_cases/reference.hpp"

namespace ferry::test {

/// An input of a case: random numbers of a range, of the dtype under test or of one of its own.
struct In {
  double low = -2, high = 2;        ///< the range; for integers with `high`
  std::optional<DType> dtype = {};  ///< none: the dtype under test
};

struct Case {
  std::string_view op;               ///< OpDef::name, or the name of a function that is made of several ops
  Values (*build)(const Values& x);  ///< the op on these inputs
  Reference reference;
  std::vector<std::vector<Sizes>> shapes;  ///< to be tried, each with one shape for each input
  std::vector<In> inputs = {};             ///< for the first inputs; the other inputs have In{}
  std::uint32_t smooth = ~0U;              ///< mask of the inputs that have a gradient, when the op has one
  DTypeSet dtypes = {};                    ///< to be tried. Functions must name some, ops only if not all they take fit

  [[nodiscard]] In input(std::size_t i) const { return i < inputs.size() ? inputs[i] : In{}; }
};

/// All cases: of ops, in the order of ops/, then of functions.
[[nodiscard]] std::span<const Case> op_cases();
/// The cases of functions that are made of several ops, and of ops that order and rearrange.
[[nodiscard]] std::vector<Case> function_cases();
/// The cases of functions of neural networks.
[[nodiscard]] std::vector<Case> nn_cases();
[[nodiscard]] std::vector<Case> moving_cases();
/// The cases of the steps of recurrent layers.
[[nodiscard]] std::vector<Case> cell_cases();

/// Numbers for the inputs of `which.shapes[shape]`, of that dtype; the same in every run.
[[nodiscard]] std::vector<Tensor> inputs_for(const Case& which, std::size_t shape, DType dtype);

/// A case as a graph of its own.
struct CaseGraph {
  CaseGraph(const Case& which, const std::vector<Tensor>& inputs);
  Graph graph;
  Values x, y;  ///< the inputs "x0", "x1" … and the op's outputs
};

/// The numbers of the float64 inputs by which the case has a gradient; none for an op without a gradient.
[[nodiscard]] std::vector<std::size_t> smooth_inputs(const Case& which, const std::vector<Tensor>& inputs);
/// Calls f(case, shape, inputs, smooth_inputs) for every case and shape with such inputs.
void for_each_smooth(const std::function<void(const Case&, std::size_t, const std::vector<Tensor>&,
                                              const std::vector<std::size_t>&)>& f);
/// The number of elements of all tensors together.
[[nodiscard]] std::int64_t elements_of(const std::vector<Tensor>& tensors);
/// The sum of all elements of `y`, each times a weight that differs from element to element.
[[nodiscard]] Value weighted_sum(Graph& graph, const Values& y);

/// The inputs by name.
[[nodiscard]] std::map<std::string, Tensor, std::less<>> feeds_of(const std::vector<Tensor>& inputs);

/// "" when `got` is what the reference says, else what differs. Floats must be as near as the dtype's rounding allows
/// (16-bit floats after `roundings` roundings); all other dtypes must be equal.
[[nodiscard]] std::string difference(const Tensor& got, const Nd& wanted, int roundings = 1);

/// The dtypes that a case is tested with: its own, or its op's T, or U if the op has no T.
[[nodiscard]] DTypeSet dtypes_of(const Case& which);

}  // namespace ferry::test
