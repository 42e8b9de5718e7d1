#include "base/process/control_group.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/system/machine.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kThousand = 1000;

/// A mounted hierarchy of control groups.
struct GroupMount {
  std::string_view root;         ///< the group that is mounted at `point`
  std::string point;             ///< the folder of the mount
  std::string_view controllers;  ///< for version 1: mount options with the controllers, "rw,cpu,cpuacct"
  bool unified = false;          ///< whether the hierarchy has version 2
};

constexpr std::string_view kUsualGroups = "4:memory:/\n3:pids:/\n2:cpu:/\n0::/";
constexpr std::string_view kUsualMounts =
    "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 none rw\n"
    "2 1 0:2 / /sys/fs/cgroup/memory rw - cgroup none memory\n"
    "3 1 0:3 / /sys/fs/cgroup/pids rw - cgroup none pids\n"
    "4 1 0:4 / /sys/fs/cgroup/cpu rw - cgroup none cpu";

bool has_item(std::string_view list, char separator, std::string_view item) {
  const auto items = split(list, separator);
  return std::ranges::find(items, item) != items.end();
}

/// Unescapes a path of mountinfo, in which a space is \040.
std::string unescaped_path(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const bool octal = text[i] == '\\' && i + 3 < text.size() &&
                       std::from_chars(&text[i + 1], &text[i + 1] + 3, code, 8).ec == std::errc();
    path += octal ? static_cast<char>(code) : text[i];
    if (octal) i += 3;
  }
  return path;
}

/// The mounted hierarchies. Of two mounts at one point, the later mount hides the earlier one.
std::vector<GroupMount> group_mounts(std::string_view mounts) {
  constexpr std::string_view kBetween = " - ";  // after any number of optional fields
  std::map<std::string, GroupMount> by_point;
  for (const std::string_view line : split(mounts, '\n')) {
    const std::size_t between = line.find(kBetween);
    if (between == std::string_view::npos) continue;
    const auto before = split(line.substr(0, between), ' '), after = split(line.substr(between + kBetween.size()), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const std::string point = unescaped_path(before[4]);
    by_point.erase(point);
    if (after[0] == "cgroup" || after[0] == "cgroup2")
      by_point[point] = {before[3], point, after[2], after[0] == "cgroup2"};
  }
  std::vector<GroupMount> found;
  for (auto& [_, mount] : by_point) found.push_back(std::move(mount));
  return found;
}

/// Removes "/.." from the front of a path. Returns whether the path began with it.
bool remove_parent_step(std::string_view& path) {
  const bool up = path == "/.." || path.starts_with("/../");
  if (up) path.remove_prefix(3);
  return up;
}

/// Finds the folder of this process's group: a folder `levels` levels below `top`, followed by the path `rest`. Empty
/// if there is none.
std::string own_folder(const std::string& top, int levels, std::string_view rest) {
  std::vector<std::string> folders{top};
  for (; levels > 0; --levels) {
    std::vector<std::string> next;
    std::error_code none;
    for (const std::string& folder : folders)
      for (const auto& entry : std::filesystem::directory_iterator(folder, none))
        if (entry.is_directory(none)) next.push_back(entry.path());
    folders = std::move(next);
  }
  const std::string own = std::to_string(getpid());
  for (const std::string& folder : folders) {
    const std::string processes = system_text((folder + std::string(rest) + "/cgroup.procs").c_str());
    if (has_item(processes, '\n', own)) return folder + std::string(rest);
  }
  return {};
}

/// The folder of the group `path` in this mount; empty if the mount does not contain that group.
std::string folder_in(const GroupMount& mount, const std::string& top, std::string_view path) {
  std::string_view root = mount.root == "/" ? std::string_view() : mount.root;
  if (path == "/") path = {};
  if (path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/'))
    return top + std::string(path.substr(root.size()));
  // If the namespace of control groups is younger than the mount, the mount's root is relative to it: "/../.." means
  // two levels up, with unknown names.
  while (root.starts_with("/..") && path.starts_with("/..") && remove_parent_step(path)) remove_parent_step(root);
  int levels = 0;
  while (remove_parent_step(root)) ++levels;
  return levels > 0 && root.empty() ? own_folder(top, levels, path) : std::string();
}

/// The number at the beginning of the text; nothing if there is none, as in "max", or if it is too large.
std::optional<std::uint64_t> leading_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

void lower(GroupLimit& limit, std::optional<std::uint64_t> most, const std::string& file) {
  // Of two equal limits, the outer group's limit counts, because more processes share it.
  if (most && *most > 0 && *most <= limit.most) limit = {*most, file};
}

std::optional<std::uint64_t> thousandths(std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period) {
  if (!quota || !period || *quota > UINT64_MAX / kThousand || *period == 0) return std::nullopt;
  return std::max<std::uint64_t>(1, *quota * kThousand / *period);
}

/// Reads the limits of a group. The two versions have different names of files; a file that does not exist sets no
/// limit.
void read_group(const std::string& folder, GroupLimits& limits) {
  const auto text_of = [&](const char* name) { return system_text((folder + name).c_str()); };
  for (const char* name : {"/memory.max", "/memory.limit_in_bytes"})
    lower(limits.memory, leading_number(text_of(name)), folder + name);
  lower(limits.threads, leading_number(text_of("/pids.max")), folder + "/pids.max");
  const std::string quota = text_of("/cpu.max");  // "50000 100000" or "max 100000", in microseconds
  if (const std::size_t space = quota.find(' '); space != std::string::npos)
    lower(limits.processor,
          thousandths(leading_number(quota), leading_number(std::string_view(quota).substr(space + 1))),
          folder + "/cpu.max");
  lower(limits.processor,
        thousandths(leading_number(text_of("/cpu.cfs_quota_us")), leading_number(text_of("/cpu.cfs_period_us"))),
        folder + "/cpu.cfs_quota_us");
}

/// Reads the memory limit of groups above the top of the mount, which exist if this process is in a container. Only
/// version 1 reports it.
void read_outer_groups(const std::string& folder, GroupLimits& limits) {
  constexpr std::string_view kKey = "hierarchical_memory_limit ";
  const std::string file = folder + "/memory.stat", text = system_text(file.c_str());
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(kKey))
      if (const auto most = leading_number(line.substr(kKey.size())); most && *most < limits.memory.most)
        lower(limits.memory, most, file);
}

/// Reads the limits of a group and of all groups above it, up to the top of the mount.
void read_groups(std::string folder, const std::string& top, GroupLimits& limits) {
  read_outer_groups(folder, limits);
  for (;;) {
    read_group(folder, limits);
    if (folder.size() <= top.size()) return;
    folder.resize(std::max(folder.rfind('/'), top.size()));
  }
}

}  // namespace

std::string GroupLimit::group() const {
  struct stat it {};
  if (file.empty() || stat(file.c_str(), &it) != 0) return file;
  return std::to_string(it.st_dev) + ":" + std::to_string(it.st_ino);
}

std::int32_t GroupLimits::cores() const {
  if (processor.most / kThousand >= INT32_MAX) return INT32_MAX;
  return static_cast<std::int32_t>((processor.most + kThousand - 1) / kThousand);
}

GroupLimits group_limits() {
  return group_limits("", system_text("/proc/self/cgroup"), system_text("/proc/self/mountinfo"));
}

GroupLimits group_limits(const std::string& root, std::string_view groups, std::string_view mounts) {
  constexpr std::array<std::string_view, 3> kControllers = {"memory", "pids", "cpu"};
  GroupLimits limits;
  const std::vector<GroupMount> all = group_mounts(mounts.empty() ? kUsualMounts : mounts);
  for (const std::string_view line : split(groups.empty() ? kUsualGroups : groups, '\n')) {  // "4:cpu,cpuacct:/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    const auto holds = [&](const GroupMount& mount) {
      if (controllers.empty() || mount.unified) return controllers.empty() && mount.unified;
      return std::ranges::any_of(kControllers, [&](std::string_view controller) {
        return has_item(controllers, ',', controller) && has_item(mount.controllers, ',', controller);
      });
    };
    bool found = false;
    for (const GroupMount& mount : all) {
      const std::string top = root + (mount.point == "/" ? "" : mount.point);
      const std::string folder = holds(mount) ? folder_in(mount, top, path) : std::string();
      if (folder.empty()) continue;
      read_groups(folder, top, limits);
      found = true;
    }
    // If no mount contains the group, its name belongs to another namespace. Then the mounted hierarchy is this
    // container's.
    for (const GroupMount& mount : all)
      if (!found && holds(mount)) read_groups(root + mount.point, root + mount.point, limits);
  }
  return limits;
}

}  // namespace ferry
