#include "executor/session/agreement.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/format.hpp"
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
  std::vector<std::int64_t> sizes;  // of the whole value, or of the task's part
  bool by_parts = false;
  bool has_bytes = true;  // false: only a type, to plan for
};

/// A task's index among the tasks of its process, and the number of these.
struct LocalTask {
  std::size_t index = 0, tasks = 1;
};

/// The request of one task.
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
    throw Error(Code::usage, "the {} '{}' belongs to another graph, or is inside a loop or branch body", as_is(what),
                value.name())
        .at(value.op().line())
        .hint("carry it out of the body as a result");
}

OpId input_named(const Graph& graph, const std::string& name) {
  const auto found = graph.find(name);
  if (found && graph.op(*found).def().role == OpRole::input) return *found;
  std::vector<std::string> inputs;
  for (OpId id = 0; id < graph.size(); ++id)
    if (graph.op(id).def().role == OpRole::input) inputs.emplace_back(graph.op(id).name());
  Error error(Code::usage, "there is no input '{}' to feed", name);
  if (inputs.empty()) throw error.note("the graph has no inputs").hint("leave the feed out");
  const std::string close = nearest(name, inputs);
  throw error.hint(close.empty() ? "the inputs are " + join(inputs, ", ") : "did you mean '" + close + "'?");
}

void check_feed(const Graph& graph, const std::string& name, DType dtype) {
  const Op op = graph.op(input_named(graph, name));
  const Type& type = graph.type(op.output(0));
  if (dtype != type.dtype)
    throw Error(Code::usage, "the feed '{}' is {}; the graph needs {}", name, name_of(dtype), as_is(type.str()))
        .at(op.line())
        .hint("feed a tensor of " + std::string(name_of(type.dtype)) + ", or change the dtype of the input");
}

/// Error(usage) unless the feed has a part for each task of the process, the input is not bounded, and no part is a
/// scalar.
void check_parts(const Graph& graph, const std::string& name, const Feed& feed, std::size_t local_tasks) {
  const SourceLine line = graph.op(input_named(graph, name)).line();
  if (feed.tensors().size() != local_tasks)
    throw Error(Code::usage, "the feed '{}' has {}, and this process has {}", name,
                plural(feed.tensors().size(), "part"), plural(local_tasks, "task"))
        .at(line)
        .hint("give a part for each task of the process: parts({…})");
  if (const Op op = graph.op(input_named(graph, name)); graph.type(op.output(0)).shape.bounded())
    throw Error(Code::usage, "the input '{}' has a bounded number of rows, and is fed by parts", name)
        .at(line)
        .hint("feed the whole value on one task");
  for (const Tensor& part : feed.tensors())
    if (part.defined() && part.sizes().empty())
      throw Error(Code::usage, "a part of the feed '{}' is a scalar, which has no rows", name)
          .at(line)
          .hint("feed the whole value, the same on all tasks");
}

TaskRequest task_request(const Graph& graph, const RunRequest& request, bool gives, int tasks, LocalTask here) {
  TaskRequest asked;
  asked.steps = request.steps;
  try {
    if (request.steps < 1) throw Error(Code::usage, "steps: {} is not 1 or more", request.steps).hint("give 1 or more");
    if (request.fetches.empty() && request.targets.empty())
      throw Error(Code::usage, "nothing is fetched and nothing is run")
          .hint("give RunRequest::fetches or RunRequest::targets");
    if (request.fetch_to < 0 || request.fetch_to >= tasks)
      throw Error(Code::usage, "the fetches are to arrive at task {}; the job has tasks 0 to {}", request.fetch_to,
                  tasks - 1)
          .hint("give one of these with --fetch-to or RunRequest::fetch_to");
    if (request.fetch_parts && request.on_step && here.tasks > 1)
      throw Error(Code::usage, "RunRequest::on_step with fetch_parts, in a process with " + plural(here.tasks, "task"))
          .hint("start one process for each task, or run one step at a time");
    for (const Value& fetch : request.fetches) check_value(graph, fetch, "fetch");
    for (const Value& target : request.targets) check_value(graph, target, "target");
    for (const auto& [name, feed] : request.feeds) {
      if (feed.by_parts()) check_parts(graph, name, feed, here.tasks);
      const Tensor tensor = feed.of(here.index);
      if (feed.by_parts() && !tensor.defined()) continue;
      if (!tensor.defined())
        throw Error(Code::usage, "the feed '{}' is an undefined tensor", name)
            .at(graph.op(input_named(graph, name)).line())
            .hint("feed a tensor that has a value, or leave the feed out where another task gives it");
      check_feed(graph, name, tensor.dtype());
      require_bools(name, tensor, graph.op(input_named(graph, name)).line());
      if (gives || feed.by_parts()) asked.feeds.push_back({name, tensor.dtype(), tensor.sizes(), feed.by_parts()});
    }
    for (const auto& [name, type] : request.feed_types) {
      check_feed(graph, name, type.dtype);
      if (gives) asked.feeds.push_back({name, type.dtype, type.shape.sizes(), false, false});
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
  for (const FeedType& feed : asked.feeds)
    writer.add(feed.name).add(static_cast<int>(feed.dtype)).add(feed.sizes).add(feed.by_parts).add(feed.has_bytes);
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
    feed.by_parts = reader.number() != 0;
    feed.has_bytes = reader.number() != 0;
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

Error unlike_parts(const std::string& what, const SourceLine& line) {
  return Error(Code::usage, what)
      .at(line)
      .hint("give parts with the same dims, except for the first, which are the rows");
}

Error unlike_feeds(const std::string& what, const std::string& name, const SourceLine& line) {
  return Error(Code::usage, what)
      .at(line)
      .hint(
          "feed '{}' on one task only, or feed the same bytes on all tasks; rows that each task has for itself are fed "
          "by part(rows)",
          name);
}

/// Makes one agreed request of all tasks' requests, or throws an Error that is the same on all tasks.
class Agreement {
 public:
  /// `texts`: the packed request of each task.
  Agreement(const Graph& graph, const Topology& topology, std::span<const std::string_view> texts)
      : graph_(graph), topology_(topology) {
    for (std::size_t task = 0; task < texts.size(); ++task) {
      of_task_.emplace_back();
      if (texts[task].empty()) continue;  // the task is lost
      if (task == 0 || texts[task] != texts[task - 1]) requests_.push_back(unpacked(texts[task]));
      of_task_.back() = requests_.size() - 1;
    }
  }

  /// For each feed that is not given by parts: the tasks that give its bytes.
  [[nodiscard]] FeedGivers givers() const {
    FeedGivers givers;
    for (const auto& [name, given] : given_)
      if (given.rows.empty() && !given.with_bytes.empty()) givers[name] = given.with_bytes;
    return givers;
  }

  Agreed make(const RunRequest& request) {
    for (std::size_t task = 0; task < of_task_.size(); ++task) compare(task);
    Agreed agreed;
    for (const auto& [name, given] : given_) agreed.signature.feeds.push_back(feed(name, given));
    std::sort(agreed.signature.feeds.begin(), agreed.signature.feeds.end(),
              [](const auto& a, const auto& b) { return a.value < b.value; });
    for (const Value& fetch : request.fetches) agreed.signature.fetches.push_back(fetch.id());
    agreed.signature.fetch_to = request.fetch_to;
    agreed.signature.fetch_parts = request.fetch_parts;
    for (const Value& target : request.targets) agreed.signature.targets.push_back(target.op().id());
    std::sort(agreed.signature.targets.begin(), agreed.signature.targets.end());
    for (const auto& [name, given] : given_)
      if (!given.rows.empty() && topology_.size() > 1) agreed.part_rows[name] = given.rows;
    agreed.steps = requests_[0].steps;
    agreed.request = requests_[0].request;
    agreed.key = agreed.request;
    for (const Signature::Feed& fed : agreed.signature.feeds) {
      agreed.key += " " + std::to_string(fed.value) + "@" + std::to_string(fed.task);
      for (std::int64_t size : fed.sizes) agreed.key += "," + std::to_string(size);
      if (fed.by_parts) agreed.key += " by parts";
    }
    return agreed;
  }

 private:
  struct GivenFeed {
    FeedType first;                               // from the first task that gives the feed
    std::vector<std::int32_t> tasks, with_bytes;  // that give the feed; that give its bytes; ascending
    std::vector<std::int64_t> rows;               // as in PartRows; empty if not by parts
  };

  void compare(std::size_t task) {
    if (!of_task_[task]) return;
    const TaskRequest& asked = requests_[*of_task_[task]];
    const std::string who = "task " + std::to_string(task);
    if (!asked.problem.empty())
      throw Error(Code::usage, of_task_.size() == 1 ? asked.problem : asked.problem + "\n  on " + who);
    if (asked.request != requests_[0].request)
      throw unlike_requests(
          formatted("task 0 fetches and runs{:.400}; {}{:.400}", requests_[0].request, as_is(who), asked.request));
    require_same_steps(requests_[0].steps, asked.steps, task);
    for (const FeedType& feed : asked.feeds) {
      GivenFeed& given = given_[feed.name];
      if (given.tasks.empty()) given.first = feed;
      if (sizes_differ(given.first, feed)) {
        const std::string what =
            formatted("{} feeds {} for the input '{}', task {} feeds {}", as_is(who), as_is(text_of(feed)), feed.name,
                      given.tasks[0], as_is(text_of(given.first)));
        const SourceLine line = graph_.op(input_named(graph_, feed.name)).line();
        throw given.first.by_parts && feed.by_parts ? unlike_parts(what, line) : unlike_feeds(what, feed.name, line);
      }
      given.tasks.push_back(static_cast<std::int32_t>(task));
      if (feed.has_bytes) given.with_bytes.push_back(static_cast<std::int32_t>(task));
      if (!feed.by_parts) continue;
      given.rows.resize(of_task_.size(), kNoPart);
      given.rows[task] = feed.sizes[0];
    }
  }

  /// Whether the sizes of a feed differ between two tasks. Parts may differ in dim 0.
  static bool sizes_differ(const FeedType& a, const FeedType& b) {
    const std::size_t from = a.by_parts ? 1 : 0;
    return a.by_parts != b.by_parts || a.sizes.size() != b.sizes.size() ||
           !std::equal(a.sizes.begin() + from, a.sizes.end(), b.sizes.begin() + from);
  }

  static std::string text_of(const FeedType& feed) {
    return (feed.by_parts ? "a part " : "") + type_text(feed.dtype, feed.sizes);
  }

  /// The feed is given by the task that owns the input if it has the feed, else by the first task that has it.
  Signature::Feed feed(const std::string& name, const GivenFeed& given) const {
    const Op op = graph_.op(*graph_.find(name));
    if (!given.rows.empty()) return parts_of(op, given);
    const std::vector<std::int32_t>& givers = given.tasks;
    std::int32_t giver = givers[0];
    const DeviceSpec& device = op.annotation().device;
    if (op.annotation().mesh == kNoMesh && device.task && !device.all_tasks()) {
      const int owner = topology_.resolve(device);
      if (std::ranges::find(givers, owner) != givers.end()) giver = owner;
    }
    return {op.output(0), giver, at_bound(op, given.first.sizes)};
  }

  /// The sizes to plan for: a bounded input has one plan for all numbers of rows up to its bound.
  static std::vector<std::int64_t> at_bound(const Op& op, std::vector<std::int64_t> sizes) {
    const Shape& declared = op.graph().type(op.output(0)).shape;
    if (declared.bounded() && !sizes.empty()) sizes[0] = std::max(sizes[0], declared[0].size());
    return sizes;
  }

  /// The feed of an input that is fed by parts. In a job of one task, the part is the whole value.
  Signature::Feed parts_of(const Op& op, const GivenFeed& given) const {
    Signature::Feed feed{op.output(0), 0, given.first.sizes, topology_.size() > 1};
    feed.sizes[0] = rows_in(given.rows);
    return feed;
  }

  const Graph& graph_;
  const Topology& topology_;
  std::vector<TaskRequest> requests_;  // equal successive requests are kept once: among many tasks nearly all are equal
  std::vector<std::optional<std::size_t>> of_task_;  // by task: its index in requests_; nothing: lost
  std::map<std::string, GivenFeed> given_;           // by the feed's name
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
  if (request.fetch_parts) text += " by parts";
  text += " |";
  for (const Value& target : request.targets) text += " " + target.name();
  return text;
}

Agreed agree(const Graph& graph, const RunRequest& request, bool gives, const JobMember& member) {
  const Topology& topology = member.cluster().topology;
  const LocalTask here{member.local_index(), member.cluster().local_tasks.size()};
  const auto all = member.exchange(packed(task_request(graph, request, gives, topology.size(), here)));
  const std::vector<std::string_view> of_tasks(all.begin(), all.end());
  Agreement agreement(graph, topology, of_tasks);
  Agreed agreed = agreement.make(request);
  require_same_feeds(agreement.givers(), request.feeds, member,
                     [&](const std::string& name) { return graph.op(input_named(graph, name)).line(); });
  return agreed;
}

Agreed agree_alone(const Graph& graph, const RunRequest& request, bool all_give, const Topology& topology) {
  const auto tasks = static_cast<std::size_t>(topology.size());
  std::vector<std::string> texts;
  for (std::size_t task = 0; task < tasks; ++task) {
    const bool alike =
        task > 1 && std::ranges::none_of(request.feeds, [](const auto& f) { return f.second.by_parts(); });
    texts.push_back(alike
                        ? texts.back()
                        : packed(task_request(graph, request, task == 0 || all_give, topology.size(), {task, tasks})));
  }
  const std::vector<std::string_view> of_tasks(texts.begin(), texts.end());
  return Agreement(graph, topology, of_tasks).make(request);
}

void require_bools(const std::string& name, const Tensor& fed, const SourceLine& line) {
  if (fed.dtype() == DType::boolean && !are_bools(fed.bytes()))
    throw Error(Code::usage, "the feed '{}' has bools other than 0 and 1", name)
        .at(line)
        .hint("write 0 or 1 into each byte of the tensor");
}

void require_same_steps(std::int64_t first, std::int64_t other, std::size_t task) {
  if (first != other)
    throw unlike_requests("task 0 runs " + std::to_string(first) + " steps, task " + std::to_string(task) + " " +
                          std::to_string(other));
}

void require_same_feeds(const FeedGivers& givers, const FeedMap& feeds, const JobMember& member,
                        const std::function<SourceLine(const std::string& name)>& line_of) {
  const auto process_of = [&](std::int32_t task) { return member.cluster().processes[task]; };
  std::map<std::string, std::map<std::int32_t, std::int64_t>> hashes;  // of each shared feed, by task
  BlobWriter mine;
  for (const auto& [name, tasks] : givers) {
    if (process_of(tasks.front()) == process_of(tasks.back())) continue;  // tasks of one process give the same value
    hashes[name];
    if (std::ranges::find(tasks, member.task()) != tasks.end()) mine.add(bits_of(feeds.find(name)->second.of(0)));
  }
  if (hashes.empty()) return;
  const std::vector<std::string> all = member.exchange(mine.take());
  for (std::size_t task = 0; task < all.size(); ++task) {
    if (all[task].empty()) continue;  // the task gives none of these feeds, or is lost
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
    throw unlike_feeds(formatted("{}{} other values for the input '{}' than task {}", as_is(tasks_text(others)),
                                 others.size() == 1 ? " feeds" : " feed", name, of_task.begin()->first),
                       name, line_of(name));
  }
}

}  // namespace ferry
