#include "runner/options/device_rules.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;
constexpr std::string_view kBlanks = " \t\r";

struct Rule {
  std::string pattern;
  std::string where;  ///< "rules.txt:3"
  Annotation annotation;
  bool matched = false;
};

/// Reads one line. Each error points at a place in the line.
class LineParser {
 public:
  LineParser(Graph& graph, std::string_view line, std::string where)
      : graph_(graph), line_(line), where_(std::move(where)) {}

  Rule parse() {
    Rule rule;
    rule.where = where_;
    rule.pattern = word();
    skip_blanks();
    if (at_ == line_.size()) fail("a device or a layout is missing after the pattern");
    if (line_[at_] == '/')
      rule.annotation.device = device();
    else
      parse_mesh_layout(rule.annotation);
    skip_blanks();
    if (at_ < line_.size()) fail("one word too many");
    return rule;
  }

 private:
  /// Returns make(). Turns its errors into Error(usage) that names this line.
  template <class F>
  auto with_location(F make) {
    try {
      return make();
    } catch (const Error& error) {
      throw Error(Code::usage, where_ + ": " + error.text());
    }
  }

  void parse_mesh_layout(Annotation& annotation) {
    const std::size_t start = at_;
    const Layout layout = layouts();
    expect_on();
    Mesh mesh{axes(), DeviceSpec::parse("/task:*")};
    skip_blanks();
    if (at_ < line_.size()) {
      expect_on();
      mesh.devices = device();
    }
    if (layout.size() != mesh.axes.size()) {
      at_ = start;
      fail("a layout of " + std::to_string(layout.size()) + " on a mesh of " + std::to_string(mesh.axes.size()) +
           " axes");
    }
    annotation.mesh = with_location([&] { return graph_.mesh(std::move(mesh)); });
    annotation.layouts = {layout};
  }

  DeviceSpec device() {
    const std::string_view text = word();
    return with_location([&] { return DeviceSpec::parse(text); });
  }

  Layout layouts() {
    Layout layout;
    do {
      layout.push_back(axis_layout());
    } while (accept(","));
    return layout;
  }

  AxisLayout axis_layout() {
    if (accept("replicated")) return replicated();
    if (accept("split(")) {
      const int dim = number();
      if (!accept(")")) fail("expected ')'");
      return split(dim);
    }
    for (const Reduce reduce : {Reduce::sum, Reduce::max, Reduce::min})
      if (accept("partial(" + std::string(name_of(reduce)) + ")")) return partial(reduce);
    fail("expected a device (/task:N), or replicated, split(DIM) or partial(sum|max|min)");
  }

  std::vector<Mesh::Axis> axes() {
    std::vector<Mesh::Axis> axes;
    do {
      const std::size_t start = at_;
      while (at_ < line_.size() && kBlanks.find(line_[at_]) == std::string_view::npos && line_[at_] != '=' &&
             line_[at_] != ',')
        ++at_;
      if (at_ == start) fail("expected the name of an axis");
      Mesh::Axis axis{std::string(line_.substr(start, at_ - start)), Mesh::kOpen};
      if (accept("=") && !accept("*")) axis.size = number();
      axes.push_back(std::move(axis));
    } while (accept(","));
    return axes;
  }

  void expect_on() {
    skip_blanks();
    const std::size_t start = at_;
    if (word() == "on") return skip_blanks();
    at_ = start;
    fail("expected 'on' and a mesh");
  }

  int number() {
    int value = 0;
    const std::string_view rest = line_.substr(at_);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value < 0) fail("expected a number");
    at_ += static_cast<std::size_t>(end - rest.data());
    return value;
  }

  bool accept(std::string_view text) {
    if (!line_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  std::string_view word() {
    const std::size_t start = at_;
    at_ = std::min(line_.find_first_of(kBlanks, at_), line_.size());
    return line_.substr(start, at_ - start);
  }

  void skip_blanks() { at_ = std::min(line_.find_first_not_of(kBlanks, at_), line_.size()); }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(Code::usage, where_ + ": " + why)
        .note("{:.200}", line_)
        .note(std::string(escaped(line_.substr(0, at_), 200).size(), ' ') + "^")
        .hint("for example:  encoder/* /task:1/cpu:0   or:  x split(0) on dp");
  }

  Graph& graph_;
  std::string_view line_;
  std::string where_;
  std::size_t at_ = 0;
};

std::vector<Rule> read_rules(Graph& graph, const std::string& path) {
  const FileBytes bytes = local_files().read(path, kMaxBytes);
  std::vector<Rule> rules;
  std::size_t number = 0;
  for (const std::string_view whole : split(bytes.text(), '\n')) {
    ++number;
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.starts_with("#")) continue;
    rules.push_back(LineParser(graph, line, formatted("{}:{}", path, number)).parse());
  }
  return rules;
}

/// Places the ops of a graph and of the bodies in it. Marks the rules that match, and adds the ops' names to `names`.
void apply(Graph& graph, std::vector<Rule>& rules, std::vector<std::string>& names) {
  for (OpId id = 0; id < graph.size(); ++id) {
    const std::string name(graph.op(id).name());
    bool placed = false;
    for (Rule& rule : rules) {
      if (::fnmatch(rule.pattern.c_str(), name.c_str(), FNM_NOESCAPE) != 0) continue;
      rule.matched = true;
      if (placed) continue;
      Annotation annotation = rule.annotation;
      if (!annotation.layouts.empty())
        annotation.layouts.resize(static_cast<std::size_t>(graph.op(id).outputs()), rule.annotation.layouts[0]);
      graph.annotate(id, annotation);
      placed = true;
    }
    names.push_back(name);
  }
  for (std::uint32_t i = 0; i < graph.subgraphs(); ++i) apply(graph.subgraph(SubgraphRef{i}), rules, names);
}

}  // namespace

void apply_device_rules(Graph& graph, const std::string& path) {
  std::vector<Rule> rules = read_rules(graph, path);
  std::vector<std::string> names;
  apply(graph, rules, names);
  for (const Rule& rule : rules) {
    if (rule.matched) continue;
    Error error(Code::usage, "{}: no op has a name like '{}'", as_is(rule.where), rule.pattern);
    const std::string like = nearest(rule.pattern, names);
    throw error.hint(like.empty() ? "ferry show prints the ops of a graph" : formatted("{}?", like));
  }
}

}  // namespace ferry
