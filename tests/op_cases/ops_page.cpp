// Makes the page docs/reference/ops.md from the ops' definitions, kernels, cases, the headers of ops/, and the tables
// of ONNX's converters.
//
//     ops_page docs/reference/ops.md            fails when the page is out of date, when an op of ONNX is neither
//                                               imported nor has a reason why not (or both), or when two converters
//                                               have the same op and version
//     ops_page --write docs/reference/ops.md    writes the page
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "graph/graph_facts.hpp"
#include "graph/op/index_notation.hpp"
#include "kernels/cuda_on_host.hpp"
#include "kernels/kernel.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/op_set.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/op_cases/onnx_ops.hpp"

namespace ferry::test {
namespace {

std::string name_of(const DTypeSet& dtypes) {
  const std::string text = dtypes.str();
  if (text == kAnyType.str()) return "any";
  if (text == kNumbers.str()) return "numbers";
  return text == kFloats.str() ? "floats" : text;
}

std::string dtypes(const OpDef& def) {
  std::string text = "`" + std::string(def.types) + "`";
  if (def.types.find('T') != std::string_view::npos) text += " T: " + name_of(def.T);
  if (def.types.find('U') != std::string_view::npos) text += " U: " + name_of(def.U);
  return text;
}

/// The op's index notation: the definition's own, otherwise (it depends on attributes and ranks) the notation of its
/// first case.
std::string layouts(const OpDef& def) {
  if (!def.index.empty()) return "`" + std::string(def.index) + "`";
  for (const Case& which : op_cases()) {
    if (which.op != def.name) continue;
    DType dtype = DType::float32;
    for (DType other : kDTypes)
      if (!dtypes_of(which).has(dtype)) dtype = other;
    const CaseGraph made(which, inputs_for(which, 0, dtype));
    for (OpId id = 0; id < made.graph.size(); ++id)
      if (&made.graph.op(id).def() == &def) return "`" + notation_of(def, GraphFacts(made.graph.op(id))) + "`";
  }
  return "";
}

/// The attributes, as "name: kind"; those that may be left out in brackets.
std::string attributes(const OpDef& def) {
  std::string text;
  for (const AttrDef& attr : def.attrs) {
    const std::string one = "`" + std::string(attr.name) + ": " + std::string(attr.kind) + "`";
    text += (text.empty() ? "" : ", ") + (attr.required ? one : "[" + one + "]");
  }
  return text;
}

std::string devices(const OpDef& def) {
  static const auto gpu_kernels = cuda::kernels_on_host(cpu_kernels());
  if (cpu_kernels().find(def.name) != nullptr) return gpu_kernels->find(def.name) != nullptr ? "cpu, gpu" : "cpu";
  return def.is(kView) ? "all" : "executor";
}

/// The functions that the headers in a folder declare, by their names in lower case without underscores.
std::map<std::string, std::string> functions_in(const std::filesystem::path& folder) {
  const std::regex declaration(R"((?:\[\[nodiscard\]\] )?(?:inline )?[A-Z]\w* (\w+)\(.*)");
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".hpp") continue;
    std::ifstream file(entry.path());
    std::smatch match;
    for (std::string line; std::getline(file, line);) {
      if (!std::regex_match(line, match, declaration)) continue;
      found.emplace(std::regex_replace(match.str(1), std::regex("_"), ""), match.str(1));
    }
  }
  return found;
}

/// The function that adds the op to a graph; empty for ops that gradients and planning add.
std::string function_of(std::string_view op, const std::map<std::string, std::string>& functions) {
  static const std::map<std::string_view, std::string_view> kOthers = {{"And", "logical_and"},
                                                                       {"BatchFile", "batch"},
                                                                       {"BroadcastLike", "broadcast_as"},
                                                                       {"Constant", "Graph::constant"},
                                                                       {"Input", "Graph::input"},
                                                                       {"Not", "logical_not"},
                                                                       {"Or", "logical_or"},
                                                                       {"RandomNormal", "normal"},
                                                                       {"RandomUniform", "uniform"},
                                                                       {"RandomUniformLike", "uniform_like"},
                                                                       {"ReshapeLike", "reshape_as"},
                                                                       {"SumLike", "sum_as"},
                                                                       {"Triangle", "tril"},
                                                                       {"Variable", "Graph::variable"},
                                                                       {"While", "while_loop"}};
  if (const auto other = kOthers.find(op); other != kOthers.end()) return "`" + std::string(other->second) + "`";
  std::string name;
  for (const char c : op) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto function = functions.find(name);
  return function == functions.end() ? "" : "`" + function->second + "`";
}

/// The page, for the headers of the tree.
std::string page(const std::filesystem::path& root) {
  const std::map<std::string, std::string> functions = functions_in(root / "ops");
  std::ostringstream out;
  out << "# Ops\n\n"
         "This page lists the ops of graphs and the ops of ONNX that ferry imports. Use it to look up the C++ "
         "function, "
         "dtypes,\nattributes, gradient and layouts of an op. [functions.md](functions.md) also has functions made of "
         "several ops.\n`build/tests/op_cases/ops_page --write docs/reference/ops.md` makes this page; a test fails if "
         "it is out of date.\n\n"
         "## Ops of ferry\n\n"
         "- C++: the function that adds the op, in `<ferry/ops/…>`. Ops without a function come from gradients and "
         "planning.\n- Types: inputs and outputs.\n  - any: "
      << kAnyType.str() << "\n  - numbers: " << kNumbers.str() << "\n  - floats: " << kFloats.str()
      << "\n- Attributes: an attribute in brackets is optional. Kinds are fields of `Attr` in "
         "`graph/ferry_graph.proto`; a subgraph\n  is `body`.\n"
         "- Layouts: index notation ([add_an_op.md](../internals/add_an_op.md)). If it depends on attributes and "
         "ranks, the table\n  has an example. A letter without brackets may be split over tasks.\n"
         "- Devices: `executor` if no kernel runs for the op, `all` if the op touches no bytes.\n\n"
         "| op | C++ | types | attributes | gradient | layouts | devices |\n|---|---|---|---|---|---|---|\n";
  for (const OpDef* def : default_ops().all())
    out << "| " << def->name << " | " << function_of(def->name, functions) << " | " << dtypes(*def) << " | "
        << attributes(*def) << " | " << (def->grad != nullptr ? "yes" : "none: " + std::string(def->no_grad)) << " | "
        << layouts(*def) << " | " << devices(*def) << " |\n";
  out << "\n## Ops of ONNX\n\n"
         "ferry imports an op from the given version of the operator set up to the next one. The last version also "
         "holds for newer\nsets. Random ops give ferry's own numbers.\n\n"
         "| op | from version |\n|---|---|\n";
  std::map<std::string_view, std::string> versions;
  for (const onnx::ConvertOp& converter : onnx::all_converters()) {
    std::string& list = versions[converter.op];
    list += (list.empty() ? "" : ", ") + std::to_string(converter.since);
  }
  for (const auto& [op, list] : versions) out << "| " << op << " | " << list << " |\n";
  out << "\nONNX's own operator set has " << std::size(kOnnxOps)
      << " ops. ferry does not import these:\n\n| op | reason |\n|---|---|\n";
  for (const NotImported& one : kNotImported) out << "| " << one.op << " | " << one.why << " |\n";
  return out.str();
}

/// Whether each op of ONNX has either converters, one for each version, or a reason why not; prints the faults.
bool check_converters() {
  std::map<std::string_view, std::string_view> reasons;
  for (const NotImported& one : kNotImported) reasons.emplace(one.op, one.why);
  bool good = true;
  const auto fault = [&](std::string_view op, std::string_view why) {
    std::cerr << op << " " << why << "\n";
    good = false;
  };
  for (const std::string_view op : kOnnxOps)
    if (onnx::has_converter(op) == reasons.contains(op))
      fault(op, reasons.contains(op) ? "is imported, and has a reason why not" : "is not imported, without a reason");
  const auto converters = onnx::all_converters();
  for (std::size_t i = 1; i < converters.size(); ++i)
    if (converters[i].op == converters[i - 1].op && converters[i].since == converters[i - 1].since)
      fault(converters[i].op, "has two converters from the same version on");
  return good;
}

int run(bool write, const std::string& path) {
  const std::string made = page(std::filesystem::absolute(path).parent_path() / ".." / "..");
  if (write) {
    std::ofstream(path) << made;
    return 0;
  }
  if (!check_converters()) return 1;
  std::ifstream file(path);
  const std::string found{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (found == made) return 0;
  std::cerr << path << " is old: run build/tests/op_cases/ops_page --write docs/reference/ops.md\n";
  return 1;
}

}  // namespace
}  // namespace ferry::test

int main(int argc, char** argv) {
  const bool write = argc == 3 && std::string_view(argv[1]) == "--write";
  if (argc != (write ? 3 : 2)) {
    std::cerr << "usage: ops_page [--write] FILE\n";
    return 2;
  }
  return ferry::test::run(write, argv[argc - 1]);
}
