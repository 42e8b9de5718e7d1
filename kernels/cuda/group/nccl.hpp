// NCCL, the library that lets GPUs of several tasks work together, behind functions of ferry's own. nccl_library.cpp
// calls it, if it is there; nccl_on_host.cpp stands for it in tests. Functions that return an int give 0 or an error,
// for describe(). The current device of the calling thread is the member's.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/device.hpp"

namespace ferry::cuda::nccl {

[[nodiscard]] std::string describe(int error);

/// As DeviceTable::group_domain; 0: `why` says why there is no NCCL.
[[nodiscard]] std::uint64_t domain(std::string& why);
int make_name(DeviceGroupName& name);

/// Begins to join, and returns the member; null after an error.
[[nodiscard]] void* join(const DeviceGroupName& name, int members, int member, int& error);
/// Whether all have joined.
int joined(void* member, bool& all);
/// What the library has found since: a member that is lost, for example.
int state(void* member);
/// Puts this member's part in a collective on the stream; `given` is false if it is to be called again.
int submit_part(void* member, void* stream, const DeviceCollective& what, bool& given);
/// Aborts the collectives in flight, with an error on this member.
void abandon(void* member);
void leave(void* member);

}  // namespace ferry::cuda::nccl
