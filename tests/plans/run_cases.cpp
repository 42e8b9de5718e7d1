// Tests passes by text: each case is a form, one pass, and the form that the pass must make of it.
//
//     run_cases FOLDER            runs FOLDER/PASS.test for each pass; prints what differs
//     run_cases FOLDER --update   writes what the passes make into the files
//     run_cases --graphs FOLDER   reads all forms of FOLDER/*.pb, as differing_form() says
//
// The cases of a file are separated by lines "====", and the sections of a case by lines "----":
//
//     # A comment: what the case shows.
//     --tasks 2
//     version: 1        (the graph as .pbtxt, to which the form refers; not for passes over classes)
//     ----
//     program of …      (the form before the pass; not for `select`)
//     ----
//     program of …      (the form after it, or "error: " and why the pass refuses it)
//
// A case that has no form before the pass gets one by --update: the one that the planner makes of its graph. So to
// write a case, write the graph, or copy a form, and let --update fill in the rest; then read it.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "graph/file/graph_file.hpp"
#include "ops/op_set.hpp"
#include "placement/lower/class_nodes.hpp"
#include "placement/lower/find_roles.hpp"
#include "placement/lower/lower.hpp"
#include "placement/pipeline.hpp"
#include "placement/program/check_program.hpp"
#include "placement/program/select.hpp"
#include "plan/text/exact_text.hpp"
#include "plan/text/plan_text.hpp"
#include "tests/plans/case_context.hpp"
#include "tests/plans/class_form.hpp"
#include "tests/plans/program_form.hpp"
#include "tests/plans/walk_forms.hpp"

namespace ferry::test {
namespace {

constexpr std::size_t kCasesOfEach = 2;  // a pass has at least one case where it acts, and one where it does not

std::vector<std::string> parts_of(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts{""};
  for (const std::string_view line : split(text, '\n')) {
    if (line == separator)
      parts.emplace_back();
    else
      parts.back().append(line) += "\n";
  }
  for (std::string& part : parts) part = std::string(trimmed(part)) + "\n";
  return parts;
}

struct Case {
  std::string comment, options, graph, before, after;

  static Case parse(const std::string& text) {
    Case made;
    std::vector<std::string> parts = parts_of(text, "----");
    std::string& head = parts[0];
    const auto take_lines = [&](std::string_view begin, std::string& into) {
      while (head.starts_with(begin)) {
        const std::size_t end = head.find('\n') + 1;
        into += head.substr(0, end);
        head.erase(0, end);
      }
    };
    take_lines("#", made.comment);
    take_lines("--", made.options);
    head.erase(0, head.find_first_not_of('\n'));
    if (head.starts_with("version:")) {
      made.graph = head;
      parts.erase(parts.begin());
    }
    if (parts.size() > 1) made.before = parts[0];
    if (!parts.empty()) made.after = parts.back();
    return made;
  }

  [[nodiscard]] std::string str() const {
    std::string text = comment + options;
    bool first = true;
    for (const std::string& section : {graph, before, after}) {
      if (section.empty()) continue;
      text += (first ? "" : "----\n") + section;
      first = false;
    }
    return text;
  }
};

Program selected(const CaseContext& context) {
  Program program = select(*context.graph, context.signature, context.topology, *context.kernels, context.options);
  program.auto_mesh = context.auto_mesh;
  return program;
}

/// The tables and the classes that `lower` makes, each after `passed`.
std::string lowered(const Program& program, const std::function<void(ClassPlan&)>& passed) {
  Plan plan;
  Lowering shared(program, plan);
  plan.class_of = find_roles(program, plan, shared.messages);
  const ClassNodes nodes(program, plan, shared.messages);
  std::string text;
  for (std::size_t task = 0; task < plan.class_of.size(); ++task) {
    if (plan.class_of[task] < plan.classes.size()) continue;
    ClassPlan role = lower(shared, nodes, static_cast<std::int32_t>(task));
    passed(role);
    text += role.str();
    plan.classes.push_back(std::move(role.role));
  }
  return exact_tables_of(plan) + text;
}

std::string roles_of(const Program& program) {
  Plan plan;
  const Lowering shared(program, plan);
  return roles_text(find_roles(program, plan, shared.messages));
}

std::string tables_of(const Program& program) {
  Plan plan;
  const Lowering shared(program, plan);
  return exact_tables_of(plan);
}

/// What runs before classes are there: a pass over a program, or one that makes something else of it.
std::string after_program(std::string_view pass, Program program) {
  for (const FormPass<Program>& known : program_passes()) {
    if (known.name != pass) continue;
    known.run(program);
    check_program(program);
    return program.str();
  }
  if (pass == "number_messages") return tables_of(program);
  if (pass == "find_roles") return roles_of(program);
  return lowered(program, [](ClassPlan&) {});
}

const FormPass<ClassPlan>* class_pass(std::string_view name) {
  for (const FormPass<ClassPlan>& pass : class_passes())
    if (pass.name == name) return &pass;
  return nullptr;
}

/// The form that the planner has before the pass.
std::string planned_before(std::string_view pass, const CaseContext& context) {
  Program program = selected(context);
  for (const FormPass<Program>& known : program_passes()) {
    if (known.name == pass) break;
    known.run(program);
  }
  if (class_pass(pass) == nullptr) return program.str();
  return lowered(program, [&](ClassPlan& role) {
    for (const FormPass<ClassPlan>* known = class_passes().data(); known->name != pass; ++known) known->run(role);
  });
}

std::string printed_again(std::string_view pass, const Case& one, const CaseContext& context) {
  if (pass == "select") return {};
  if (class_pass(pass) != nullptr) return parse_classes(one.before, context.topology).str();
  return parse_program(one.before, selected(context)).str();
}

std::string found_after(std::string_view pass, const Case& one, const CaseContext& context) {
  try {
    if (pass == "select") return selected(context).str();
    if (const auto* const known = class_pass(pass)) return parse_classes(one.before, context.topology).str(known->run);
    return after_program(pass, parse_program(one.before, selected(context)));
  } catch (const Error& error) {
    return "error: " + error.text() + "\n";
  }
}

/// Runs the case; with `update`, writes the forms that it finds into the case. Returns the difference.
std::string run(std::string_view pass, Case& one, bool update) {
  const CaseContext context = case_context(trimmed(one.options), one.graph);
  if (update && one.before.empty() && pass != "select") one.before = planned_before(pass, context);
  if (update && class_pass(pass) != nullptr) one.graph.clear();
  const std::string again = printed_again(pass, one, context);
  if (update) one.before = again;
  std::string wrong = difference(again, one.before);
  if (!wrong.empty()) return "the form before the pass is not as it is printed (--update): " + wrong;
  const std::string found = found_after(pass, one, context);
  if (update) one.after = found;
  return difference(one.after, found);
}

int run_folder(const std::filesystem::path& folder, bool update) {
  std::size_t passed = 0, failed = 0;
  const auto fail = [&](const std::string& what) {
    ++failed;
    std::printf("%s\n", what.c_str());
  };
  for (const std::string_view pass : pass_names()) {
    const std::filesystem::path path = folder / (std::string(pass) + ".test");
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::string written;
    std::vector<std::string> cases = parts_of(text, "====");
    if (cases.size() < kCasesOfEach) fail(path.string() + " has fewer than two cases");
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Case one = Case::parse(cases[i]);
      std::string wrong;
      try {
        wrong = run(pass, one, update);
      } catch (const Error& error) {
        wrong = error.text();
      }
      if (wrong.empty())
        ++passed;
      else
        fail(path.filename().string() + ", case " + std::to_string(i + 1) + ": " + one.comment + wrong);
      written += (i == 0 ? "" : "====\n") + one.str();
    }
    if (update) std::ofstream(path) << written;
  }
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

/// The graph files in a folder, in order.
std::vector<std::string> graphs_in(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".pb") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

/// Reads the forms of one entry; returns the first difference, or nothing if it cannot be planned on these tasks.
std::optional<std::string> differing_entry(const std::string& file, const std::string& entry, std::string_view tasks) {
  CaseContext context = case_context(tasks, "");
  set_graph(context, load_graph(file, default_ops()), entry);
  try {
    return differing_form(*context.graph, context.signature, context.topology, *context.kernels, context.options);
  } catch (const Error& error) {
    if (error.code() == Code::file) return "cannot be read: " + error.text();  // the graph was read before
    return std::nullopt;
  }
}

int run_graphs(const std::filesystem::path& folder) {
  constexpr std::string_view kTasks[] = {"--tasks 1 --threads 3", "--tasks 4 --hosts 2", "--tasks 2 --device sim",
                                         "--tasks 2 --shared-memory", "--tasks 3 --jobs ps=0,worker=1-2"};
  std::size_t read = 0, failed = 0;
  for (const std::string& file : graphs_in(folder)) {
    const std::unique_ptr<Graph> graph = load_graph(file, default_ops());
    for (const auto& [entry, what] : graph->entries())
      for (const std::string_view tasks : kTasks) {
        const std::optional<std::string> wrong = differing_entry(file, entry, tasks);
        read += wrong ? 1 : 0;
        if (!wrong || wrong->empty()) continue;
        ++failed;
        std::printf("%s %s %s: %s\n", file.c_str(), entry.c_str(), std::string(tasks).c_str(), wrong->c_str());
      }
  }
  std::printf("%zu plans read, %zu failed\n", read, failed);
  return failed == 0 && read > 0 ? 0 : 1;
}

}  // namespace
}  // namespace ferry::test

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() > 1 && words[0] == "--graphs") return ferry::test::run_graphs(words[1]);
  return ferry::test::run_folder(words.at(0), words.size() > 1 && words[1] == "--update");
}
