// Graph::add(): it infers the types of an op's outputs and appends the op.
#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/graph_facts.hpp"

namespace ferry {
namespace {

/// "MatMul" -> "matmul": the stem of automatic names.
std::string lower(std::string_view name) {
  std::string result(name);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

}  // namespace

Values Graph::add(const OpDef& def, std::span<const Value> inputs, Attrs attrs, const SourceLine& given_line,
                  std::string_view name) {
  return current().append(def, inputs, std::move(attrs), given_line, name);
}

Values Graph::append(const OpDef& def, std::span<const Value> inputs, Attrs attrs, const SourceLine& given_line,
                     std::string_view name) {
  if (!name.empty() && find(name))
    throw Error(Code::plan, "the name '{}' is taken by {}", name, as_is(op(*find(name)).str()))
        .at(given_line)
        .hint("give the op another name, or none");
  const SourceLine line = line_for(given_line);
  if (std::ranges::any_of(inputs, [](const Value& input) { return !input.defined(); }))
    throw Error(Code::plan, std::string(def.name) + ": an undefined value is used")
        .at(line)
        .hint("assign the Value before you use it: Value() has no op");
  std::vector<ValueId> ids;
  ids.reserve(inputs.size());
  for (const Value& input : inputs) ids.push_back(capture(input).id());
  const std::vector<Type>& types = inferred(def, ids, attrs, line);
  const std::string fresh = name.empty() ? ops_.fresh_name(scopes_.prefix() + lower(def.name)) : std::string();
  const OpId id = ops_.append({.def = def,
                               .inputs = ids,
                               .attrs = std::move(attrs),
                               .annotation = scopes_.annotation(),
                               .after = scopes_.after(),
                               .remade = scopes_.remade(),
                               .name = name.empty() ? std::string_view(fresh) : name,
                               .line = line,
                               .types = types});
  Values outputs;
  outputs.reserve(types.size());
  for (std::uint32_t i = 0; i < types.size(); ++i) outputs.emplace_back(this, ops_.first_output(id) + i);
  return outputs;
}

const std::vector<Type>& Graph::inferred(const OpDef& def, std::span<const ValueId> inputs, const Attrs& attrs,
                                         const SourceLine& line) {
  try {
    return inferred_.infer(def, GraphFacts(*this, inputs, attrs));
  } catch (const Error& error) {
    Error named(error.code(), std::string(def.name) + ": " + error.text());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      named.note("input " + std::to_string(i) + ": " + type(inputs[i]).str() + " " + op(producer(inputs[i])).str());
    throw named.at(line);
  }
}

}  // namespace ferry
