#include "executor/session/data_files.hpp"

#include <map>
#include <vector>

#include "base/blob.hpp"
#include "base/files/files.hpp"
#include "base/format.hpp"
#include "comm/failure.hpp"
#include "executor/state/run_settings.hpp"

namespace ferry {
namespace {

/// An op that reads a file.
struct Reader {
  std::string path;
  SourceLine line;
};
using Readers = std::map<std::string, Reader>;  // by the op's name

/// The ops of a task that read a file, except for those in `known`.
Readers readers_of(const Plan& plan, const PlanClass& role, const std::set<std::string, std::less<>>& known) {
  Readers readers;
  for (const Instruction& i : role.instructions) {
    if (i.what != Opcode::kernel || i.attrs == kNone || known.contains(plan.string(i.name))) continue;
    const AttrValue* const path = plan.attrs[i.attrs].find("path");
    if (const auto* text = path == nullptr ? nullptr : std::get_if<std::string>(path))
      readers[std::string(plan.string(i.name))] = {*text, plan.line(i.line)};
  }
  return readers;
}

/// By the op's name: a text that is equal for equal files.
using Marks = std::map<std::string, std::string>;

/// Exchanges the marks of all tasks. All tasks call it.
std::vector<Marks> marks_of_all(const Marks& mine, const JobMember& member) {
  BlobWriter writer;
  for (const auto& [name, mark] : mine) writer.add(name).add(mark);
  std::vector<Marks> all;
  for (const std::string& said : member.exchange(writer.take())) {
    Marks& marks = all.emplace_back();
    for (BlobReader reader(said); !reader.empty();) {
      std::string name(reader.text());
      marks[std::move(name)] = reader.text();
    }
  }
  return all;
}

/// The first task that has a mark for an op, and the tasks with other marks.
struct MarkDifference {
  std::size_t first = 0;
  std::vector<int> others;
};
/// Finds the ops with different marks on different tasks, by the op's name.
std::map<std::string, MarkDifference> find_differences(const std::vector<Marks>& all) {
  std::map<std::string, MarkDifference> ops;
  for (std::size_t task = 0; task < all.size(); ++task)
    for (const auto& [name, mark] : all[task]) {
      const auto [at, fresh] = ops.try_emplace(name, MarkDifference{task, {}});
      if (!fresh && all[at->second.first].at(name) != mark) at->second.others.push_back(static_cast<int>(task));
    }
  std::erase_if(ops, [](const auto& op) { return op.second.others.empty(); });
  return ops;
}

}  // namespace

void DataFiles::require_same(const Plan& plan, const JobMember& member) {
  if (member.cluster().all_here()) return;
  Readers all;
  for (const PlanClass& role : plan.classes) all.merge(readers_of(plan, role, compared_));
  if (all.empty()) return;
  const Readers mine = readers_of(plan, plan.class_for(member.task()), compared_);
  for (const auto& [name, reader] : all) compared_.insert(name);

  const auto host = member.cluster().topology.tasks[member.task()].host;
  Marks places, contents;
  for (const auto& [name, reader] : mine)
    if (!folder_.empty())  // else the op itself reports the error
      places[name] = std::to_string(host) + " " + file_identity(folder_ + "/" + reader.path);
  const auto apart = find_differences(marks_of_all(places, member));
  if (apart.empty()) return;
  for (const auto& [name, tasks] : apart)
    if (const auto found = mine.find(name); found != mine.end()) {
      std::string content = content_of(local_files(), folder_, found->second.path);
      if (!content.empty()) contents[name] = std::move(content);  // else the op itself reports the error
    }
  const std::vector<Marks> of_tasks = marks_of_all(contents, member);
  for (const auto& [name, tasks] : find_differences(of_tasks)) {
    const auto what = [&, &name = name](std::size_t task) { return of_tasks[task].at(name); };
    const Reader& reader = all.at(name);
    throw Error(Code::file, "'{}' reads another file {:?} on {} than on task {}", name, reader.path,
                as_is(tasks_text(tasks.others)), tasks.first)
        .note("task " + std::to_string(tasks.first) + ": " + what(tasks.first))
        .note("task " + std::to_string(tasks.others[0]) + ": " + what(static_cast<std::size_t>(tasks.others[0])))
        .at(reader.line)
        .hint("give all hosts the same file, or read it on one task: { auto there = g.device(\"/task:0\"); … }");
  }
}

}  // namespace ferry
