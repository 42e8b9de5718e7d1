#include "ops/onnx/import.hpp"

#include <set>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "base/format.hpp"
#include "ops/onnx/importer/by_value.hpp"
#include "ops/onnx/importer/given.hpp"
#include "ops/onnx/importer/importer.hpp"
#include "ops/onnx/support.hpp"

namespace ferry::onnx {
namespace {

constexpr std::int64_t kNewestIr = 14;

void check_version(const Model& model) {
  if (model.ir_version > kNewestIr)
    throw Error(Code::file, "its format is version {}; this ferry reads up to version {}", model.ir_version, kNewestIr)
        .hint("use a newer ferry");
}

/// Imports the model. Each time that more inputs must be taken by value, the import is restarted.
Imported imported(const Model& model, const ImportOptions& options) {
  std::set<std::string> by_value;
  for (;;) {
    try {
      Importer importer(model, options, by_value);
      std::unique_ptr<Graph> graph = importer.import();
      return {std::move(graph), {by_value.begin(), by_value.end()}, importer.warnings()};
    } catch (const NeedsValues& needs) {
      by_value.insert(needs.inputs.begin(), needs.inputs.end());
    }
  }
}

}  // namespace

Imported import_model(const Model& model, const ImportOptions& options) {
  const DefaultFloats floats;
  check_supported(model);
  try {
    check_version(model);
    check_given(model, options);
    return imported(model, options);
  } catch (const Error& error) {
    throw Error(error.code(), "{:.300}: {}", model.source, as_is(error.text()));
  }
}

}  // namespace ferry::onnx
