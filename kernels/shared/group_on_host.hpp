// GroupsOnHost: collectives between tasks that are threads of this process, with the semantics of a device library's
// functions for groups (kernels/device.hpp). It is for simulated devices. Floats are added in the order of the members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device.hpp"

namespace ferry {

/// Collectives of groups in host memory. Thread-safe; a Member may be used by one thread at a time.
class GroupsOnHost {
 public:
  /// Bytes that a collective writes to a member's memory.
  struct Result {
    std::byte* to = nullptr;
    std::vector<std::byte> bytes;
  };
  struct Group;
  struct Member {
    std::shared_ptr<Group> group;
    const void* task = nullptr;
    int number = 0;
    std::uint64_t round = 0;  ///< number of this member's current collective; earlier collectives have finished
    bool posted = false;      ///< whether the member has posted its input to this round
  };
  /// Translates a device address to the host address of the same memory.
  using OnHost = std::function<const std::byte*(const void* address)>;

  explicit GroupsOnHost(FoldElements fold) : fold_(fold) {}

  /// A random number of this process, not 0. No other process has the same number.
  [[nodiscard]] static std::uint64_t domain();

  [[nodiscard]] DeviceGroupName name();
  /// Joins the group as member `number` of `members`. `task` identifies the task in all its groups.
  [[nodiscard]] std::shared_ptr<Member> join(const DeviceGroupName& name, int members, int number, const void* task);
  [[nodiscard]] bool joined(const Member& member) const;
  [[nodiscard]] static std::size_t members(const Member& member);
  /// The member takes part in no more collectives. Other members of its group still wait for it.
  void leave(const Member& member);

  /// Takes part in the group's next collective, with the inputs as they are at the first call. Returns nothing until
  /// all members have called it, and then the results. Error(bug) if members call it for different collectives, or if
  /// tasks wait for one another in different groups.
  [[nodiscard]] std::optional<std::vector<Result>> poll_collective(Member& member, const DeviceCollective& what,
                                                                   const OnHost& on_host);

 private:
  struct Post;
  struct Round;

  void post(Member& member, const DeviceCollective& what, const OnHost& on_host);
  void check_wait(const Member& member) const;
  [[nodiscard]] std::vector<Result> results(const Member& member, const Round& round) const;
  [[nodiscard]] std::vector<std::byte> folded(const Round& round, std::uint64_t first, std::uint64_t count) const;
  [[nodiscard]] static std::vector<Result> received(const Member& member, const Round& round);

  const FoldElements fold_;
  mutable std::mutex mutex_;
  std::uint64_t named_ = 0;
  std::map<std::string, std::shared_ptr<Group>> groups_;  ///< groups that some members have not yet joined
  std::map<const void*, const Member*> waiting_;          ///< members that wait, by task
};

}  // namespace ferry
