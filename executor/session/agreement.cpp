#include "executor/session/agreement.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "comm/failure.hpp"
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
  if (!value.defined())
    throw Error(Code::usage, std::string("a ") + what + " is an undefined value")
        .hint("assign the Value before you run it");
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
  if (inputs.empty()) throw error.note("the graph has no inputs").hint("leave the feed out");
  const std::string close = nearest(name, inputs);
  throw error.hint(close.empty() ? "the inputs are " + join(inputs, ", ") : "did you mean '" + close + "'?");
}

void check_feed(const Graph& graph, const std::string& name, DType dtype) {
  const Op op = graph.op(input_named(graph, name));
  const Type& type = graph.type(op.output(0));
  if (dtype != type.dtype)
    throw Error(Code::usage, "the feed '" + escaped(name) + "' is " + std::string(name_of(dtype)) +
                                 "; the graph wants " + type.str())
        .at(op.line())
        .hint("feed a tensor of " + std::string(name_of(type.dtype)) + ", or change the dtype of the input");
}

TaskRequest task_request(const Graph& graph, const RunRequest& request, bool gives, int tasks) {
  TaskRequest asked;
  asked.steps = request.steps;
  try {
    if (request.steps < 1)
      throw Error(Code::usage, "steps: " + std::to_string(request.steps) + " is not 1 or more").hint("give 1 or more");
    if (request.fetches.empty() && request.targets.empty())
      throw Error(Code::usage, "nothing is fetched and nothing is run")
          .hint("give RunRequest::fetches or RunRequest::targets");
    if (request.fetch_to < 0 || request.fetch_to >= tasks)
      throw Error(Code::usage, "the fetches are to arrive at task " + std::to_string(request.fetch_to) +
                                   "; the job has tasks 0 to " + std::to_string(tasks - 1))
          .hint("set RunRequest::fetch_to to one of these");
    for (const Value& fetch : request.fetches) check_value(graph, fetch, "fetch");
    for (const Value& target : request.targets) check_value(graph, target, "target");
    for (const auto& [name, tensor] : request.feeds) {
      if (!tensor.defined())
        throw Error(Code::usage, "the feed '" + escaped(name) + "' is an undefined tensor")
            .at(graph.op(input_named(graph, name)).line())
            .hint("feed a tensor that has a value, or leave the feed out where another task gives it");
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

std::string type_text(DType dtype, const std::vector<std::int64_t>& sizes) {
  return Type{dtype, Shape(std::span<const std::int64_t>(sizes))}.str();
}

/// A hash of a tensor's type and bytes.
std::int64_t bits_of(const Tensor& tensor) {
  const auto sizes = std::as_bytes(std::span(tensor.sizes()));
  Hasher hasher;
  return static_cast<std::int64_t>(
      hasher.add(static_cast<int>(tensor.dtype())).add(sizes).add(tensor.bytes()).digest());
}

Error unlike_requests(const std::string& what) {
  return Error(Code::usage, "the tasks do not ask for the same: " + what)
      .hint("make the same calls of run() on every task");
}

Error unlike_feeds(const std::string& what, const std::string& name, const SourceLine& line) {
  return Error(Code::usage, what)
      .at(line)
      .hint("feed '" + escaped(name) + "' on one task only, or feed the same bytes on all tasks");
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

  [[nodiscard]] const FeedGivers& givers() const { return givers_; }

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
    const std::string who = "task " + std::to_string(task);
    if (!asked.problem.empty())
      throw Error(Code::usage, of_task_.size() == 1 ? asked.problem : asked.problem + "\n  on " + who);
    if (asked.request != requests_[0].request)
      throw unlike_requests("task 0 fetches and runs" + escaped(requests_[0].request, 400) + "; " + who +
                            escaped(asked.request, 400));
    require_same_steps(requests_[0].steps, asked.steps, task);
    for (const FeedType& feed : asked.feeds) {
      const auto [sizes, first] = sizes_.emplace(feed.name, feed.sizes);
      std::vector<std::int32_t>& givers = givers_[feed.name];
      if (!first && sizes->second != feed.sizes)
        throw unlike_feeds(who + " feeds " + type_text(feed.dtype, feed.sizes) + " for the input '" +
                               escaped(feed.name) + "', task " + std::to_string(givers[0]) + " feeds " +
                               type_text(feed.dtype, sizes->second),
                           feed.name, graph_.op(input_named(graph_, feed.name)).line());
      givers.push_back(static_cast<std::int32_t>(task));
    }
  }

  /// The feed is given by the task that owns the input if it has the feed, else by the first task that has it.
  Signature::Feed feed(const std::string& name, const std::vector<std::int32_t>& givers) const {
    const Op op = graph_.op(*graph_.find(name));
    std::int32_t giver = givers[0];
    const DeviceSpec& device = op.annotation().device;
    if (op.annotation().mesh == kNoMesh && device.task && !device.all_tasks()) {
      const int owner = topology_.resolve(device);
      if (std::ranges::find(givers, owner) != givers.end()) giver = owner;
    }
    return {op.output(0), giver, sizes_.at(name)};
  }

  const Graph& graph_;
  const Topology& topology_;
  std::vector<TaskRequest> requests_;  // equal successive requests are kept once: among many tasks nearly all are equal
  std::vector<std::optional<std::size_t>> of_task_;  // by task: its index in requests_
  FeedGivers givers_;
  std::map<std::string, std::vector<std::int64_t>> sizes_;  // of each feed
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

Agreed agree(const Graph& graph, const RunRequest& request, bool gives, const JobMember& member) {
  const Topology& topology = member.cluster().topology;
  const auto all = member.exchange(packed(task_request(graph, request, gives, topology.size())));
  const std::vector<std::string_view> of_tasks(all.begin(), all.end());
  Agreement agreement(graph, topology, of_tasks);
  Agreed agreed = agreement.make(request);
  require_same_feeds(agreement.givers(), request.feeds, member,
                     [&](const std::string& name) { return graph.op(input_named(graph, name)).line(); });
  return agreed;
}

Agreed agree_alone(const Graph& graph, const RunRequest& request, bool all_give, const Topology& topology) {
  const std::string first = packed(task_request(graph, request, true, topology.size()));
  const std::string other = all_give ? first : packed(task_request(graph, request, false, topology.size()));
  std::vector<std::string_view> of_tasks(static_cast<std::size_t>(topology.size()), other);
  of_tasks[0] = first;
  return Agreement(graph, topology, of_tasks).make(request);
}

void require_same_steps(std::int64_t first, std::int64_t other, std::size_t task) {
  if (first != other)
    throw unlike_requests("task 0 runs " + std::to_string(first) + " steps, task " + std::to_string(task) + " " +
                          std::to_string(other));
}

void require_same_feeds(const FeedGivers& givers, const TensorMap& feeds, const JobMember& member,
                        const std::function<SourceLine(const std::string& name)>& line_of) {
  const auto process_of = [&](std::int32_t task) { return member.cluster().processes[static_cast<std::size_t>(task)]; };
  std::map<std::string, std::map<std::int32_t, std::int64_t>> hashes;  // of each shared feed, by task
  BlobWriter mine;
  for (const auto& [name, tasks] : givers) {
    if (process_of(tasks.front()) == process_of(tasks.back())) continue;  // one process has one value
    hashes[name];
    if (std::ranges::find(tasks, member.task()) != tasks.end()) mine.add(bits_of(feeds.find(name)->second));
  }
  if (hashes.empty()) return;
  const std::vector<std::string> all = member.exchange(mine.take());
  for (std::size_t task = 0; task < all.size(); ++task) {
    if (all[task].empty()) continue;  // it gives none of them, or is lost
    BlobReader reader(all[task]);
    const auto number = static_cast<std::int32_t>(task);
    for (auto& [name, of_task] : hashes)
      if (std::ranges::find(givers.at(name), number) != givers.at(name).end()) of_task[number] = reader.number();
  }
  for (const auto& [name, of_task] : hashes) {
    std::vector<int> others;
    for (const auto& [task, hash] : of_task)
      if (hash != of_task.begin()->second) others.push_back(task);
    if (others.empty()) continue;
    throw unlike_feeds(tasks_text(others) + (others.size() == 1 ? " feeds" : " feed") +
                           " other values for the input '" + escaped(name) + "' than task " +
                           std::to_string(of_task.begin()->first),
                       name, line_of(name));
  }
}

}  // namespace ferry
