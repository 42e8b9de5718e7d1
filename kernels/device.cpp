#include "kernels/device.hpp"

#include <utility>

#include "base/error.hpp"

namespace ferry {

void check_device_table(const DeviceTable& table) {
  if (table.version == kDeviceTableVersion && table.size == sizeof(DeviceTable)) return;
  // Version and size are the first members in every version, so they can be read from any table.
  throw Error(Code::plan,
              "the library of devices was built for another ferry: its table has version {} and {} bytes, this ferry's "
              "has version {} and {}",
              table.version, table.size, kDeviceTableVersion, sizeof(DeviceTable))
      .hint("build it again with the headers of this ferry");
}

Devices::Devices(const DeviceLibrary& library, const DeviceShare& share) : table_(library.table), fuse_(library.fuse) {
  check_device_table(*table_);
  const char* why = "it does not say why";
  void* const opened = table_->open(library.library.get(), &share, &why);
  if (opened == nullptr)
    throw Error(Code::resource, "task " + std::to_string(share.task) + " cannot open its devices (" +
                                    std::string(table_->name) + "): " + why);
  devices_ = {opened, [table = table_, kept = library.library](void* devices) { table->close(devices); }};
}

std::shared_ptr<std::byte> Devices::memory(int device, std::uint64_t bytes, const std::string& what) const {
  auto* const memory = static_cast<std::byte*>(table_->allocate(devices_.get(), device, bytes));
  if (memory == nullptr && table_->failure(devices_.get()) != nullptr) fail();
  if (memory == nullptr)
    throw Error(Code::resource, what + ": the device has no memory for " + std::to_string(bytes) + " bytes")
        .hint("more tasks to split over, or a smaller batch");
  return {memory, [table = table_, devices = devices_](std::byte* it) { table->release(devices.get(), it); }};
}

Devices::Owned Devices::host_memory(const std::byte* memory, std::uint64_t bytes) const {
  require(table_->use_host_memory(devices_.get(), memory, bytes));
  return {const_cast<std::byte*>(memory),
          [table = table_, devices = devices_](void* it) { table->forget_host_memory(devices.get(), it); }};
}

Devices::Owned Devices::queue(int device) const {
  void* const made = table_->make_queue(devices_.get(), device);
  if (made == nullptr) fail();
  return {made, [table = table_, devices = devices_](void* it) { table->release_queue(it); }};
}

Devices::Owned Devices::make_event(bool timed) const {
  void* const made = table_->make_event(devices_.get(), timed ? 1 : 0);
  if (made == nullptr) fail();
  return {made, [table = table_, devices = devices_](void* it) { table->release_event(it); }};
}

DeviceGroupName Devices::name_group() const {
  DeviceGroupName name{};
  require(table_->name_group(devices_.get(), &name));
  return name;
}

Devices::Owned Devices::join_group(int device, const DeviceGroupName& name, int members, int member) const {
  void* const made = table_->join_group(devices_.get(), device, &name, members, member);
  if (made == nullptr) fail();
  return {made, [table = table_, devices = devices_](void* it) { table->leave_group(it); }};
}

Devices::Owned Devices::end_capture(void* queue) const {
  void* const made = table_->end_capture(queue);
  if (made == nullptr) fail();
  return {made, [table = table_, devices = devices_](void* it) { table->release_graph(it); }};
}

std::vector<BoundKernel> Devices::fuse(int device, std::span<const FusedKernels> all, int threads) const {
  if (!fuse_)
    throw Error(Code::plan, "the plan has fused kernels for gpu:" + std::to_string(device) + ", whose library (" +
                                table_->name + ") runs kernels one by one here")
        .hint("make the plan again, where it is to run");
  return fuse_(devices_.get(), device, all, threads);
}

void Devices::fail() const {
  const DeviceFailure* const failure = table_->failure(devices_.get());
  FERRY_ASSERT(failure != nullptr, "a device has failed and does not say why");
  throw FailedWork(*failure);
}

}  // namespace ferry
