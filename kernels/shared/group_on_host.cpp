#include "kernels/shared/group_on_host.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace ferry {

using Kind = DeviceCollective::Kind;

struct GroupsOnHost::Post {
  DeviceCollective what;
  std::vector<std::byte> input;
  std::vector<std::pair<int, std::vector<std::byte>>> sent;  ///< by receiver
};

/// A collective that has not finished: a member has not posted its input, or has not taken its results.
struct GroupsOnHost::Round {
  std::vector<std::optional<Post>> posts;  ///< by member
  std::size_t posted_count = 0, collected_count = 0;
};

struct GroupsOnHost::Group {
  std::string name;
  std::vector<const void*> tasks;  ///< by member; null: it has not joined
  std::map<std::uint64_t, Round> rounds;
};

namespace {

std::uint64_t bytes_of(const DeviceCollective& what) {
  return what.count * size_of(what.dtype);
}

/// Whether the member contributes an input (not counting the messages of an exchange).
bool has_input(const DeviceCollective& what, int member) {
  return what.kind != Kind::exchange && (what.kind != Kind::broadcast || member == what.root);
}

bool is_same(const DeviceCollective& a, const DeviceCollective& b) {
  return a.kind == b.kind && a.reduce == b.reduce && a.dtype == b.dtype && a.root == b.root && a.count == b.count;
}

std::string text_of(const DeviceCollective& what) {
  static constexpr std::string_view kNames[] = {"all_reduce", "reduce",    "reduce_scatter",
                                                "all_gather", "broadcast", "exchange"};
  return std::string(kNames[static_cast<std::size_t>(what.kind)]) + " of " + std::to_string(what.count) + " " +
         std::string(name_of(what.dtype));
}

}  // namespace

std::uint64_t GroupsOnHost::domain() {
  static const std::uint64_t number = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32 | random()) | 1;
  }();
  return number;
}

DeviceGroupName GroupsOnHost::name() {
  const std::lock_guard guard(mutex_);
  DeviceGroupName name{};
  const std::string text = "group " + std::to_string(++named_);
  std::memcpy(name.bytes, text.data(), text.size());
  return name;
}

std::shared_ptr<GroupsOnHost::Member> GroupsOnHost::join(const DeviceGroupName& name, int members, int number,
                                                         const void* task) {
  const std::lock_guard guard(mutex_);
  const std::string text(std::begin(name.bytes), std::ranges::find(name.bytes, '\0'));
  std::shared_ptr<Group>& group = groups_[text];
  if (group == nullptr)
    group = std::make_shared<Group>(Group{text, std::vector<const void*>(static_cast<std::size_t>(members)), {}});
  group->tasks[number] = task;
  const auto member = std::make_shared<Member>(Member{group, task, number});
  if (std::ranges::count(group->tasks, nullptr) == 0) groups_.erase(text);
  return member;
}

bool GroupsOnHost::joined(const Member& member) const {
  const std::lock_guard guard(mutex_);
  return std::ranges::count(member.group->tasks, nullptr) == 0;
}

std::size_t GroupsOnHost::members(const Member& member) {
  return member.group->tasks.size();
}

void GroupsOnHost::leave(const Member& member) {
  const std::lock_guard guard(mutex_);
  if (const auto at = waiting_.find(member.task); at != waiting_.end() && at->second == &member) waiting_.erase(at);
}

std::optional<std::vector<GroupsOnHost::Result>> GroupsOnHost::poll_collective(Member& member,
                                                                               const DeviceCollective& what,
                                                                               const OnHost& on_host) {
  const std::lock_guard guard(mutex_);
  if (!member.posted) post(member, what, on_host);
  Round& round = member.group->rounds[member.round];
  if (round.posted_count < round.posts.size()) {
    waiting_[member.task] = &member;
    check_wait(member);
    return std::nullopt;
  }
  std::vector<Result> made = results(member, round);
  waiting_.erase(member.task);
  member.posted = false;
  if (++round.collected_count == round.posts.size()) member.group->rounds.erase(member.round);
  ++member.round;
  return made;
}

void GroupsOnHost::post(Member& member, const DeviceCollective& what, const OnHost& on_host) {
  Round& round = member.group->rounds[member.round];
  round.posts.resize(member.group->tasks.size());
  for (const std::optional<Post>& other : round.posts)
    if (other && !is_same(other->what, what))
      throw Error(Code::bug, "members of a group of GPUs come to different collectives: " + text_of(other->what) +
                                 " and " + text_of(what));
  const auto copied = [&](const void* address, std::uint64_t bytes) {
    if (bytes == 0) return std::vector<std::byte>();
    const std::byte* const from = on_host(address);
    return std::vector<std::byte>(from, from + bytes);
  };
  Post mine{what, {}, {}};
  if (has_input(what, member.number))
    mine.input =
        copied(what.input, bytes_of(what) * (what.kind == Kind::reduce_scatter ? member.group->tasks.size() : 1));
  for (std::uint64_t m = 0; m < what.message_count; ++m)
    if (const DeviceMessage& message = what.messages[m]; message.sends != 0)
      mine.sent.emplace_back(message.peer, copied(message.memory, message.bytes));
  round.posts[member.number] = std::move(mine);
  ++round.posted_count;
  member.posted = true;
}

/// Throws Error(bug) for a deadlock: follows the graph of waits, in which a member waits for all that have not posted.
void GroupsOnHost::check_wait(const Member& member) const {
  std::vector<const Member*> open{&member};
  std::set<const void*> seen;
  while (!open.empty()) {
    const Member* const at = open.back();
    open.pop_back();
    const Round& round = at->group->rounds.at(at->round);
    for (std::size_t m = 0; m < round.posts.size(); ++m) {
      const void* const task = at->group->tasks[m];
      if (round.posts[m] || task == nullptr || !seen.insert(task).second) continue;
      if (task == member.task)
        throw Error(Code::bug, "GPUs are given their collectives in different orders: they wait for one another in " +
                                   member.group->name + " and " + at->group->name);
      if (const auto waits = waiting_.find(task); waits != waiting_.end()) open.push_back(waits->second);
    }
  }
}

std::vector<std::byte> GroupsOnHost::folded(const Round& round, std::uint64_t first, std::uint64_t count) const {
  const DeviceCollective& what = round.posts[0]->what;
  const std::uint64_t size = size_of(what.dtype);
  const auto part = [&](std::size_t m) { return round.posts[m]->input.data() + first * size; };
  std::vector<std::byte> sum(part(0), part(0) + count * size);
  for (std::size_t m = 1; m < round.posts.size(); ++m)
    fold_(what.reduce, what.dtype, sum.data(), sum.data(), part(m), static_cast<std::int64_t>(count));
  return sum;
}

std::vector<GroupsOnHost::Result> GroupsOnHost::results(const Member& member, const Round& round) const {
  const DeviceCollective& mine = round.posts[member.number]->what;
  auto* const to = static_cast<std::byte*>(mine.output);
  switch (mine.kind) {
    case Kind::all_reduce:
      return {{to, folded(round, 0, mine.count)}};
    case Kind::reduce:
      if (member.number != mine.root) return {};
      return {{to, folded(round, 0, mine.count)}};
    case Kind::reduce_scatter:
      return {{to, folded(round, static_cast<std::uint64_t>(member.number) * mine.count, mine.count)}};
    case Kind::all_gather: {
      Result all{to, {}};
      for (const std::optional<Post>& post : round.posts)
        all.bytes.insert(all.bytes.end(), post->input.begin(), post->input.end());
      return {std::move(all)};
    }
    case Kind::broadcast:
      if (to == nullptr) return {};
      return {{to, round.posts[mine.root]->input}};
    case Kind::exchange:
      return received(member, round);
  }
  return {};
}

/// Returns the messages of an exchange that the member receives.
std::vector<GroupsOnHost::Result> GroupsOnHost::received(const Member& member, const Round& round) {
  const DeviceCollective& mine = round.posts[member.number]->what;
  std::vector<std::size_t> next(round.posts.size(),
                                0);  // by sender: how many of its messages have been examined
  std::vector<Result> all;
  for (std::uint64_t m = 0; m < mine.message_count; ++m) {
    const DeviceMessage& message = mine.messages[m];
    if (message.sends != 0) continue;
    const auto peer = static_cast<std::size_t>(message.peer);
    const auto& sent = round.posts[peer]->sent;
    std::size_t& k = next[peer];
    while (k < sent.size() && sent[k].first != member.number) ++k;
    if (k == sent.size() || sent[k].second.size() != message.bytes)
      throw Error(Code::bug, "a member of a group of GPUs waits for " + std::to_string(message.bytes) +
                                 " bytes of another one, which sends " +
                                 (k == sent.size() ? "none" : std::to_string(sent[k].second.size())));
    all.push_back({static_cast<std::byte*>(message.memory), sent[k++].second});
  }
  return all;
}

}  // namespace ferry
