#include "executor/session/fed_parts.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/blob.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// A range of rows (dim 0) that a task gives or that a plan needs on the task.
struct RowsOfTask {
  std::int64_t begin = 0, size = 0;

  [[nodiscard]] std::int64_t end() const { return begin + size; }
  bool operator==(const RowsOfTask&) const = default;
};

/// The rows that the plan needs on the task; nothing if the task has no part.
std::optional<RowsOfTask> wanted_on(const Plan& plan, const Window& window, int task) {
  RowsOfTask rows{0, window.sizes[0]};
  for (const SplitDim& split : window.splits) {
    const Membership at = membership(plan.groupings[split.grouping], task);
    if (at.group == nullptr) return std::nullopt;
    if (split.dim != 0) continue;
    const Part part = part_of(rows.size, static_cast<std::int64_t>(at.group->size()), at.member);
    rows = {rows.begin + part.begin, part.size};
  }
  return rows;
}

/// The rows that each task gives. Together they are the input, in the order of the tasks.
std::vector<RowsOfTask> rows_of_tasks(const std::vector<std::int64_t>& rows) {
  std::vector<RowsOfTask> given;
  std::int64_t begin = 0;
  for (const std::int64_t size : rows) {
    given.push_back({begin, std::max<std::int64_t>(size, 0)});
    begin = given.back().end();
  }
  return given;
}

/// Moves the rows of one input to the tasks on which the plan needs them.
class RowMover {
 public:
  RowMover(const std::vector<std::int64_t>& rows, const Plan& plan, const Window& window)
      : given_(rows_of_tasks(rows)), wanted_(given_.size()) {
    for (std::size_t task = 0; task < given_.size(); ++task)
      wanted_[task] = wanted_on(plan, window, static_cast<int>(task)).value_or(RowsOfTask{given_[task].begin, 0});
  }

  [[nodiscard]] bool in_place() const {
    return std::ranges::equal(given_, wanted_,
                              [](const auto& a, const auto& b) { return a == b || (a.size == 0 && b.size == 0); });
  }

  /// Returns the part that the plan needs on this task; undefined if the task has no part. All tasks call it.
  [[nodiscard]] Tensor move_rows(const Tensor& mine, const PlanPort& port, const JobMember& member) const {
    const auto self = static_cast<std::size_t>(member.task());
    std::int64_t row = static_cast<std::int64_t>(size_of(port.dtype));
    for (std::size_t dim = 1; dim < port.sizes.size(); ++dim) row *= port.sizes[dim];
    const std::vector<std::string> all = member.exchange(pack_rows(mine, self, row));
    std::vector<std::int64_t> sizes = port.sizes;
    sizes[0] = wanted_[self].size;
    Tensor part(port.dtype, sizes);
    std::byte* const to = part.mutable_bytes().data();
    for (std::size_t task = 0; task < given_.size(); ++task) {
      const RowsOfTask here = overlap(given_[task], wanted_[self]);
      if (here.size * row == 0) continue;
      const std::byte* const from =
          task == self ? mine.bytes().data() + (here.begin - given_[task].begin) * row
                       : reinterpret_cast<const std::byte*>(all[task].data()) + offset_in_sent(task, here.begin) * row;
      std::memcpy(to + (here.begin - wanted_[self].begin) * row, from, static_cast<std::size_t>(here.size * row));
    }
    return part;
  }

 private:
  /// The rows that are in both.
  static RowsOfTask overlap(const RowsOfTask& a, const RowsOfTask& b) {
    const std::int64_t begin = std::max(a.begin, b.begin);
    return {begin, std::max<std::int64_t>(std::min(a.end(), b.end()) - begin, 0)};
  }

  /// The rows that this task gives and that other tasks need: those before and those after its own part.
  [[nodiscard]] std::string pack_rows(const Tensor& mine, std::size_t self, std::int64_t row) const {
    const RowsOfTask kept = overlap(given_[self], wanted_[self]);
    if (given_[self].size == 0) return {};
    const char* const bytes = reinterpret_cast<const char*>(mine.bytes().data());
    const auto text = [&](std::int64_t begin, std::int64_t end) {
      return std::string(bytes + (begin - given_[self].begin) * row, static_cast<std::size_t>((end - begin) * row));
    };
    if (kept.size == 0) return text(given_[self].begin, given_[self].end());
    return text(given_[self].begin, kept.begin) + text(kept.end(), given_[self].end());
  }

  /// The index of a row among the rows that the task sends.
  [[nodiscard]] std::int64_t offset_in_sent(std::size_t task, std::int64_t row) const {
    const RowsOfTask kept = overlap(given_[task], wanted_[task]);
    const std::int64_t offset = row - given_[task].begin;
    return kept.size > 0 && row >= kept.end() ? offset - kept.size : offset;
  }

  std::vector<RowsOfTask> given_, wanted_;  // by task
};

/// A hash of the rows of one input: each row's hash is multiplied by a power for the row's position, and the products
/// are added. So the hashes of the tasks' parts can be combined without the rows.
struct RowsHash {
  std::int64_t rows = 0;
  std::uint64_t hash = 0, power = 1;

  void add(const RowsHash& behind) {
    rows += behind.rows;
    hash = hash * behind.power + behind.hash;
    power *= behind.power;
  }
};

RowsHash hash_of_rows(const Tensor& part) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;  // odd, so that no power is 0 and every row counts
  RowsHash all;
  const auto rows = static_cast<std::size_t>(part.sizes()[0]);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t size = part.bytes().size() / rows;
    all.add({1, hash64(part.bytes().subspan(row * size, size)), kFactor});
  }
  return all;
}

}  // namespace

std::map<std::string, std::string> texts_of_parts(const FeedMap& feeds, const JobMember& member) {
  BlobWriter mine;
  for (const auto& [name, feed] : feeds) {
    const Tensor part = feed.by_parts() ? feed.of(member.local_index()) : Tensor();
    if (!part.defined() || part.sizes().empty()) continue;
    const RowsHash rows = hash_of_rows(part);
    mine.add(name).add(rows.rows).add(rows.hash).add(rows.power);
  }
  std::map<std::string, RowsHash> inputs;
  for (const std::string& of_task : member.exchange(mine.take()))
    for (BlobReader reader(of_task); !reader.empty();) {
      RowsHash& all = inputs[std::string(reader.text())];
      RowsHash part;
      part.rows = reader.number();
      part.hash = static_cast<std::uint64_t>(reader.number());
      part.power = static_cast<std::uint64_t>(reader.number());
      all.add(part);
    }
  std::map<std::string, std::string> texts;
  for (const auto& [name, all] : inputs)
    texts[name] = plural(static_cast<std::uint64_t>(all.rows), "row") + " by parts, with the hash " +
                  Hasher().add(all.hash).hex().substr(0, 16);
  return texts;
}

std::int64_t rows_in(const std::vector<std::int64_t>& rows) {
  return rows_of_tasks(rows).back().end();
}

void require_parts(const Plan& plan, const PartRows& rows,
                   const std::function<SourceLine(const std::string& name)>& line_of) {
  for (const PlanPort& port : plan.feeds) {
    if (!port.by_parts() || port.window == kNone) continue;
    const std::string name(plan.string(port.name));
    const std::vector<std::int64_t>& of_tasks = rows.find(name)->second;
    for (std::size_t task = 0; task < of_tasks.size(); ++task)
      if (of_tasks[task] == kNoPart && wanted_on(plan, plan.windows[port.window], static_cast<int>(task)))
        throw Error(Code::usage, "task {} gives no part of the input '{}', which is fed by parts", task, name)
            .at(line_of(name))
            .hint(
                "feed a part on each task: part(rows), or --feed-part {}=FILE.npy; a task without rows gives 0 of them",
                name);
  }
}

std::vector<Tensor> given_feeds(const Plan& plan, const RunFeeds& run, const JobMember& member) {
  std::vector<Tensor> given(plan.feeds.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const PlanPort& port = plan.feeds[i];
    const bool whole_here = !port.by_parts() && port.task == member.task();
    if (!whole_here && (!port.by_parts() || port.window == kNone)) continue;
    const auto feed = run.feeds.find(plan.string(port.name));
    if (feed != run.feeds.end()) given[i] = feed->second.of(member.local_index());
    if (whole_here) continue;
    const RowMover mover(run.rows.find(plan.string(port.name))->second, plan, plan.windows[port.window]);
    if (!mover.in_place()) given[i] = mover.move_rows(given[i], port, member);
  }
  return given;
}

}  // namespace ferry
