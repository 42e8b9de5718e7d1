#include "base/process/control_group.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

/// A folder with the given files, which replaces the files of the system. The key is the path, the value the content.
struct FakeSystem {
  explicit FakeSystem(const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files) {
      const std::filesystem::path path = folder / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << text;
    }
  }
  [[nodiscard]] GroupLimits limits(std::string_view groups, std::string_view mounts) const {
    return group_limits(folder.path(), groups, mounts);
  }
  test::TempFolder folder;
};

constexpr const char* kUnified = "24 18 0:21 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kVersion1 =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";

TEST_CASE("groups of version 2: the lowest limit of all groups above counts") {
  const FakeSystem system({{"sys/fs/cgroup/job/memory.max", "4000\n"},
                           {"sys/fs/cgroup/job/cpu.max", "150000 100000\n"},
                           {"sys/fs/cgroup/job/pids.max", "max\n"},
                           {"sys/fs/cgroup/job/step/memory.max", "6000\n"},
                           {"sys/fs/cgroup/job/step/cpu.max", "max 100000\n"},
                           {"sys/fs/cgroup/job/step/task/memory.max", "max\n"},
                           {"sys/fs/cgroup/job/step/task/pids.max", "77\n"},
                           {"sys/fs/cgroup/job/other/memory.max", "1\n"}});
  const GroupLimits limits = system.limits("0::/job/step/task\n", kUnified);
  CHECK(limits.memory.most == 4000);
  CHECK(limits.memory.file == system.folder / "sys/fs/cgroup/job/memory.max");
  CHECK(limits.threads.most == 77);
  CHECK(limits.processor.most == 1500);
  CHECK(limits.cores() == 2);
  CHECK(system.limits("0::/job/other", kUnified).memory.most == 1);
}

TEST_CASE("groups of version 1: each kind of limit has a hierarchy of its own") {
  const FakeSystem system({{"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
                           {"sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "3000\n"},
                           {"sys/fs/cgroup/memory/slurm/job/memory.limit_in_bytes", "9223372036854771712\n"},
                           {"sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "15000\n"},
                           {"sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n"},
                           {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
                           {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
                           {"sys/fs/cgroup/cpuset/batch/cpu.cfs_quota_us", "1\n"},
                           {"sys/fs/cgroup/cpuset/batch/cpu.cfs_period_us", "100000\n"},
                           {"sys/fs/cgroup/pids/batch/pids.max", "9\n"}});
  const GroupLimits limits = system.limits(
      "8:pids:/batch\n7:blkio:/x\n4:memory:/slurm/job\n3:cpuset:/batch\n2:cpu,cpuacct:/batch\n1:name=systemd:/s\n",
      kVersion1);
  CHECK(limits.memory.most == 3000);
  CHECK(limits.processor.most == 150);
  CHECK(limits.cores() == 1);
  CHECK(limits.threads.most == 9);
}

TEST_CASE("groups of both versions beside each other") {
  const FakeSystem system({{"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "500\n"},
                           {"sys/fs/cgroup/unified/s/pids.max", "8\n"},
                           {"sys/fs/cgroup/unified/s/memory.max", "700\n"}});
  const std::string mounts = std::string(kVersion1) + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  const GroupLimits limits = system.limits("4:memory:/a\n0::/s\n", mounts);
  CHECK(limits.memory.most == 500);
  CHECK(limits.threads.most == 8);
  CHECK(limits.cores() == INT32_MAX);
}

TEST_CASE("in a container its own group is what is mounted, whatever that is called") {
  const FakeSystem two({{"sys/fs/cgroup/memory.max", "300\n"}, {"sys/fs/cgroup/cpu.max", "300000 100000"}});
  for (const auto& [group, root] : {std::pair{"/", "/"},
                                    {"/docker/abc", "/docker/abc"},
                                    {"/docker/abc", "/"},
                                    {"/elsewhere", "/docker/abc"},
                                    {"/..", "/.."}}) {
    CAPTURE(group);
    CAPTURE(root);
    const std::string mount = std::string("24 18 0:21 ") + root + " /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    CHECK(two.limits(std::string("0::") + group + "\n", mount).memory.most == 300);
    CHECK(two.limits(std::string("0::") + group + "\n", mount).cores() == 3);
  }
  const FakeSystem one({{"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
                        {"sys/fs/cgroup/memory/memory.stat", "cache 1\nhierarchical_memory_limit 4096\nrss 2\n"},
                        {"sys/fs/cgroup/memory/deep/memory.limit_in_bytes", "200\n"}});
  const std::string mount = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
  CHECK(one.limits("4:memory:/docker/abc\n", mount).memory.most == 4096);  // of groups that the container does not see
  CHECK(one.limits("4:memory:/docker/abc/deep\n", mount).memory.most == 200);
  CHECK(one.limits("4:memory:/docker/abcd\n", mount).memory.most == 4096);
}

TEST_CASE("a mount over another one hides it, and one that shows other groups says nothing") {
  const FakeSystem system({{"sys/fs/cgroup/memory.max", "300\n"},
                           {"sys/fs/cgroup/job/memory.max", "100\n"},
                           {"mnt/a b/memory.max", "5\n"}});
  const std::string other = "50 18 0:21 /other /mnt/a\\040b rw - cgroup2 cgroup2 rw\n";
  CHECK(system.limits("0::/job", std::string(kUnified) + other).memory.most == 100);
  CHECK(system.limits("0::/other", other).memory.most == 5);
  const std::string over = "51 24 0:21 /x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  CHECK(system.limits("0::/x", std::string(kUnified) + over).memory.most == 300);
  CHECK(system.limits("0::/job", std::string(kUnified) + "51 24 0:50 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n")
            .memory.most == UINT64_MAX);
}

TEST_CASE("in a namespace younger than the mount the own group is the one with this process") {
  const std::string own = std::to_string(getpid()) + "\n";
  const FakeSystem system({{"sys/fs/cgroup/a/memory.max", "5\n"},
                           {"sys/fs/cgroup/a/x/cgroup.procs", "1" + own},
                           {"sys/fs/cgroup/a/x/memory.max", "6\n"},
                           {"sys/fs/cgroup/b/y/cgroup.procs", "1\n" + own},
                           {"sys/fs/cgroup/b/y/memory.max", "9\n"},
                           {"sys/fs/cgroup/b/memory.max", "8\n"},
                           {"sys/fs/cgroup/b/y/in/cgroup.procs", own},
                           {"sys/fs/cgroup/b/y/in/memory.max", "7\n"}});
  const auto most = [&](const char* group, const char* root) {
    const std::string mount = std::string("24 18 0:21 ") + root + " /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    return system.limits(std::string("0::") + group, mount).memory.most;
  };
  CHECK(most("/", "/../..") == 8);
  CHECK(most("/in", "/../..") == 7);
  CHECK(most("/../y", "/../..") == 8);
  CHECK(most("/../y/in", "/../..") == 7);
}

TEST_CASE("what is missing, unreadable or no number limits nothing") {
  CHECK(FakeSystem({}).limits("0::/job", kUnified).memory.most == UINT64_MAX);
  CHECK(FakeSystem({}).limits("", "").cores() == INT32_MAX);
  const FakeSystem usual({{"sys/fs/cgroup/memory/memory.limit_in_bytes", "12\n"}, {"sys/fs/cgroup/pids.max", "3"}});
  CHECK(usual.limits("", "").memory.most == 12);  // no /proc
  CHECK(usual.limits("", "").threads.most == 3);
  const FakeSystem odd({{"sys/fs/cgroup/a/memory.max", "99999999999999999999999\n"},
                        {"sys/fs/cgroup/a/cpu.max", "100000\n"},
                        {"sys/fs/cgroup/a/pids.max", "-1\n"},
                        {"sys/fs/cgroup/b/memory.max", "\n"},
                        {"sys/fs/cgroup/b/cpu.max", "18446744073709551615 1\n"},
                        {"sys/fs/cgroup/b/pids.max/is_a_folder", ""},
                        {"sys/fs/cgroup/c/memory.max", "0\n"},
                        {"sys/fs/cgroup/c/cpu.max", "1000 0\n"},
                        {"sys/fs/cgroup/d/cpu.max", "1 1000000\n"}});
  for (const char* group : {"0::/a", "0::/b", "0::/c"}) {
    CAPTURE(group);
    const GroupLimits limits = odd.limits(group, kUnified);
    CHECK(limits.memory.most == UINT64_MAX);
    CHECK(limits.memory.file.empty());
    CHECK(limits.threads.most == UINT64_MAX);
    CHECK(limits.processor.most == UINT64_MAX);
  }
  CHECK(odd.limits("0::/d", kUnified).processor.most == 1);
  CHECK(odd.limits("0::/d", kUnified).cores() == 1);
  CHECK(odd.limits("nonsense\n0::", "x\n1 2 3 - cgroup2\n24 18 0:21 / /sys/fs/cgroup rw - cgroup2 c rw").memory.most ==
        UINT64_MAX);
  CHECK(odd.limits("0::/gone (deleted)\n", kUnified).memory.most == UINT64_MAX);
}

TEST_CASE("two processes can tell whether the same group limits them") {
  const FakeSystem system({{"sys/fs/cgroup/job/memory.max", "40\n"},
                           {"sys/fs/cgroup/job/a/memory.max", "40\n"},
                           {"sys/fs/cgroup/job/b/memory.max", "30\n"}});
  const auto group = [&](const char* of) { return system.limits(of, kUnified).memory.group(); };
  CHECK(group("0::/job") == group("0::/job/a"));
  CHECK(group("0::/job") != group("0::/job/b"));
  CHECK(group("0::/").empty());
}

}  // namespace
}  // namespace ferry
