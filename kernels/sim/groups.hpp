// The group functions in the DeviceTable of simulated devices (kernels/device.hpp).
#pragma once

#include "kernels/device.hpp"

namespace ferry::sim {

std::uint64_t group_domain(void*, const char**);
int name_group(void* devices, DeviceGroupName* name);
void* join_group(void* devices, int device, const DeviceGroupName* name, int members, int member);
int joined(void* group);
void abandon_group(void*);
void leave_group(void* group);
int collective(void* queue, void* group, const DeviceCollective* what);

}  // namespace ferry::sim
