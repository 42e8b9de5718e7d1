#include "ops/onnx/importer/given.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace ferry::onnx {
namespace {

/// Adds the names of the outputs of all loops in `nodes`. A number that the user gives for such a name bounds the rows
/// of the output.
void add_outputs_of_loops(const std::vector<ModelNode>& nodes, std::set<std::string>& names) {
  for (const ModelNode& node : nodes) {
    if (node.full_op() == "Loop") names.insert(node.outputs.begin(), node.outputs.end());
    for (const GraphDef* body : node.bodies()) add_outputs_of_loops(body->nodes, names);
  }
}

/// The names for which the user may give a bound of the rows of a loop's output: the output's name and, for outputs of
/// the model, the symbol of the first dim.
std::set<std::string> loop_dims(const Model& model) {
  std::set<std::string> names;
  add_outputs_of_loops(model.graph.nodes, names);
  for (const ValueDef& output : model.graph.outputs)
    if (names.contains(output.name) && output.shape && output.shape->rank() > 0)
      names.insert((*output.shape)[0].symbol());
  names.erase("");
  return names;
}

/// Checks each number in options.dims. It must be for a dim of an input and equal the size given for that dim, if any,
/// or it must bound the rows of a loop's output.
void check_dims(const Model& model, const ImportOptions& options) {
  std::set<std::string> symbols;
  for (const ValueDef* input : fed_inputs(model, options)) {
    if (!input->shape) continue;
    const auto given = options.sizes.find(input->name);
    for (int d = 0; d < input->shape->rank(); ++d) {
      const std::string& symbol = (*input->shape)[d].symbol();
      if (!symbol.empty()) symbols.insert(formatted("{:?}", symbol));
      const auto number = options.dims.find(symbol);
      if (number == options.dims.end() || given == options.sizes.end()) continue;
      if (const std::int64_t size = given->second[d]; size != number->second)
        throw Error(Code::usage, "--dim {}={}: input {:?} {} is given with {}", symbol, number->second, input->name,
                    input->shape->str(), size)
            .hint("leave --dim out, or give sizes that fit it");
    }
  }
  const std::vector<std::string> known(symbols.begin(), symbols.end());
  const std::set<std::string> bounds = loop_dims(model);
  for (const auto& [name, number] : options.dims)
    if (!symbols.contains(formatted("{:?}", name)) && !bounds.contains(name))
      throw Error(Code::usage, "--dim {}={}: no input has a dim of that name; {}", name, number,
                  as_is(known.empty() ? "none has a symbolic dim" : "there are " + join(known, ", ")));
}

/// Checks that options.sizes fit the shapes that the model declares for its inputs.
void check_sizes(const Model& model, const ImportOptions& options) {
  for (const ValueDef* input : fed_inputs(model, options)) {
    const auto given = options.sizes.find(input->name);
    if (given == options.sizes.end() || !input->shape) continue;
    const Shape shape{std::span<const std::int64_t>(given->second)};
    bool fits = shape.rank() == input->shape->rank();
    for (int d = 0; d < shape.rank() && fits; ++d)
      fits = !(*input->shape)[d].known() || (*input->shape)[d].size() == shape[d].size();
    if (!fits)
      throw Error(Code::usage, "input {:?} is {} in the model, and is given as {}", input->name, input->shape->str(),
                  as_is(shape.str()));
  }
}

/// Checks that the user gives the same size for all dims with the same symbol.
void check_symbols(const Model& model, const ImportOptions& options) {
  struct Given {
    std::int64_t size;
    const ValueDef* input;
  };
  std::map<std::string, Given> sizes;
  for (const ValueDef* input : fed_inputs(model, options)) {
    const auto given = options.sizes.find(input->name);
    if (given == options.sizes.end() || !input->shape) continue;
    for (int d = 0; d < input->shape->rank(); ++d) {
      const std::string& symbol = (*input->shape)[d].symbol();
      const std::int64_t size = given->second[d];
      if (symbol.empty()) continue;
      const auto& [first, of] = sizes.try_emplace(symbol, Given{size, input}).first->second;
      if (first == size) continue;
      throw Error(Code::usage, "{} is {} in input {:?} {} as it is given, and {} in input {:?} {}", symbol, first,
                  of->name, of->shape->str(), size, input->name, input->shape->str())
          .hint("give inputs that agree in {}", symbol);
    }
  }
}

}  // namespace

std::vector<const ValueDef*> fed_inputs(const Model& model, const ImportOptions& options) {
  std::vector<const ValueDef*> inputs = model.feeds();
  for (const ValueDef* input : model.defaulted())
    if (options.sizes.contains(input->name)) inputs.push_back(input);
  return inputs;
}

void check_given(const Model& model, const ImportOptions& options) {
  check_sizes(model, options);
  check_symbols(model, options);
  check_dims(model, options);
}

std::optional<std::int64_t> given_first_dim(const Model& model, const ImportOptions& options,
                                            const std::string& value) {
  const auto number = [&](const std::string& dim) -> std::optional<std::int64_t> {
    const auto given = options.dims.find(dim);
    return given == options.dims.end() ? std::nullopt : std::optional(given->second);
  };
  for (const ValueDef& output : model.graph.outputs)
    if (output.name == value && output.shape && output.shape->rank() > 0)
      if (const auto size = number((*output.shape)[0].symbol())) return size;
  return number(value);
}

}  // namespace ferry::onnx
