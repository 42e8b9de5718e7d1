#include "runner/pictures/plan_drawing.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "plan/text/plan_text.hpp"

namespace ferry {
namespace {

constexpr std::size_t kNothing = static_cast<std::size_t>(-1);
/// The number of first tasks that DrawnTasks::some always draws.
constexpr int kFewTasks = 4;

constexpr std::string_view kOfGradients = "grad/";
constexpr std::size_t kNoDepth = static_cast<std::size_t>(-1);  // of scopes

bool is_wait(Opcode what) {
  return what == Opcode::send_wait || what == Opcode::receive_wait || what == Opcode::collective_wait;
}

/// Whether ferry chose the name: the op's name in lower case, perhaps with a number, in any scope.
bool is_automatic(std::string_view name, std::string_view op) {
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  if (name.size() < op.size()) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  if (!std::ranges::equal(name.substr(0, op.size()), op, {}, {}, lower)) return false;
  const std::string_view rest = name.substr(op.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '_' && rest.find_first_not_of("0123456789", 1) == rest.npos);
}

/// The scope of a name, at most `depth` levels deep: "encoder/layer1" for "encoder/layer1/add_3" and a depth of 2.
std::string scope_of(std::string_view name, std::size_t depth) {
  if (name.starts_with(kOfGradients)) name.remove_prefix(kOfGradients.size());
  std::size_t end = 0;
  for (; depth > 0; --depth) {
    const std::size_t slash = name.find('/', end == 0 ? 0 : end + 1);
    if (slash == std::string_view::npos) break;
    end = slash;
  }
  return std::string(name.substr(0, end));
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  std::string digits = std::to_string(bytes);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits + " B";
}

std::string_view frame_label(Region::Kind kind) {
  switch (kind) {
    case Region::Kind::condition:
      return "before each iteration";
    case Region::Kind::body:
      return "in each iteration";
    default:
      return "when this branch is taken";
  }
}

PlanDrawing::PlanDrawing(const Plan& plan, DrawnTasks which) : plan_(plan) {
  find_fetches();
  find_common_scope();
  const int few = which == DrawnTasks::roles ? 0 : kFewTasks;
  const bool all = which == DrawnTasks::all || plan.topology.size() <= few;
  std::set<std::uint32_t> roles;
  for (int task = 0; task < plan_.topology.size(); ++task) {
    if (!roles.insert(plan_.class_of[task]).second && !all && task >= few) continue;
    if (which == DrawnTasks::roles && tasks_.size() == kMostRoles) break;
    tasks_.push_back(task);
    draw(task);
  }
  // Tasks that send or receive have plan classes of their own, so that both ends are drawn, unless a task is left out.
  for (const auto& [channel, from] : sent_)
    if (const auto to = received_.find(channel); to != received_.end())
      arrows_.push_back({.from = from, .to = to->second, .message = true, .bytes = plan_.channels[channel].bytes});
}

// ---- Boxes and arrows ----

void PlanDrawing::draw(int task) {
  const PlanClass& role = plan_.class_for(task);
  makers_.assign(role.buffers.size(), kNothing);
  parts_.clear();
  kept_.clear();
  for (const PlanVariable& variable : role.variables) {
    const Buffer& buffer = role.buffers[variable.buffer];
    makers_[variable.buffer] = kept_[variable.buffer] =
        add("v" + std::to_string(variable.buffer), task, 1,
            {std::string(plan_.string(variable.name)), sizes_text(buffer)}, DrawnBox::Kind::variable);
    boxes_.back().what = "variable";
    boxes_.back().bytes = buffer.bytes;
  }
  for (RegionId region = 0; region < role.regions.size(); ++region) {
    if (role.regions[region].kind == Region::Kind::tile) continue;  // its `tiles` instruction is drawn as one box
    const Range range = role.regions[region].instructions;
    for (const std::uint32_t i : range) draw(task, role, region, i, role.instructions[i]);
  }
}

void PlanDrawing::draw(int task, const PlanClass& role, RegionId region, std::uint32_t number,
                       const Instruction& what) {
  if (is_wait(what.what) || what.what == Opcode::stencil_begin || is_number(role, what)) return;
  if (what.what == Opcode::send && !parts_.contains(role.inputs(what)[0])) {
    const Index from = maker(role, role.inputs(what)[0]);
    if (from != kNothing) {
      sent_[what.channel()] = from;
      return;
    }
  }
  const Index box = what.what == Opcode::collective ? collective(task, what.collective())
                                                    : instruction(role, task, region, number, what);
  if (what.what == Opcode::send) sent_[what.channel()] = box;
  if (what.what == Opcode::receive) received_[what.channel()] = box;
  for (const BufferId b : role.inputs(what)) arrows_from(role, b, box);
  for (const BufferId buffer : role.outputs(what)) {
    if (what.what == Opcode::loop) record_carried(role, buffer, box);
    record_maker(role, buffer, box);
  }
}

/// Whether the instruction is a scalar constant: a number in a formula, which is drawn only if it is sent.
bool PlanDrawing::is_number(const PlanClass& role, const Instruction& what) const {
  return what.what == Opcode::kernel && plan_.string(what.op) == "Constant" &&
         role.buffers[role.outputs(what)[0]].sizes.empty();
}

PlanDrawing::Index PlanDrawing::add(const std::string& id, int task, RegionId region, std::vector<std::string> lines,
                                    DrawnBox::Kind kind) {
  const std::string whole = task < 0 ? id : "t" + std::to_string(task) + "_" + id;
  DrawnBox& box = boxes_.emplace_back();
  box.kind = kind;
  box.id = whole;
  box.lines = std::move(lines);
  box.task = task;
  box.region = region;
  return boxes_.size() - 1;
}

PlanDrawing::Index PlanDrawing::instruction(const PlanClass& role, int task, RegionId region, std::uint32_t number,
                                            const Instruction& what) {
  const bool fused = what.what == Opcode::tiles || what.what == Opcode::stencil;
  const bool kernel = what.what == Opcode::kernel || fused;
  std::vector<std::string> lines{title(what)};
  if (fused) lines = titles(role, role.regions[what.region()].instructions);
  const Index box =
      add(std::to_string(number), task, region, lines, kernel ? DrawnBox::Kind::kernel : DrawnBox::Kind::port);
  boxes_[box].source = what.line;
  boxes_[box].name = plan_.string(what.name);
  if (what.what != Opcode::loop && what.what != Opcode::branch)
    boxes_[box].what = what.what == Opcode::kernel ? plan_.string(what.op) : name_of(what.what);
  return box;
}

/// The box of a collective; each group of tasks has one.
PlanDrawing::Index PlanDrawing::collective(int task, std::uint32_t number) {
  const Collective& collective = plan_.collectives[number];
  const Grouping& grouping = plan_.groupings[collective.grouping];
  const Index group = static_cast<Index>(membership(grouping, task).group - grouping.data());
  const auto [at, fresh] = collectives_.try_emplace({number, group});
  if (!fresh) return at->second;
  const Schedule& schedule = plan_.schedules[collective.schedule];
  const auto elements = std::accumulate(collective.parts.begin(), collective.parts.end(), std::int64_t{0});
  const auto bytes = static_cast<std::uint64_t>(elements) * size_of(collective.dtype);
  const Index box =
      add("c" + std::to_string(number) + "_" + std::to_string(group), -1, 1,
          {std::string(name_of(schedule.kind)) + ", " + bytes_text(bytes), std::string(plan_.string(collective.name))},
          DrawnBox::Kind::collective);
  boxes_[box].collective = schedule.kind;
  boxes_[box].what = name_of(schedule.kind);
  boxes_[box].name = std::to_string(collective.grouping) + "." + std::to_string(group) + "/" +
                     std::string(plan_.string(collective.name));
  boxes_[box].source = collective.line;
  boxes_[box].bytes = bytes;
  return at->second = box;
}

PlanDrawing::Index PlanDrawing::maker(const PlanClass& role, BufferId buffer) const {
  if (makers_[buffer] != kNothing) return makers_[buffer];
  const std::uint32_t storage = storage_of(role, buffer);
  if (const auto parts = parts_.find(storage); parts != parts_.end())
    if (const auto part = parts->second.find(role.buffers[buffer].offset); part != parts->second.end())
      return part->second;
  return makers_[storage];
}

/// Adds arrows from all boxes that made the buffer: several if it was made in parts.
void PlanDrawing::arrows_from(const PlanClass& role, BufferId buffer, Index box) {
  if (const auto parts = parts_.find(buffer); parts != parts_.end()) {
    for (const auto& part : parts->second) arrows_.push_back({part.second, box});
  } else if (const Index from = maker(role, buffer); from != kNothing) {
    arrows_.push_back({from, box});
  }
}

void PlanDrawing::record_maker(const PlanClass& role, BufferId buffer, Index box) {
  const std::uint32_t storage = storage_of(role, buffer);
  makers_[buffer] = box;
  if (role.buffers[buffer].bytes < role.buffers[storage].bytes) {
    parts_[storage][role.buffers[buffer].offset] = box;
    return;
  }
  parts_.erase(storage);
  makers_[storage] = box;
  if (const auto kept = kept_.find(storage); kept != kept_.end() && kept->second != box)
    arrows_.push_back({.from = box, .to = kept->second, .kept = true});
}

/// For a buffer that a loop carries: adds the arrow from the box that made it, and notes that writes in the body go
/// back to the loop.
void PlanDrawing::record_carried(const PlanClass& role, BufferId buffer, Index loop) {
  if (const Index from = maker(role, buffer); from != kNothing) arrows_.push_back({from, loop});
  kept_[storage_of(role, buffer)] = loop;
}

std::vector<std::string> PlanDrawing::titles(const PlanClass& role, Range instructions) const {
  std::vector<std::string> all;
  for (std::uint32_t i = 0; i < instructions.count; ++i) all.push_back(title(role.instructions[instructions[i]]));
  return all;
}

std::string PlanDrawing::title(const Instruction& what) const {
  switch (what.what) {
    case Opcode::kernel:
      return kernel_title(plan_.string(what.op), plan_.string(what.name));
    case Opcode::feed:
      return "feed " + std::string(plan_.string(plan_.feeds[what.feed()].name));
    case Opcode::fetch:
      return "fetch " + std::string(plan_.string(plan_.fetches[what.fetch()].name));
    case Opcode::receive:
    case Opcode::send:
      return std::string(name_of(what.what)) + " " + user_name(plan_.string(plan_.channels[what.channel()].name));
    default:
      return std::string(name_of(what.what)) + " " + std::string(plan_.string(what.name));
  }
}

/// "c = Add" for a value that the user named or fetches by a name, else "Add in layer1", "Add in layer1, backward".
std::string PlanDrawing::kernel_title(std::string_view op, std::string_view name) const {
  const std::string own = user_name(name);
  if (own != name || !is_automatic(name, op)) return own + " = " + std::string(op);
  std::string scope = scope_of(name, kNoDepth);
  if (scope == common_scope_)
    scope.clear();
  else if (!common_scope_.empty() && scope.starts_with(common_scope_ + "/"))
    scope.erase(0, common_scope_.size() + 1);
  return std::string(op) + (scope.empty() ? "" : " in " + scope) + (name.starts_with(kOfGradients) ? ", backward" : "");
}

/// The name by which a value is fetched; else its own name.
std::string PlanDrawing::user_name(std::string_view name) const {
  const auto fetched = fetched_as_.find(name);
  return std::string(fetched == fetched_as_.end() ? name : fetched->second);
}

void PlanDrawing::find_fetches() {
  for (const PlanClass& role : plan_.classes)
    for (const Instruction& what : role.instructions)
      if (what.what == Opcode::fetch)
        fetched_as_.try_emplace(plan_.string(role.buffers[role.inputs(what)[0]].name),
                                plan_.string(plan_.fetches[what.fetch()].name));
}

/// Finds the outermost scope if all kernels have the same one, such as the scope of an entry.
void PlanDrawing::find_common_scope() {
  bool first = true;
  for (const PlanClass& role : plan_.classes)
    for (const Instruction& what : role.instructions) {
      if (what.what != Opcode::kernel) continue;
      const std::string scope = scope_of(plan_.string(what.name), 1);
      if (!first && scope != common_scope_) return common_scope_.clear();
      common_scope_ = scope;
      first = false;
    }
}

/// The buffer's sizes; "[10,36] of [20,36]" for a part.
std::string PlanDrawing::sizes_text(const Buffer& buffer) const {
  std::string own = Shape(std::span<const std::int64_t>(buffer.sizes.begin(), buffer.sizes.end())).str();
  if (buffer.window == kNone) return own;
  return own + " of " + Shape(std::span<const std::int64_t>(plan_.windows[buffer.window].sizes)).str();
}

// ---- Folds ----

/// The key of a fold: boxes with the same key are folded into one box. They have the same task, region, source line and
/// scope of names. Only the outermost `depth` levels of the scope count.
std::string PlanDrawing::key_of(const DrawnBox& box, std::size_t depth) const {
  const bool ports = box.kind != DrawnBox::Kind::kernel;
  const bool backward = box.name.starts_with(kOfGradients);
  return std::to_string(box.task) + " " + std::to_string(box.region) + " " + std::to_string(box.source) +
         (backward ? " backward " : " ") + (ports ? box.what + " " : "") + scope_of(box.name, box.task < 0 ? 1 : depth);
}

std::vector<DrawnFold> PlanDrawing::folds(std::size_t most) const {
  std::map<std::string, std::vector<Index>> by_key;
  for (std::size_t depth = 4; depth > 0 && (by_key.empty() || by_key.size() > most); --depth) {
    by_key.clear();
    for (Index i = 0; i < boxes_.size(); ++i)
      by_key[boxes_[i].what.empty() ? boxes_[i].id : key_of(boxes_[i], depth - 1)].push_back(i);
  }
  std::vector<DrawnFold> folds;
  for (const auto& [key, members] : by_key) folds.push_back({folded_lines(members), members});
  return folds;
}

/// The text of a folded box: "MatMul", "Add x 3", "and 8 more", "charlm.cpp:48, backward".
std::vector<std::string> PlanDrawing::folded_lines(const std::vector<Index>& members) const {
  constexpr std::size_t kNamed = 3;
  const DrawnBox& first = boxes_[members[0]];
  if (members.size() == 1) return first.lines;
  std::uint64_t bytes = 0;
  std::map<std::string, std::size_t> counts;
  for (const Index i : members) {
    ++counts[boxes_[i].what];
    bytes += boxes_[i].bytes;
  }
  std::vector<std::pair<std::string, std::size_t>> most(counts.begin(), counts.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> lines;
  std::size_t left = members.size();
  for (std::size_t k = 0; k < std::min(most.size(), kNamed); ++k) {
    left -= most[k].second;
    lines.push_back(most[k].first + (most[k].second > 1 ? " x " + std::to_string(most[k].second) : ""));
  }
  if (left > 0) lines.push_back("and " + std::to_string(left) + " more");
  if (bytes > 0) lines.push_back(bytes_text(bytes));
  const SourceLine source = plan_.line(first.source);
  if (first.source != kNone && source.known())
    lines.push_back(source.str().substr(source.str().find_last_of('/') + 1) +
                    (first.name.starts_with(kOfGradients) ? ", backward" : ""));
  return lines;
}

}  // namespace ferry
