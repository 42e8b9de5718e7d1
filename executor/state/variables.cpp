#include "executor/state/variables.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>

#include "base/format.hpp"
#include "executor/run/arena.hpp"

namespace ferry {
namespace {

std::int64_t bytes_of(const VariablePart& part, DType dtype) {
  return part.held ? checked_count(part.sizes) * static_cast<std::int64_t>(size_of(dtype)) : 0;
}

/// Large variables get their own pages, small ones come from the heap.
std::shared_ptr<std::byte[]> allocated(std::int64_t bytes, std::string_view what) {
  constexpr std::align_val_t kAlign{kBufferAlign};
  const auto size = static_cast<std::size_t>(bytes);
  const std::string name = formatted("the variable '{}'", what);
  if (size >= Arena::kHugePage) {
    const auto arena = std::make_shared<Arena>(size, name);
    return {arena, arena->data()};
  }
  try {
    auto* memory = static_cast<std::byte*>(::operator new(size + 1, kAlign));
    return {memory, [](std::byte* p) { ::operator delete(p, kAlign); }};
  } catch (const std::bad_alloc&) {
    throw Error(Code::resource, name + ": no memory for " + std::to_string(bytes) + " bytes");
  }
}

}  // namespace

void VariableStore::open_devices() {
  if (share_.count > 0 && !devices_) devices_.emplace(*library_, share_);
}

std::int64_t VariableStore::size_of_part(const Variable& variable) const {
  return bytes_of(variable.layout->part(static_cast<std::size_t>(task_)), variable.dtype);
}

void VariableStore::allocate(Variable& variable, std::string_view name) {
  const std::int32_t device = variable.layout->device(static_cast<std::size_t>(task_));
  variable.on_host.reset();
  if (device == VariableLayout::kHost) {
    variable.bytes = allocated(size_of_part(variable), name);
    return;
  }
  const std::shared_ptr<std::byte> memory = devices_->memory(device, static_cast<std::uint64_t>(size_of_part(variable)),
                                                             formatted("the variable '{}'", name));
  variable.bytes = {memory, memory.get()};
}

const std::byte* VariableStore::host_bytes(Variable& variable, std::string_view name) {
  const std::int32_t device = variable.layout->device(static_cast<std::size_t>(task_));
  if (device == VariableLayout::kHost) return variable.bytes.get();
  const std::int64_t bytes = size_of_part(variable);
  if (variable.on_host == nullptr) variable.on_host = allocated(bytes, name);
  copy_over(device, variable.on_host.get(), variable.bytes.get(), variable.on_host.get(),
            static_cast<std::uint64_t>(bytes));
  return variable.on_host.get();
}

void VariableStore::set_bytes(Variable& variable, const std::byte* from) {
  const std::int32_t device = variable.layout->device(static_cast<std::size_t>(task_));
  const auto bytes = static_cast<std::size_t>(size_of_part(variable));
  ++variable.writes;
  if (bytes == 0) return;
  if (device == VariableLayout::kHost)
    std::memcpy(variable.bytes.get(), from, bytes);
  else
    copy_over(device, variable.bytes.get(), from, from, bytes);
}

void VariableStore::copy_over(std::int32_t device, std::byte* to, const std::byte* from, const std::byte* on_host,
                              std::uint64_t bytes) {
  if (bytes == 0) return;
  Devices::Owned& queue = queues_[device];
  if (queue == nullptr) queue = devices_->queue(device);
  if (copy_event_ == nullptr) copy_event_ = devices_->event();
  const Devices::Owned used = devices_->host_memory(on_host, bytes);
  devices_->copy(queue.get(), to, from, bytes, nullptr);
  devices_->record(queue.get(), copy_event_.get());
  while (!devices_->happened(copy_event_.get())) std::this_thread::yield();
}

std::uint64_t VariableStore::bind(const VariableLayouts& all, Transport& transport, const Deadline& deadline) {
  open_devices();
  std::uint64_t newest = 1;  // never 0, which PreparedPlan::bound has before there is an executor
  for (const auto& [name, wanted] : all) {
    const auto& [dtype, layout] = wanted;
    Variable& variable = variables_[name];
    variable.dtype = dtype;
    if (variable.layout != layout && (variable.layout == nullptr || *variable.layout != *layout)) {
      if (variable.has_value) {
        redistribute(name, layout, transport, deadline);
      } else {
        variable.layout = layout;
        allocate(variable, name);
      }
      variable.layout_version = ++version_;
    }
    variable.layout = layout;
    newest = std::max(newest, variable.layout_version + 1);
  }
  return newest;
}

void VariableStore::require_parts(const Transport& transport) const {
  for (const auto& [name, variable] : variables_)
    if (variable.has_value) require_part(name, variable, transport);
}

void VariableStore::require_part(std::string_view name, const Variable& variable, const Transport& transport) {
  for (std::size_t task = 0; task < variable.layout->tasks(); ++task)
    if (variable.layout->is_first(task) && transport.is_lost(static_cast<int>(task)))
      throw Error(Code::peer_lost, "the variable '{}' is on task {}, which is lost", name, task)
          .hint("keep lasting variables on servers: g.device(\"/job:ps/task:0\")");
}

/// Redistributes a variable: the first holder of each part sends it to all tasks; each assembles the whole value and
/// keeps the part that `layout` gives it.
void VariableStore::redistribute(std::string_view name, std::shared_ptr<const VariableLayout> layout,
                                 Transport& transport, const Deadline& deadline) {
  Variable& variable = variables_.find(name)->second;
  require_part(name, variable, transport);
  const VariableLayout& before = *variable.layout;
  const auto self = static_cast<std::size_t>(task_);
  const std::size_t element = size_of(variable.dtype);
  std::string_view mine;
  if (before.is_first(self))
    mine = {reinterpret_cast<const char*>(host_bytes(variable, name)),
            static_cast<std::size_t>(bytes_of(before.part(self), variable.dtype))};
  std::vector<std::string> all = transport.exchange(mine, deadline);
  std::vector<std::byte> whole;
  for (std::size_t task = 0; task < all.size(); ++task) {
    if (!before.is_first(task)) continue;
    const VariablePart& part = before.part(task);
    whole.resize(static_cast<std::size_t>(checked_count(part.whole)) * element);
    put_part(part, element, reinterpret_cast<const std::byte*>(all[task].data()), whole.data());
  }
  variable.layout = std::move(layout);
  const VariablePart& part = variable.layout->part(self);
  allocate(variable, name);
  if (!part.held) return;
  std::vector<std::byte> own(static_cast<std::size_t>(size_of_part(variable)));
  cut_part(part, element, whole.data(), own.data());
  set_bytes(variable, own.data());
}

void VariableStore::set(std::string_view name, DType dtype, std::shared_ptr<const VariableLayout> layout,
                        const Tensor& part) {
  Variable& variable = variables_[std::string(name)];
  variable.dtype = dtype;
  variable.layout = std::move(layout);
  allocate(variable, name);
  if (size_of_part(variable) > 0) set_bytes(variable, part.bytes().data());
  variable.layout_version = ++version_;
  variable.has_value = true;
}

Tensor VariableStore::whole(std::string_view name, Transport& transport, const Deadline& deadline) {
  Variable& variable = variables_.find(name)->second;
  const std::vector<std::int64_t> sizes = variable.layout->whole();
  redistribute(name, VariableLayout::at_task_0(sizes, static_cast<std::size_t>(transport.tasks())), transport,
               deadline);
  variable.layout_version = ++version_;
  if (task_ != 0) return Tensor::fetched_to(0);
  Tensor tensor(variable.dtype, sizes);
  const std::span<std::byte> bytes = tensor.mutable_bytes();
  if (!bytes.empty()) std::memcpy(bytes.data(), variable.bytes.get(), bytes.size());
  return tensor;
}

std::byte* VariableStore::address(std::string_view name) const {
  return variables_.find(name)->second.bytes.get();
}

VariableStore::Bytes VariableStore::copy(const std::vector<std::string>& names) {
  Bytes all;
  for (const std::string& name : names) {
    Variable& variable = variables_.find(name)->second;
    const std::byte* const bytes = host_bytes(variable, name);
    all[name].assign(bytes, bytes + size_of_part(variable));
  }
  return all;
}

void VariableStore::restore_copy(const Bytes& all) {
  for (const auto& [name, bytes] : all) set_bytes(variables_.find(name)->second, bytes.data());
}

std::vector<VariableStore::Part> VariableStore::first_parts() {
  return parts(&VariableLayout::is_first);
}

std::vector<VariableStore::Part> VariableStore::replicas() {
  return parts(&VariableLayout::is_replica);
}

VariableLayouts VariableStore::layouts() const {
  VariableLayouts all;
  for (const auto& [name, variable] : variables_)
    if (variable.has_value) all.emplace(name, std::pair(variable.dtype, variable.layout));
  return all;
}

std::vector<VariableStore::Part> VariableStore::parts(bool (VariableLayout::*wanted)(std::size_t task) const) {
  std::vector<Part> all;
  const auto self = static_cast<std::size_t>(task_);
  for (auto& [name, variable] : variables_) {
    if (!variable.has_value || !(*variable.layout.*wanted)(self)) continue;
    const auto bytes = static_cast<std::size_t>(size_of_part(variable));
    all.push_back({name, variable.dtype, &variable.layout->part(self), {host_bytes(variable, name), bytes}});
  }
  return all;
}

void VariableStore::count_write(const std::vector<std::string>& names) {
  for (const std::string& name : names) ++variables_.find(name)->second.writes;
}

std::uint64_t VariableStore::writes(const std::vector<std::string>& names) const {
  std::uint64_t sum = 0;
  for (const std::string& name : names) sum += variables_.find(name)->second.writes;
  return sum;
}

bool VariableStore::has_value(std::string_view name) const {
  const auto found = variables_.find(name);
  return found != variables_.end() && found->second.has_value;
}

void VariableStore::set_has_value(std::string_view name) {
  variables_.find(name)->second.has_value = true;
}

}  // namespace ferry
