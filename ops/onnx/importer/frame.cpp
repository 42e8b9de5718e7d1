#include "ops/onnx/importer/frame.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "ops/onnx/context.hpp"

namespace ferry::onnx {
namespace {

constexpr std::size_t kMaxCalls = 32;  // deepest nesting of function calls

/// Throws if a call has an attribute that its function does not have.
void check_call_attributes(const Function& function, const ModelNode& node) {
  Strings known = function.attributes;
  for (const Attribute& one : function.defaults) known.push_back(one.name);
  for (const Attribute& one : node.attributes)
    if (std::find(known.begin(), known.end(), one.name) == known.end() && !one.name.starts_with("__"))
      Context::refuse_attribute(one.name, formatted("the function {}", function.name), known);
}

}  // namespace

Frame::Frame(const GraphDef* graph, const Frame& around)
    : graph_(graph),
      around_(&around),
      opsets_(around.opsets_),
      function_(around.function_),
      call_(around.call_),
      caller_(around.caller_),
      depth_(around.depth_) {}

Frame Frame::of_call(const Function& function, const ModelNode& node, const Frame& caller) {
  Frame frame(function.opsets);
  frame.function_ = &function;
  frame.call_ = &node;
  frame.caller_ = &caller;
  frame.depth_ = caller.depth_ + 1;
  for (const Frame* at = &caller; at != nullptr; at = at->caller_)
    if (at->function_ == &function) Context::fail(formatted("the function {:?} calls itself", function.name));
  if (frame.depth_ > kMaxCalls)
    Context::fail("functions call each other more than " + std::to_string(kMaxCalls) + " deep");
  if (node.inputs.size() > function.inputs.size()) Context::fail("it has more inputs than its function");
  check_call_attributes(function, node);
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const bool given = i < node.inputs.size() && !node.inputs[i].empty();
    frame.set(function.inputs[i], given ? caller.get(node.inputs[i]) : Out());
  }
  return frame;
}

const Out& Frame::get(const std::string& name) const {
  for (const Frame* at = this; at != nullptr; at = at->around_)
    if (const auto found = at->items_.find(name); found != at->items_.end()) return found->second;
  Context::fail(formatted("nothing gives the value {:?}", name));
}

const ValueDef* Frame::declared(const std::string& name) const {
  if (graph_ == nullptr) return nullptr;
  const auto found = graph_->declared.find(name);
  return found == graph_->declared.end() ? nullptr : &found->second;
}

const Attribute* Frame::attribute(const ModelNode& node, std::string_view name) const {
  const Attribute* found = node.find(name);
  if (found == nullptr || !std::holds_alternative<AttributeRef>(found->value)) return found;
  if (call_ == nullptr) Context::fail(formatted("attribute {:?} refers to a function's, outside of one", found->name));
  const std::string& wanted = std::get<AttributeRef>(found->value).name;
  if (call_->find(wanted) != nullptr) return caller_->attribute(*call_, wanted);
  const auto given = std::find_if(function_->defaults.begin(), function_->defaults.end(),
                                  [&](const Attribute& one) { return one.name == wanted; });
  return given == function_->defaults.end() ? nullptr : &*given;
}

}  // namespace ferry::onnx
