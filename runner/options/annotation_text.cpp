#include "runner/options/annotation_text.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// The mesh's axes: "tasks" alone, or "axis0" and "axis1".
std::vector<std::pair<std::string, std::int64_t>> axes_of(const LayoutAnnotations& annotations) {
  std::vector<std::pair<std::string, std::int64_t>> axes;
  for (const std::int64_t size : annotations.axes)
    axes.emplace_back(annotations.axes.size() == 1 ? "tasks" : "axis" + std::to_string(axes.size()), size);
  return axes;
}

std::string word_of(const AxisLayout& axis) {
  switch (axis.kind) {
    case AxisLayout::Kind::replicated:
      return "replicated";
    case AxisLayout::Kind::split:
      return "split(" + std::to_string(axis.dim) + ")";
    case AxisLayout::Kind::partial:
      return "partial(" + std::string(name_of(axis.reduce)) + ")";
  }
  return {};
}

std::string code_of(const AxisLayout& axis) {
  if (axis.kind == AxisLayout::Kind::partial)
    return "ferry::partial(ferry::Reduce::" + std::string(name_of(axis.reduce)) + ")";
  return "ferry::" + word_of(axis) + (axis == replicated() ? "()" : "");
}

template <class Word>
std::string words_of(const Layout& layout, const Word& word, const char* separator) {
  std::vector<std::string> words;
  for (const AxisLayout& axis : layout) words.push_back(word(axis));
  return join(words, separator);
}

std::string code_line(const LayoutAnnotations::OfOp& of) {
  std::vector<std::string> layouts;
  for (const Layout& layout : of.layouts) layouts.push_back("{" + words_of(layout, code_of, ", ") + "}");
  const std::string line = of.task ? formatted("put({:?}, {});", of.op, *of.task)
                                   : formatted("lay({:?}, {{{}}});", of.op, as_is(join(layouts, ", ")));
  return (of.in_body ? "// in a body of control flow: " : "") + line +
         (of.line.known() ? formatted("  // {}", of.line.str()) : "") + "\n";
}

/// The function that the lines of code_line() call.
std::string helper_text(const LayoutAnnotations& annotations) {
  if (annotations.axes.empty())
    return "const auto put = [&g](std::string_view op, int task) {\n"
           "  g.annotate(*g.find(op), {ferry::DeviceSpec::parse(\"/task:\" + std::to_string(task))});\n"
           "};\n";
  std::vector<std::string> axes;
  for (const auto& [name, size] : axes_of(annotations))
    axes.push_back("{\"" + name + "\", " + std::to_string(size) + "}");
  return "const auto lay = [&g, all = g.mesh({" + join(axes, ", ") +
         "})](std::string_view op, std::vector<ferry::Layout> layouts) {\n"
         "  g.annotate(*g.find(op), {{}, all, std::move(layouts)});\n"
         "};\n";
}

std::string code_text(const LayoutAnnotations& annotations) {
  std::string text = helper_text(annotations);
  for (const LayoutAnnotations::OfOp& of : annotations.ops) text += code_line(of);
  return text;
}

/// A pattern that matches the op's name: blanks, and characters with a meaning in patterns, become '?'.
std::string pattern_of(std::string name) {
  for (char& c : name)
    if (c == '*' || c == '[' || c == ' ' || c == '\t' || c == '#') c = '?';
  return name;
}

std::string rules_text(const LayoutAnnotations& annotations) {
  std::vector<std::string> axes;
  for (const auto& [name, size] : axes_of(annotations)) axes.push_back(name + "=" + std::to_string(size));
  std::string text;
  for (const LayoutAnnotations::OfOp& of : annotations.ops)
    text += pattern_of(of.op) + "  " +
            (of.task ? "/task:" + std::to_string(*of.task)
                     : words_of(of.layouts[0], word_of, ",") + " on " + join(axes, ",")) +
            "\n";
  return text;
}

}  // namespace

std::string annotation_text(const AutoPlacement& placement) {
  const std::string& taken = placement.candidates[placement.taken].name;
  if (!placement.annotations)
    return "# no annotations: " +
           (placement.model_seconds > 0 ? "none were found that give " + taken + " within the memory" : taken) +
           ", a step of " + milliseconds_text(placement.step_seconds) + "\n";
  const LayoutAnnotations& annotations = *placement.annotations;
  std::int64_t tasks = 1;
  for (const std::int64_t size : annotations.axes) tasks *= size;
  for (const LayoutAnnotations::OfOp& of : annotations.ops)
    tasks = std::max<std::int64_t>(tasks, of.task.value_or(0) + 1);
  return "// for " + plural(tasks, "task") + ", as --place auto chose\n" + code_text(annotations) +
         "\n# RULES.txt for --devices: a step of " + milliseconds_text(annotations.step_seconds) +
         "; with --place auto " + milliseconds_text(placement.step_seconds) + "\n" + rules_text(annotations);
}

}  // namespace ferry
