#include "placement/lower/class_buffers.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "placement/program/parts.hpp"

namespace ferry {

ClassBuffers::ClassBuffers(const Program& program, PlanTables& tables, std::int32_t task,
                           std::span<const WhereId> wheres, PlanClass& plan)
    : program_(program),
      tables_(tables),
      task_(task),
      plan_(plan),
      buffer_of_(program.values.size(), kNone),
      on_where_(program.wheres.size(), false),
      device_of_(program.wheres.size(), kNone) {
  for (const WhereId where : wheres) on_where_[where] = true;
}

bool ClassBuffers::holds(PValueId value) const {
  const WhereId where = program_.values[value].where;
  return where != kNone && on_where_[where];
}

BufferId ClassBuffers::of(PValueId value) const {
  FERRY_ASSERT(buffer_of_[value] != kNone, "a value is used on a task that does not have it: " + program_.name(value));
  return buffer_of_[value];
}

BufferId ClassBuffers::define(PValueId value) {
  const PValue& v = program_.values[value];
  return v.type.shape.bounded() ? define_on_host(value) : define(value, device(v.where));
}

BufferId ClassBuffers::define_on_host(PValueId value) {
  return define(value, device(DeviceKind::cpu, 0));
}

BufferId ClassBuffers::define(PValueId value, std::uint32_t device) {
  const PValue& v = program_.values[value];
  const LocalSizes sizes = local(v);
  Buffer buffer;
  buffer.dtype = v.type.dtype;
  buffer.sizes = sizes.sizes;
  buffer.bytes = static_cast<std::uint64_t>(sizes.count) * size_of(buffer.dtype);
  buffer.bounded = v.type.shape.bounded();
  buffer.device = device;
  buffer.window = window(v);
  buffer.name = name_of(value);
  if (!place_of_.empty()) place_in_joined(value, buffer);
  return buffer_of_[value] = add(std::move(buffer));
}

void ClassBuffers::join(std::span<const PValueId> values, std::uint32_t name) {
  if (place_of_.contains(values[0])) return;
  const PValue& first = program_.values[values[0]];
  Joined joined;
  joined.whole.dtype = first.type.dtype;
  joined.whole.device = device(first.where);
  joined.whole.name = name;
  std::int64_t count = 0;
  for (PValueId value : values) {
    place_of_[value] = {joined_.size(), static_cast<std::uint64_t>(count) * size_of(first.type.dtype)};
    count += local(program_.values[value]).count;
  }
  joined.whole.sizes = std::vector<std::int64_t>{count};
  joined.whole.bytes = static_cast<std::uint64_t>(count) * size_of(first.type.dtype);
  joined_.push_back(std::move(joined));
}

void ClassBuffers::place_in_joined(PValueId value, Buffer& buffer) {
  const auto found = place_of_.find(value);
  if (found == place_of_.end()) return;
  Joined& joined = joined_[found->second.joined];
  if (joined.id == kNone) joined.id = add(joined.whole);
  buffer.view_of = joined.id;
  buffer.offset = found->second.offset;
  buffer.device = joined.whole.device;
}

BufferId ClassBuffers::view(PValueId value, BufferId of) {
  const BufferId id = define(value);
  plan_.buffers[id].view_of = storage_of(plan_, of);
  plan_.buffers[id].offset = plan_.buffers[of].offset;  // relative to the storage until plan_memory
  plan_.buffers[id].device = plan_.buffers[of].device;
  views_[storage_of(plan_, of)].push_back(id);
  return id;
}

bool ClassBuffers::may_be_part(BufferId buffer) const {
  const Buffer& part = plan_.buffers[buffer];
  const auto views = views_.find(buffer);
  const auto is_like = [&](BufferId view) {
    return plan_.buffers[view].bytes == part.bytes && plan_.buffers[view].dtype == part.dtype;
  };
  return part.view_of == kNone && !part.bounded && part.bytes > 0 &&
         (views == views_.end() || std::all_of(views->second.begin(), views->second.end(), is_like));
}

void ClassBuffers::place_in(BufferId part, BufferId whole, std::uint64_t offset) {
  const BufferId root = storage_of(plan_, whole);
  std::vector<BufferId> moved = std::move(views_[part]);
  views_.erase(part);
  moved.push_back(part);
  for (BufferId b : moved) {
    plan_.buffers[b].view_of = root;
    plan_.buffers[b].offset += plan_.buffers[whole].offset + offset;
  }
  std::vector<BufferId>& views = views_[root];
  views.insert(views.end(), moved.begin(), moved.end());
}

const std::vector<BufferId>* ClassBuffers::cut_into_chunks(BufferId buffer, const std::vector<std::int64_t>& elements) {
  const BufferId root = storage_of(plan_, buffer);
  const Buffer& whole = plan_.buffers[root];
  if (const auto known = chunks_.find(root); known != chunks_.end())
    return known->second.elements == elements ? &known->second.buffers : nullptr;
  const auto is_whole = [&](BufferId b) {
    return plan_.buffers[b].bytes == whole.bytes && plan_.buffers[b].dtype == whole.dtype;
  };
  if (!is_whole(buffer) || !std::ranges::all_of(views_[root], is_whole)) return nullptr;
  Chunks chunks{elements, {}};
  std::uint64_t begin = whole.offset;
  for (const std::int64_t count : elements) {
    const BufferId chunk = add_vector_like(root, count);  // with the name of the whole, as its copies also have
    plan_.buffers[chunk].view_of = root;
    plan_.buffers[chunk].offset = begin;
    begin += plan_.buffers[chunk].bytes;
    chunks.buffers.push_back(chunk);
    views_[root].push_back(chunk);
  }
  return &chunks_.emplace(root, std::move(chunks)).first->second.buffers;
}

BufferId ClassBuffers::add_copy_of(BufferId other) {
  Buffer buffer = plan_.buffers[other];
  buffer.space = Buffer::Space::step;
  buffer.view_of = kNone;
  buffer.offset = 0;
  return add(std::move(buffer));
}

BufferId ClassBuffers::add_vector_like(BufferId other, std::int64_t elements) {
  const Buffer& model = plan_.buffers[other];
  Buffer buffer;
  buffer.dtype = model.dtype;
  buffer.sizes = {elements};
  buffer.bytes = static_cast<std::uint64_t>(elements) * size_of(buffer.dtype);
  buffer.device = model.device;
  buffer.name = model.name;
  return add(std::move(buffer));
}

BufferId ClassBuffers::sizes_only(PValueId value, WhereId where) {
  const Type& type = program_.values[value].type;
  Buffer buffer;
  buffer.space = Buffer::Space::none;
  buffer.dtype = type.dtype;
  buffer.sizes = type.shape.sizes();
  buffer.bytes = static_cast<std::uint64_t>(type.bytes());
  buffer.device = device(where);
  buffer.name = name_of(value);
  return add(std::move(buffer));
}

BufferId ClassBuffers::on_host(BufferId other) {
  const std::uint32_t host = device(DeviceKind::cpu, 0);
  if (plan_.buffers[other].device == host) return other;
  const BufferId copy = add_copy_of(other);
  plan_.buffers[copy].device = host;
  return copy;
}

BufferId ClassBuffers::scratch_on_host(std::int64_t bytes) {
  return scratch(device(DeviceKind::cpu, 0), bytes);
}

BufferId ClassBuffers::scratch_on_gpu(std::uint32_t index, std::int64_t bytes) {
  return scratch(device(DeviceKind::gpu, index), bytes);
}

BufferId ClassBuffers::scratch_with(BufferId of, std::int64_t bytes) {
  return scratch(plan_.buffers[of].device, bytes);
}

BufferId ClassBuffers::scratch(std::uint32_t device, std::int64_t bytes) {
  Buffer buffer;
  buffer.dtype = DType::uint8;
  buffer.sizes = {bytes};
  buffer.bytes = static_cast<std::uint64_t>(bytes);
  buffer.device = device;
  return add(std::move(buffer));
}

Type ClassBuffers::type_of(BufferId id) const {
  const Buffer& buffer = plan_.buffers[id];
  Shape shape{std::span<const std::int64_t>(buffer.sizes)};
  if (buffer.bounded) shape[0] = Dim::at_most(buffer.sizes[0]);
  return {buffer.dtype, std::move(shape)};
}

std::uint32_t ClassBuffers::name_of(PValueId value) {
  return tables_.value_name(*program_.values[value].graph, program_.values[value].value);
}

BufferId ClassBuffers::add(Buffer buffer) {
  const auto id = static_cast<std::uint32_t>(plan_.buffers.size());
  plan_.buffers.push_back(std::move(buffer));
  return id;
}

ClassBuffers::LocalSizes ClassBuffers::local(const PValue& value) {
  const bool whole = value.layout.empty();
  if (whole)
    if (const auto known = sizes_of_.find(value.type.shape.dims().data()); known != sizes_of_.end())
      return known->second;
  LocalSizes sizes;
  sizes.sizes = local_sizes(program_, value, task_);
  sizes.count = checked_count(sizes.sizes);
  if (whole) sizes_of_.emplace(value.type.shape.dims().data(), sizes);
  return sizes;
}

std::uint32_t ClassBuffers::device(WhereId id) {
  if (device_of_[id] != kNone) return device_of_[id];
  const Where& where = program_.wheres[id];
  return device_of_[id] = device(where.kind, static_cast<std::uint32_t>(where.index));
}

std::uint32_t ClassBuffers::device(DeviceKind kind, std::uint32_t index) {
  std::uint32_t d = 0;
  while (d < plan_.devices.size() && (plan_.devices[d].kind != kind || plan_.devices[d].index != index)) ++d;
  if (d == plan_.devices.size()) plan_.devices.push_back({kind, index, 0, 0});
  return d;
}

std::uint32_t ClassBuffers::grouping(std::uint32_t id) {
  const auto [at, fresh] = grouping_of_.try_emplace(id);
  if (fresh) at->second = tables_.grouping(program_.groupings[id]);
  return at->second;
}

std::uint32_t ClassBuffers::window(const PValue& value) {
  return held_window(program_, value, tables_, [this](std::uint32_t id) { return grouping(id); });
}

}  // namespace ferry
