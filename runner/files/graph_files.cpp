#include "runner/files/graph_files.hpp"

#include <algorithm>
#include <charconv>

#include "base/system/log.hpp"
#include "executor/session/session.hpp"
#include "graph/file/graph_file.hpp"
#include "ops/op_set.hpp"
#include "runner/options/feeds.hpp"

namespace ferry {
namespace {

std::string_view name_of_feed(std::string_view feed) {
  return feed.substr(0, feed.find('='));
}

void check_names(const std::vector<FeedInput>& inputs, const InputSizes& sizes) {
  for (const auto& [name, size] : sizes) static_cast<void>(input_named(inputs, name, "--shape"));
}

LoadedGraph import_onnx(const std::string& file, const JobOptions& options, const InputSizes& sizes) {
  const onnx::Model model = onnx::read_model(file);
  std::vector<FeedInput> inputs;
  for (const auto& some : {model.feeds(), model.defaulted()})
    for (const onnx::ValueDef* input : some)
      if (input->dtype) inputs.push_back({input->name, *input->dtype, {}});
  check_names(inputs, sizes);
  onnx::ImportOptions import{.sizes = sizes,
                             .values = parse_feeds(inputs, options.feeds),
                             .dims = parse_dims(options.dims),
                             .evaluate = constant_evaluator()};
  for (const auto& [name, tensor] : import.values) import.sizes.insert_or_assign(name, tensor.sizes());
  onnx::Imported imported = onnx::import_model(model, import);
  for (const std::string& warning : imported.warnings) log_warn(warning);
  LoadedGraph loaded{std::move(imported.graph), options.feeds};
  std::erase_if(loaded.feeds, [&](const std::string& feed) {
    return std::find(imported.by_value.begin(), imported.by_value.end(), name_of_feed(feed)) != imported.by_value.end();
  });
  return loaded;
}

}  // namespace

std::map<std::string, std::int64_t, std::less<>> parse_dims(const std::vector<std::string>& dims) {
  std::map<std::string, std::int64_t, std::less<>> result;
  for (const std::string& text : dims) {
    const std::size_t equals = text.rfind('=');
    std::int64_t size = 0;
    const char* end = text.data() + text.size();
    const auto fail = [&] {
      return Error(Code::usage, "--dim {}: expected NAME=SIZE", text).hint("for example --dim batch=4");
    };
    if (equals == 0 || equals == std::string::npos) throw fail();
    const auto [at, error] = std::from_chars(text.data() + equals + 1, end, size);
    if (error != std::errc() || at != end || size < 0) throw fail();
    if (!result.emplace(text.substr(0, equals), size).second)
      throw Error(Code::usage, "--dim {}: given twice", text).hint("give one size for it");
  }
  return result;
}

LoadedGraph load_any_graph(const std::string& file, const JobOptions& options, const InputSizes& sizes) {
  if (is_onnx_file(file)) return import_onnx(file, options, sizes);
  if (!options.dims.empty())
    throw Error(Code::usage, "--dim: only an ONNX model has dims to give; a graph's follow from its feeds");
  LoadedGraph loaded{load_graph(file, options.op_set()), options.feeds};
  check_names(inputs_of(*loaded.graph), sizes);
  return loaded;
}

bool is_onnx_file(const std::string& path) {
  return path.ends_with(".onnx");
}

onnx::Evaluate constant_evaluator() {
  ClusterOptions alone;
  alone.tasks = 1;
  alone.threads = 1;
  alone.transport = "inproc";
  return [cluster = Cluster::connect(alone)](const Graph& graph, const Values& fetches) {
    Session session(graph, cluster);
    return session.run(fetches);
  };
}

}  // namespace ferry
