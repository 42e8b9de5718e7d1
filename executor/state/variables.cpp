#include "executor/state/variables.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/text.hpp"
#include "executor/run/arena.hpp"

namespace ferry {
namespace {

std::int64_t bytes_of(const VariablePart& part, DType dtype) {
  return part.held ? checked_count(part.sizes) * static_cast<std::int64_t>(size_of(dtype)) : 0;
}

/// Large variables have pages of their own, small ones share theirs.
std::shared_ptr<std::byte[]> allocated(std::int64_t bytes, std::string_view what) {
  constexpr std::align_val_t kAlign{kBufferAlign};
  const auto size = static_cast<std::size_t>(bytes);
  const std::string name = "the variable '" + escaped(what) + "'";
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

std::uint64_t VariableStore::bind(const VariableLayouts& all, Transport& transport, const Deadline& deadline) {
  std::uint64_t newest = 1;  // not 0, which stands for an executor that has not been made
  for (const auto& [name, wanted] : all) {
    const auto& [dtype, layout] = wanted;
    Variable& variable = variables_[name];
    variable.dtype = dtype;
    if (variable.layout != layout && (variable.layout == nullptr || *variable.layout != *layout)) {
      if (variable.has_value) {
        lay(name, layout, transport, deadline);
      } else {
        variable.bytes = allocated(bytes_of(layout->part(static_cast<std::size_t>(task_)), dtype), name);
      }
      variable.laid = ++version_;
    }
    variable.layout = layout;
    newest = std::max(newest, variable.laid + 1);
  }
  return newest;
}

/// The first holder of each part sends it to all; each task puts the whole together and keeps its new part.
void VariableStore::lay(std::string_view name, std::shared_ptr<const VariableLayout> layout, Transport& transport,
                        const Deadline& deadline) {
  Variable& variable = variables_.find(name)->second;
  const VariableLayout& before = *variable.layout;
  const auto self = static_cast<std::size_t>(task_);
  const std::size_t element = size_of(variable.dtype);
  std::string_view mine;
  if (before.is_first(self))
    mine = {reinterpret_cast<const char*>(variable.bytes.get()),
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
  variable.bytes = allocated(bytes_of(part, variable.dtype), name);
  if (part.held) cut_part(part, element, whole.data(), variable.bytes.get());
}

void VariableStore::set(std::string_view name, const Type& type, const Tensor& value, int tasks) {
  Variable& variable = variables_[std::string(name)];
  variable.dtype = type.dtype;
  variable.layout = VariableLayout::at_task_0(type.shape.sizes(), static_cast<std::size_t>(tasks));
  const std::int64_t bytes = bytes_of(variable.layout->part(static_cast<std::size_t>(task_)), type.dtype);
  variable.bytes = allocated(bytes, name);
  if (bytes > 0) std::memcpy(variable.bytes.get(), value.bytes().data(), static_cast<std::size_t>(bytes));
  variable.laid = ++version_;
  variable.has_value = true;
}

Tensor VariableStore::whole(std::string_view name, Transport& transport, const Deadline& deadline) {
  Variable& variable = variables_.find(name)->second;
  const std::vector<std::int64_t> sizes = variable.layout->whole();
  lay(name, VariableLayout::at_task_0(sizes, static_cast<std::size_t>(transport.tasks())), transport, deadline);
  variable.laid = ++version_;
  if (task_ != 0) return {};
  Tensor tensor(variable.dtype, sizes);
  const std::span<std::byte> bytes = tensor.mutable_bytes();
  if (!bytes.empty()) std::memcpy(bytes.data(), variable.bytes.get(), bytes.size());
  return tensor;
}

std::byte* VariableStore::address(std::string_view name) const {
  return variables_.find(name)->second.bytes.get();
}

VariableStore::Bytes VariableStore::copy(const std::vector<std::string>& names) const {
  Bytes all;
  for (const std::string& name : names) {
    const Variable& variable = variables_.find(name)->second;
    const std::byte* const bytes = variable.bytes.get();
    all[name].assign(bytes, bytes + bytes_of(variable.layout->part(static_cast<std::size_t>(task_)), variable.dtype));
  }
  return all;
}

void VariableStore::put_back(const Bytes& all) {
  for (const auto& [name, bytes] : all)
    std::copy(bytes.begin(), bytes.end(), variables_.find(name)->second.bytes.get());
}

std::vector<VariableStore::Part> VariableStore::first_parts() const {
  std::vector<Part> all;
  const auto self = static_cast<std::size_t>(task_);
  for (const auto& [name, variable] : variables_) {
    if (!variable.has_value || !variable.layout->is_first(self)) continue;
    const auto bytes = static_cast<std::size_t>(bytes_of(variable.layout->part(self), variable.dtype));
    all.push_back({name, variable.dtype, &variable.layout->part(self), {variable.bytes.get(), bytes}});
  }
  return all;
}

bool VariableStore::has_value(std::string_view name) const {
  const auto found = variables_.find(name);
  return found != variables_.end() && found->second.has_value;
}

void VariableStore::set_has_value(std::string_view name) {
  variables_.find(name)->second.has_value = true;
}

}  // namespace ferry
