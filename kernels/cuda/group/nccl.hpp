// The functions of NCCL that ferry uses. NCCL lets GPUs of several tasks work together. nccl_library.cpp calls NCCL if
// it is installed; nccl_on_host.cpp replaces it in tests. Functions that return an int return 0 or an error for
// describe(). The caller makes the member's device the current device of its thread.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/device.hpp"

namespace ferry::cuda::nccl {

[[nodiscard]] std::string describe(int error);

/// As DeviceTable::group_domain. If it returns 0, `why` is the reason why NCCL is missing.
[[nodiscard]] std::uint64_t domain(std::string& why);
int make_name(DeviceGroupName& name);

/// Begins to join a group. Returns the member, or null after an error. joined() reports when all members have joined.
[[nodiscard]] void* join(const DeviceGroupName& name, int members, int member, int& error);
/// Sets `all` to whether all members have joined.
int joined(void* member, bool& all);
/// Returns an error that NCCL has detected since, such as a lost member.
int state(void* member);
/// Puts this member's part of a collective on the stream. If `given` is false afterwards, call it again.
int submit_part(void* member, void* stream, const DeviceCollective& what, bool& given);
/// Aborts the member's collectives in flight. They end with an error.
void abandon(void* member);
void leave(void* member);

}  // namespace ferry::cuda::nccl
