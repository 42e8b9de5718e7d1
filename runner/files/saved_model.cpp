#include "runner/files/saved_model.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "graph/file/tensor_file.hpp"
#include "runner/files/model_files.hpp"

namespace ferry {
namespace {

/// Calls body() only in the process of task 0. If it throws an Error, all processes throw this Error.
template <class F>
void at_task_0(const Cluster& cluster, F body) {
  std::optional<Error> error;
  if (cluster.rank() == 0) try {
      body();
    } catch (const Error& thrown) {
      error = thrown;
    }
  const std::string told = error ? std::to_string(static_cast<int>(error->code())) + " " + error->text() : "";
  const std::string first = cluster.exchange(told)[0];
  if (error) throw *error;
  if (first.empty()) return;
  const std::size_t blank = first.find(' ');
  throw Error(static_cast<Code>(std::stoi(first.substr(0, blank))), first.substr(blank + 1));
}

/// Error(file) unless each tensor of the file has a variable of its name.
void require_variables(const Session& session, const TensorMap& loaded, const std::string& file) {
  const auto types = session.variable_types();
  for (const auto& [name, tensor] : loaded) {
    if (types.contains(name)) continue;
    std::vector<std::string> names;
    for (const auto& [variable, type] : types) names.push_back(variable);
    Error error(Code::file, "{:?}: no variable has the name of the tensor {:?}, {}", file, name,
                as_is(tensor.type().str()));
    const std::string like = nearest(name, names);
    throw like.empty() ? error.hint("leave it out of the file") : error.hint("did you mean {:?}?", like);
  }
}

}  // namespace

void save(Session& session, const std::string& folder) {
  if (folder.empty()) throw Error(Code::usage, "save: the name of the folder is empty").hint("name a folder");
  const Cluster& cluster = session.cluster();
  std::optional<ModelFolder> model;
  at_task_0(cluster, [&] { model.emplace(folder); });
  const TensorMap variables = session.variables();
  at_task_0(cluster, [&] { model->write(variables); });
}

void load(Session& session, const std::string& folder) {
  TensorMap variables;
  at_task_0(session.cluster(), [&] { variables = read_model(folder); });
  session.restore(variables);
}

void load_state(Session& session, const std::string& file) {
  TensorMap state = session.variables();
  at_task_0(session.cluster(), [&] {
    TensorMap loaded = read_tensors(local_files(), file);
    require_variables(session, loaded, file);
    std::vector<std::string> kept;
    for (const auto& [name, value] : state)
      if (!loaded.contains(name)) kept.push_back(name);
    if (!kept.empty() && kept.size() < state.size())
      log_info(formatted("{:?} lacks variables, which keep their values: {:.200}", file, join(kept, ", ")));
    loaded.merge(state);  // merge() keeps the tensors of the file
    state = std::move(loaded);
  });
  session.restore(state);
}

}  // namespace ferry
