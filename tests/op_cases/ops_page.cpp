// Makes the page docs/reference/ops.md from the ops' definitions, kernels, cases and the tables of ONNX's converters.
//
//     ops_page docs/reference/ops.md             fails when the page is out of date, when an op of ONNX is neither
//     imported nor
//                                      has a reason why not (or both), or when two converters have the same op and
//                                      version
//     ops_page --write docs/reference/ops.md     writes the page
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
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

std::string page() {
  std::ostringstream out;
  out << "# Ops\n\n"
         "This page is made by `build/tests/op_cases/ops_page --write docs/reference/ops.md` from the ops' "
         "definitions; a test "
         "fails "
         "when it is old.\nFunctions made of several ops (`gelu`, `einsum`, `layer_norm`, …) are in the headers of "
         "`ops/`.\n\n"
         "## ferry's ops\n\n"
         "Types: of inputs and outputs; any: "
      << kAnyType.str() << "; numbers: " << kNumbers.str() << "; floats: " << kFloats.str()
      << ".\nAttributes: those in brackets may be left out; kinds are fields of `Attr` in `graph/ferry_graph.proto` (a "
         "subgraph is `body`).\nLayouts: index notation ([add_an_op.md](add_an_op.md)), where it depends on attributes "
         "and ranks as an "
         "example: a letter without brackets may be\nsplit over tasks. Devices: `executor` where no kernel is run for "
         "it, "
         "`all` where no bytes are touched.\n\n"
         "| op | types | attributes | gradient | layouts | devices |\n|---|---|---|---|---|---|\n";
  for (const OpDef* def : default_ops().all())
    out << "| " << def->name << " | " << dtypes(*def) << " | " << attributes(*def) << " | "
        << (def->grad != nullptr ? "yes" : "none: " + std::string(def->no_grad)) << " | " << layouts(*def) << " | "
        << devices(*def) << " |\n";
  out << "\n## ONNX's ops\n\n"
         "Imported from the version of the operator set that is given, up to the next one; the last is good for newer "
         "sets, "
         "too.\nOf random ops the numbers are ferry's own.\n\n"
         "| op | from version |\n|---|---|\n";
  std::map<std::string_view, std::string> versions;
  for (const onnx::ConvertOp& converter : onnx::all_converters()) {
    std::string& list = versions[converter.op];
    list += (list.empty() ? "" : ", ") + std::to_string(converter.since);
  }
  for (const auto& [op, list] : versions) out << "| " << op << " | " << list << " |\n";
  out << "\nNot imported, of the " << std::size(kOnnxOps)
      << " ops of ONNX's own operator set:\n\n| op | why |\n|---|---|\n";
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
  const std::string made = page();
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
