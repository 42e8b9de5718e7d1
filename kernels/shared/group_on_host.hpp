// GroupsOnHost: collectives between tasks that are threads of this process, by what a device library's functions for
// groups ask for (kernels/device.hpp). For devices that are not there. Floats are added in the order of the members.
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

/// Thread-safe; a Member is for one thread.
class GroupsOnHost {
 public:
  /// Bytes that a collective leaves in a member's memory.
  struct Result {
    std::byte* to = nullptr;
    std::vector<std::byte> bytes;
  };
  struct Group;
  struct Member {
    std::shared_ptr<Group> group;
    const void* task = nullptr;
    int number = 0;
    std::uint64_t round = 0;  ///< of collectives; those before are over
    bool posted = false;      ///< it has come to this round's
  };
  /// Where the host finds memory that a device knows by this address.
  using OnHost = std::function<const std::byte*(const void* address)>;

  explicit GroupsOnHost(FoldElements fold) : fold_(fold) {}

  /// A number that no other process has, not 0.
  [[nodiscard]] static std::uint64_t domain();

  [[nodiscard]] DeviceGroupName name();
  /// `task`: tells the task from others, in all its groups.
  [[nodiscard]] std::shared_ptr<Member> join(const DeviceGroupName& name, int members, int number, const void* task);
  [[nodiscard]] bool joined(const Member& member) const;
  [[nodiscard]] static std::size_t members(const Member& member);
  /// The member comes to nothing any more; others wait for it.
  void leave(const Member& member);

  /// Takes part in the group's next collective, with the inputs as they are at the first call; the results once all
  /// have come, until then nothing. Error(bug) when members come to different collectives, or when tasks wait for one
  /// another in different groups.
  [[nodiscard]] std::optional<std::vector<Result>> meet(Member& member, const DeviceCollective& what,
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
  std::map<std::string, std::shared_ptr<Group>> groups_;  ///< to which not all have come
  std::map<const void*, const Member*> waiting_;          ///< by task
};

}  // namespace ferry
