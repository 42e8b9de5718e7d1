// NCCL for tests: the members are threads of one process, and streams do their work at once.
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/error.hpp"
#include "kernels/cuda/group/nccl.hpp"
#include "kernels/cuda_on_host.hpp"
#include "kernels/shared/group_on_host.hpp"

namespace ferry::cuda::nccl {
namespace {

enum Failure : int { kOrder = 1, kLost };

GroupsOnHost& groups() {
  static GroupsOnHost all(cpu_kernels().fold());
  return all;
}

/// An address that identifies the calling task: in tests, each task is a thread.
const void* this_task() {
  static thread_local const char task = 0;
  return &task;
}

/// The error that the next call of `function` returns, as MachineOnHost asks.
int next_error(std::string_view function) {
  static std::mutex calls;
  const std::lock_guard guard(calls);
  MachineOnHost& machine = machine_on_host();
  if (machine.nccl_fails.empty() || machine.nccl_fails != function || machine.nccl_after-- > 0) return 0;
  return kLost;
}

struct Member {
  std::shared_ptr<GroupsOnHost::Member> member;
};

Member& of(void* member) {
  return *static_cast<Member*>(member);
}

}  // namespace

std::string describe(int error) {
  return error == kOrder ? "NCCL on the host: members come to different collectives"
                         : "NCCL on the host: a lost member";
}

std::uint64_t domain(std::string& why) {
  why = machine_on_host().why_no_nccl;
  return why.empty() ? GroupsOnHost::domain() : 0;
}

int make_name(DeviceGroupName& name) {
  name = groups().name();
  return 0;
}

void* join(const DeviceGroupName& name, int members, int member, int& error) {
  error = next_error("join");
  return error == 0 ? new Member{groups().join(name, members, member, this_task())} : nullptr;
}

int joined(void* member, bool& all) {
  all = groups().joined(*of(member).member);
  return 0;
}

int state(void*) {
  return next_error("state");
}

int submit_part(void* member, void*, const DeviceCollective& what, bool& given) {
  if (const int error = next_error("collective"); error != 0) return error;
  try {
    const auto results = groups().poll_collective(
        *of(member).member, what, [](const void* address) { return static_cast<const std::byte*>(address); });
    given = results.has_value();
    if (given)
      for (const GroupsOnHost::Result& result : *results)
        if (!result.bytes.empty()) std::memcpy(result.to, result.bytes.data(), result.bytes.size());
    return 0;
  } catch (const Error&) {
    return kOrder;
  }
}

void abandon(void*) {}

void leave(void* member) {
  groups().leave(*of(member).member);
  delete &of(member);
}

}  // namespace ferry::cuda::nccl
