#include "executor/session/agreement.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/text.hpp"
#include "graph/needed.hpp"
#include "graph/op/core_ops.hpp"

namespace ferry {
namespace {

struct FeedType {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
};

/// What one task asks for.
struct TaskRequest {
  std::string problem;  ///< why this task's request is wrong; empty when it is right
  std::string request;
  std::int64_t steps = 1;
  std::vector<FeedType> feeds;
};

void check_value(const Graph& graph, const Value& value, const char* what) {
  if (!value.defined()) throw Error(Code::usage, std::string("a ") + what + " is an undefined value");
  if (&value.graph() != &graph)
    throw Error(Code::usage, std::string("the ") + what + " '" + escaped(value.name()) +
                                 "' belongs to another graph, or is inside a loop or branch body")
        .at(value.op().line())
        .hint("carry it out of the body as a result");
}

OpId input_named(const Graph& graph, const std::string& name) {
  const auto found = graph.find(name);
  if (found && graph.op(*found).def().role == OpRole::input) return *found;
  std::vector<std::string> inputs;
  for (OpId id = 0; id < graph.size(); ++id)
    if (graph.op(id).def().role == OpRole::input) inputs.emplace_back(graph.op(id).name());
  Error error(Code::usage, "there is no input '" + escaped(name) + "' to feed");
  if (inputs.empty()) throw error.note("the graph has no inputs");
  const std::string close = nearest(name, inputs);
  throw error.hint(close.empty() ? "the inputs are " + join(inputs, ", ") : "did you mean '" + close + "'?");
}

void check_feed(const Graph& graph, const std::string& name, DType dtype) {
  const Op op = graph.op(input_named(graph, name));
  const Type& type = graph.type(op.output(0));
  if (dtype != type.dtype)
    throw Error(Code::usage, "the feed '" + escaped(name) + "' is " + std::string(name_of(dtype)) +
                                 "; the graph wants " + type.str())
        .at(op.line());
}

TaskRequest task_request(const Graph& graph, const RunRequest& request, bool gives, int tasks) {
  TaskRequest asked;
  asked.steps = request.steps;
  try {
    if (request.steps < 1) throw Error(Code::usage, "steps: " + std::to_string(request.steps) + " is not 1 or more");
    if (request.fetches.empty() && request.targets.empty())
      throw Error(Code::usage, "nothing is fetched and nothing is run");
    if (request.fetch_to < 0 || request.fetch_to >= tasks)
      throw Error(Code::usage, "the fetches are to arrive at task " + std::to_string(request.fetch_to) +
                                   "; the job has tasks 0 to " + std::to_string(tasks - 1));
    for (const Value& fetch : request.fetches) check_value(graph, fetch, "fetch");
    for (const Value& target : request.targets) check_value(graph, target, "target");
    for (const auto& [name, tensor] : request.feeds) {
      if (!tensor.defined())
        throw Error(Code::usage, "the feed '" + escaped(name) + "' is an undefined tensor")
            .at(graph.op(input_named(graph, name)).line());
      check_feed(graph, name, tensor.dtype());
      if (gives) asked.feeds.push_back({name, tensor.dtype(), tensor.sizes()});
    }
    for (const auto& [name, type] : request.feed_types) {
      check_feed(graph, name, type.dtype);
      if (gives) asked.feeds.push_back({name, type.dtype, type.shape.sizes()});
    }
    asked.request = request_text(request);
  } catch (const Error& error) {
    asked.problem = error.text();
  }
  return asked;
}

std::string packed(const TaskRequest& asked) {
  BlobWriter writer;
  writer.add(asked.problem).add(asked.request).add(asked.steps).add(asked.feeds.size());
  for (const FeedType& feed : asked.feeds) writer.add(feed.name).add(static_cast<int>(feed.dtype)).add(feed.sizes);
  return writer.take();
}

TaskRequest unpacked(std::string_view bytes) {
  BlobReader reader(bytes);
  TaskRequest asked;
  asked.problem = reader.text();
  asked.request = reader.text();
  asked.steps = reader.number();
  for (std::int64_t feeds = reader.number(); feeds > 0; --feeds) {
    FeedType feed;
    feed.name = reader.text();
    feed.dtype = static_cast<DType>(reader.number());
    feed.sizes = reader.numbers();
    asked.feeds.push_back(std::move(feed));
  }
  return asked;
}

/// Makes one agreed request of all tasks' requests, or throws an Error that is the same on all tasks.
class Agreement {
 public:
  /// `texts`: the packed request of each task.
  Agreement(const Graph& graph, const Topology& topology, std::span<const std::string_view> texts)
      : graph_(graph), topology_(topology) {
    for (std::size_t task = 0; task < texts.size(); ++task) {
      of_task_.emplace_back();
      if (texts[task].empty()) continue;  // it is lost
      if (task == 0 || texts[task] != texts[task - 1]) requests_.push_back(unpacked(texts[task]));
      of_task_.back() = requests_.size() - 1;
    }
  }

  Agreed make(const RunRequest& request) {
    for (std::size_t task = 0; task < of_task_.size(); ++task) compare(task);
    Agreed agreed;
    for (const auto& [name, givers] : givers_) agreed.signature.feeds.push_back(feed(name, givers));
    std::sort(agreed.signature.feeds.begin(), agreed.signature.feeds.end(),
              [](const auto& a, const auto& b) { return a.value < b.value; });
    for (const Value& fetch : request.fetches) agreed.signature.fetches.push_back(fetch.id());
    agreed.signature.fetch_to = request.fetch_to;
    for (const Value& target : request.targets) agreed.signature.targets.push_back(target.op().id());
    std::sort(agreed.signature.targets.begin(), agreed.signature.targets.end());
    agreed.steps = requests_[0].steps;
    agreed.request = requests_[0].request;
    agreed.key = agreed.request;
    for (const Signature::Feed& fed : agreed.signature.feeds) {
      agreed.key += " " + std::to_string(fed.value) + "@" + std::to_string(fed.task);
      for (std::int64_t size : fed.sizes) agreed.key += "," + std::to_string(size);
    }
    return agreed;
  }

 private:
  void compare(std::size_t task) {
    if (!of_task_[task]) return;
    const TaskRequest& asked = requests_[*of_task_[task]];
    const auto differ = [&](const std::string& what) -> Error {
      return Error(Code::usage, "the tasks do not ask for the same: " + what)
          .hint("make the same calls of run() on every task");
    };
    const std::string who = "task " + std::to_string(task);
    if (!asked.problem.empty())
      throw Error(Code::usage, of_task_.size() == 1 ? asked.problem : asked.problem + "\n  on " + who);
    if (asked.request != requests_[0].request)
      throw differ("task 0 fetches and runs" + escaped(requests_[0].request, 400) + "; " + who +
                   escaped(asked.request, 400));
    if (asked.steps != requests_[0].steps)
      throw differ("task 0 runs " + std::to_string(requests_[0].steps) + " steps, " + who + " " +
                   std::to_string(asked.steps));
    for (const FeedType& feed : asked.feeds) {
      Givers& givers = givers_[feed.name];
      if (!givers.tasks.empty() && (givers.sizes != feed.sizes))
        throw differ("the feed '" + escaped(feed.name) + "' has other sizes on " + who + " than on task " +
                     std::to_string(givers.tasks[0]));
      givers.sizes = feed.sizes;
      givers.tasks.push_back(static_cast<std::int32_t>(task));
    }
  }

  struct Givers {
    std::vector<std::int64_t> sizes;
    std::vector<std::int32_t> tasks;
  };

  /// The feed is given by the task that owns the input if it has the feed, else by the first task that has it.
  Signature::Feed feed(const std::string& name, const Givers& givers) const {
    const Op op = graph_.op(*graph_.find(name));
    std::int32_t giver = givers.tasks[0];
    const DeviceSpec& device = op.annotation().device;
    if (op.annotation().mesh == kNoMesh && device.task && !device.all_tasks()) {
      const int owner = topology_.resolve(device);
      if (std::find(givers.tasks.begin(), givers.tasks.end(), owner) != givers.tasks.end()) giver = owner;
    }
    return {op.output(0), giver, givers.sizes};
  }

  const Graph& graph_;
  const Topology& topology_;
  std::vector<TaskRequest> requests_;  // equal successive requests are kept once: among many tasks nearly all are equal
  std::vector<std::optional<std::size_t>> of_task_;  // by task: its index in requests_
  std::map<std::string, Givers> givers_;
};

}  // namespace

std::vector<Batches> uneven_batches(const Graph& graph, const Signature& signature) {
  return uneven_batches(graph, needed_ops(graph, signature.fetches, signature.targets));
}

Agreed Agreed::at(std::int64_t step) const {
  Agreed then = *this;
  for (const Batches& batches : uneven) {
    if (!batches.is_smaller(step)) continue;
    then.signature.rows[batches.symbol()] = batches.last();
    then.key += " " + batches.symbol() + "=" + std::to_string(batches.last());
  }
  return then;
}

std::int64_t Agreed::next_change(std::int64_t step, std::int64_t end) const {
  for (const Batches& batches : uneven) end = std::min(end, batches.next_change(step));
  return end;
}

std::int64_t Agreed::first_whole(std::int64_t step) const {
  while (std::any_of(uneven.begin(), uneven.end(), [&](const Batches& batches) { return batches.is_smaller(step); }))
    ++step;
  return step;
}

std::string request_text(const RunRequest& request) {
  std::string text;
  for (const Value& fetch : request.fetches) text += " " + fetch.name();
  if (request.fetch_to != 0) text += " to task " + std::to_string(request.fetch_to);
  text += " |";
  for (const Value& target : request.targets) text += " " + target.name();
  return text;
}

Agreed agree(const Graph& graph, const RunRequest& request, bool gives, Transport& transport, const Topology& topology,
             const Deadline& deadline) {
  const auto all = transport.exchange(packed(task_request(graph, request, gives, topology.size())), deadline);
  const std::vector<std::string_view> of_tasks(all.begin(), all.end());
  return Agreement(graph, topology, of_tasks).make(request);
}

Agreed agree_alone(const Graph& graph, const RunRequest& request, bool all_give, const Topology& topology) {
  const std::string first = packed(task_request(graph, request, true, topology.size()));
  const std::string other = all_give ? first : packed(task_request(graph, request, false, topology.size()));
  std::vector<std::string_view> of_tasks(static_cast<std::size_t>(topology.size()), other);
  of_tasks[0] = first;
  return Agreement(graph, topology, of_tasks).make(request);
}

}  // namespace ferry
