#include <bit>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "plan/file/plan_file.hpp"
#include "plan/plan_generated.h"

namespace ferry {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian, and so must the machine be");

using flatbuffers::Offset;
template <class T>
using Vector = Offset<flatbuffers::Vector<T>>;

enum class Tensors { whole, hashed };

/// Builds the flatbuffer. Every part is made in a separate statement: the order of the bytes is the order in which
/// parts are made, and compilers evaluate arguments in different orders.
class Encoder {
  template <class Enum>
  static std::uint8_t number(Enum value) {
    return static_cast<std::uint8_t>(value);
  }
  static fbs::Range range(const Range& r) { return {r.first, r.count}; }
  static fbs::Link link(const LinkCost& l) { return {l.latency_seconds, l.bytes_per_second}; }
  static std::optional<fbs::Link> unusual(const LinkCost& l, const LinkCost& usual) {
    return l == usual ? std::nullopt : std::optional(link(l));
  }
  static std::optional<fbs::Compute> unusual(const ComputeCosts& c) {
    if (c == ComputeCosts()) return std::nullopt;
    return fbs::Compute(c.call, c.wait, c.memory_byte, c.cache_byte, c.cache_bytes, c.product_flop, c.convolution_flop,
                        c.reduction_flop, c.element_flop, c.parallel_flops, c.parallel_bytes);
  }
  static fbs::MemberRef member(const MemberRef& m) { return {m.value, number(m.by)}; }

  template <class T, class F>
  auto tables(const std::vector<T>& items, F one) {
    std::vector<decltype(one(items.front()))> offsets;
    offsets.reserve(items.size());
    for (const T& item : items) offsets.push_back(one(item));
    return out_.CreateVector(offsets);
  }

  template <class T, class F>
  auto structs(const std::vector<T>& items, F one) {
    using S = decltype(one(items.front()));
    // CreateUninitializedVectorOfStructs is not used because it aligns to the size of S even if this is no power of
    // two.
    return out_.CreateVectorOfStructs<S>(items.size(), [&](std::size_t i, S* place) { *place = one(items[i]); });
  }

  auto encode_strings(const StringList& strings) {
    std::vector<flatbuffers::Offset<flatbuffers::String>> offsets;
    offsets.reserve(strings.size());
    for (std::size_t i = 0; i < strings.size(); ++i)
      offsets.push_back(out_.CreateString(strings[i].data(), strings[i].size()));
    return out_.CreateVector(offsets);
  }

 public:
  explicit Encoder(Tensors tensors) : tensors_(tensors) {}

  std::span<const std::byte> encode(const Plan& plan) {
    const auto topology = encode_topology(plan.topology);
    const auto strings = encode_strings(plan.strings);
    const auto lines = structs(plan.lines, [](const PlanLine& l) { return fbs::Line(l.file, l.line); });
    const auto attrs = tables(plan.attrs, [&](const Attrs& a) { return encode_attrs(a); });
    const auto groupings = tables(plan.groupings, [&](const Grouping& g) { return encode_grouping(g); });
    const auto windows = tables(plan.windows, [&](const Window& w) { return encode_window(w); });
    const auto feeds = tables(plan.feeds, [&](const PlanPort& p) { return encode_port(p); });
    const auto fetches = tables(plan.fetches, [&](const PlanPort& p) { return encode_port(p); });
    const auto channels = structs(plan.channels, [](const Channel& c) {
      return fbs::Channel(c.bytes, c.from, c.to, c.slots, c.name, c.line, number(c.dtype), c.put);
    });
    const auto schedules = tables(plan.schedules, [&](const Schedule& s) { return encode_schedule(s); });
    const auto collectives = tables(plan.collectives, [&](const Collective& c) { return encode_collective(c); });
    const auto classes = tables(plan.classes, [&](const PlanClass& c) { return encode_class(c); });
    const auto class_of = out_.CreateVector(plan.class_of);
    out_.Finish(fbs::CreatePlan(out_, topology, strings, lines, attrs, groupings, windows, feeds, fetches, channels,
                                schedules, collectives, classes, class_of, plan.bucket_bytes.value_or(-1)));
    return std::as_bytes(std::span(out_.GetBufferPointer(), out_.GetSize()));
  }

 private:
  Offset<fbs::Topology> encode_topology(const Topology& topology) {
    const auto tasks = tables(topology.tasks, [&](const TaskInfo& t) {
      const auto job = out_.CreateString(t.job);
      const auto host_name = out_.CreateString(t.host_name);
      return fbs::CreateTask(out_, job, t.index_in_job, t.host, host_name, t.threads, t.gpus, t.memory_bytes,
                             t.host_memory_bytes, t.memory_group, t.gpu_memory_bytes, t.gpu_group, t.gpu_regions);
    });
    const fbs::Link on_host = link(topology.on_host);
    const fbs::Link between = link(topology.between_hosts);
    const Topology usual;
    const auto host_gpu = unusual(topology.host_gpu, usual.host_gpu);
    const auto gpus_on_host = unusual(topology.gpus_on_host, usual.gpus_on_host);
    const auto gpus_between = unusual(topology.gpus_between_hosts, usual.gpus_between_hosts);
    const auto sums = [](const std::optional<LinkCost>& l) { return l ? std::optional(link(*l)) : std::nullopt; };
    const auto sums_on_host = sums(topology.sums_on_host);
    const auto sums_between = sums(topology.sums_between_hosts);
    const auto compute = unusual(topology.compute);
    const auto pointer = [](const auto& given) { return given ? &*given : nullptr; };
    return fbs::CreateTopology(out_, tasks, &on_host, &between, pointer(host_gpu), pointer(gpus_on_host),
                               pointer(gpus_between), pointer(sums_on_host), pointer(sums_between), pointer(compute));
  }

  Offset<fbs::Attrs> encode_attrs(const Attrs& attrs) {
    std::vector<Offset<fbs::Attr>> items;
    for (const auto& [name, value] : attrs) items.push_back(encode_attr(name, value));
    const auto all = out_.CreateVector(items);
    return fbs::CreateAttrs(out_, all);
  }

  Offset<fbs::Attr> encode_attr(const std::string& name, const AttrValue& value) {
    const auto name_at = out_.CreateString(name);
    struct Fields {
      Vector<std::int64_t> ints;
      Vector<double> floats;
      Offset<flatbuffers::String> text;
      Vector<Offset<fbs::Dim>> dims;
      std::uint8_t dtype = 0;
      Vector<std::uint8_t> bytes;
    } fields;
    struct Visitor {
      Encoder& encoder;
      Fields& fields;
      flatbuffers::FlatBufferBuilder& out = encoder.out_;
      void integer(std::int64_t v) const { fields.ints = out.CreateVector(&v, 1); }
      void operator()(bool v) const { integer(v ? 1 : 0); }
      void operator()(std::int64_t v) const { integer(v); }
      void operator()(double v) const { fields.floats = out.CreateVector(&v, 1); }
      void operator()(const std::string& v) const { fields.text = out.CreateString(v); }
      void operator()(const Ints& v) const { fields.ints = out.CreateVector(v); }
      void operator()(const Floats& v) const { fields.floats = out.CreateVector(v); }
      void operator()(DType v) const { integer(number(v)); }
      void operator()(const Shape& v) const { fields.dims = encoder.encode_dims(v); }
      void operator()(const Tensor& v) const {
        fields.ints = out.CreateVector(v.sizes());
        fields.dtype = number(v.dtype());
        fields.bytes = encoder.encode_bytes(v);
      }
      void operator()(SubgraphRef v) const { integer(v.index); }
    };
    std::visit(Visitor{*this, fields}, value);
    return fbs::CreateAttr(out_, name_at, static_cast<std::uint8_t>(value.index()), fields.ints, fields.floats,
                           fields.text, fields.dims, fields.dtype, fields.bytes);
  }

  Vector<Offset<fbs::Dim>> encode_dims(const Shape& shape) {
    return tables(shape.dims(), [&](const Dim& d) {
      const auto symbol = d.symbol().empty() ? Offset<flatbuffers::String>() : out_.CreateString(d.symbol());
      return fbs::CreateDim(out_, d.size(), d.bounded(), symbol);
    });
  }

  Vector<std::uint8_t> encode_bytes(const Tensor& tensor) {
    if (tensors_ == Tensors::whole)
      return out_.CreateVector(reinterpret_cast<const std::uint8_t*>(tensor.bytes().data()), tensor.bytes().size());
    const std::uint64_t hash = hash64(tensor.bytes());
    std::uint8_t bytes[sizeof hash];
    std::memcpy(bytes, &hash, sizeof hash);
    return out_.CreateVector(bytes, sizeof bytes);
  }

  Offset<fbs::Grouping> encode_grouping(const Grouping& grouping) {
    const auto groups = tables(grouping, [&](const std::vector<std::int32_t>& tasks) {
      const auto list = out_.CreateVector(tasks);
      return fbs::CreateGroup(out_, list);
    });
    return fbs::CreateGrouping(out_, groups);
  }

  Offset<fbs::Window> encode_window(const Window& window) {
    const auto sizes = out_.CreateVector(window.sizes);
    const auto splits = structs(window.splits, [](const SplitDim& s) { return fbs::SplitDim(s.dim, s.grouping); });
    if (window.has == Window::Has::part) return fbs::CreateWindow(out_, sizes, splits);
    const auto encoded = [](std::uint32_t dim, const Reads& r) {
      return fbs::RowsRead(dim, fbs::Reads(r.begin, r.step, r.size), r.extent,
                           fbs::Covering(r.windows.begin, r.windows.step, r.windows.extent));
    };
    const auto rows = structs(window.rows, [&](const RowsRead& r) { return encoded(r.dim, r.reads); });
    const auto reads = structs(window.reads, [&](const Reads& r) { return encoded(window.halo_dim, r); });
    return fbs::CreateWindow(out_, sizes, splits, number(window.has), window.halo_dim, 0, rows, reads);
  }

  Offset<fbs::Port> encode_port(const PlanPort& port) {
    const auto sizes = out_.CreateVector(port.sizes);
    return fbs::CreatePort(out_, port.name, port.task, number(port.dtype), sizes, port.bounded, port.window);
  }

  Offset<fbs::Schedule> encode_schedule(const Schedule& schedule) {
    const auto algorithm = out_.CreateString(schedule.algorithm);
    const auto steps = structs(schedule.steps, [](const ScheduleStep& s) {
      return fbs::Step(number(s.kind), member(s.peer), member(s.part), s.only, s.except, s.slot, s.source);
    });
    return fbs::CreateSchedule(out_, number(schedule.kind), algorithm, schedule.members, schedule.root, schedule.slots,
                               steps, schedule.guest_root, schedule.whole, schedule.in_place, number(schedule.via),
                               schedule.period);
  }

  Offset<fbs::Collective> encode_collective(const Collective& c) {
    const auto parts = out_.CreateVector(c.parts);
    return fbs::CreateCollective(out_, c.schedule, c.grouping, number(c.reduce), number(c.dtype), parts, c.name, c.line,
                                 c.gpu);
  }

  Offset<fbs::Class> encode_class(const PlanClass& role) {
    const auto devices = structs(role.devices, [](const PlanDevice& d) {
      return fbs::Device(d.step_bytes, d.state_bytes, number(d.kind), d.index);
    });
    std::vector<std::int64_t> all_sizes;
    const auto buffers = structs(role.buffers, [&](const Buffer& b) {
      const Range sizes{static_cast<std::uint32_t>(all_sizes.size()), static_cast<std::uint32_t>(b.sizes.size())};
      all_sizes.insert(all_sizes.end(), b.sizes.begin(), b.sizes.end());
      return fbs::Buffer(b.offset, b.bytes, range(sizes), b.device, b.window, b.view_of, b.name, number(b.space),
                         number(b.dtype), b.bounded);
    });
    const auto sizes = out_.CreateVector(all_sizes);
    const auto operands = out_.CreateVector<std::uint32_t>(
        role.operands.size(), [&](std::size_t k) -> std::uint32_t { return role.operands[k]; });
    const auto waits = structs(role.waits, [](const Wait& w) { return fbs::Wait(w.strand, w.count); });
    const auto instructions = structs(role.instructions, [](const Instruction& i) {
      return fbs::Instruction(number(i.what), i.strand, i.op, i.name, i.attrs, i.line, i.target, i.other,
                              range(i.inputs), range(i.outputs), i.in_place, i.scratch, range(i.waits));
    });
    const auto regions =
        structs(role.regions, [](const Region& r) { return fbs::Region(number(r.kind), range(r.instructions)); });
    const auto variables =
        structs(role.variables, [](const PlanVariable& v) { return fbs::Variable(v.name, v.buffer); });
    const auto queues = structs(role.queues, [](const PlanQueue& q) { return fbs::Queue(q.device, number(q.role)); });
    Offset<flatbuffers::Vector<const fbs::Turns*>> turns;
    if (!role.serving.turns.empty())
      turns = structs(role.serving.turns,
                      [](const Serving::Turns& t) { return fbs::Turns(t.worker, range(t.give), range(t.take)); });
    const auto stretches = structs(role.stretches, range);
    return fbs::CreateClass(out_, devices, buffers, sizes, operands, waits, instructions, regions, variables,
                            role.threads, queues, role.serving.staleness, turns, stretches);
  }

  Tensors tensors_;
  flatbuffers::FlatBufferBuilder out_{1 << 16};
};

std::uint64_t tensor_bytes(const Plan& plan) {
  std::uint64_t total = 0;
  for (const Attrs& attrs : plan.attrs)
    for (const auto& item : attrs)
      if (const auto* tensor = std::get_if<Tensor>(&item.second)) total += tensor->bytes().size();
  return total;
}

/// An upper bound of the file's bytes, without its tensors.
std::uint64_t table_bytes(const Plan& plan) {
  constexpr std::uint64_t kEach = 256;  // more than the fields of any entry take
  std::uint64_t total = kEach * (16 + plan.topology.tasks.size() + plan.attrs.size() + plan.channels.size() +
                                 plan.lines.size() + plan.feeds.size() + plan.fetches.size() + plan.windows.size());
  for (std::size_t i = 0; i < plan.strings.size(); ++i) total += plan.strings[i].size() + 16;
  for (const Grouping& grouping : plan.groupings)
    for (const auto& group : grouping) total += kEach + 4 * group.size();
  for (const Schedule& schedule : plan.schedules) total += kEach + sizeof(fbs::Step) * schedule.steps.size();
  for (const Collective& collective : plan.collectives) total += kEach + 8 * collective.parts.size();
  for (const PlanClass& role : plan.classes)
    total += kEach + (sizeof(fbs::Buffer) + 64) * role.buffers.size() + 4 * role.operands.size() +
             8 * role.waits.size() + sizeof(fbs::Instruction) * role.instructions.size();
  return total;
}

void check_size(std::uint64_t bytes) {
  if (bytes > kMaxPlanBytes)
    throw Error(Code::resource, "this plan takes {} bytes, a plan file at most {}", bytes, kMaxPlanBytes)
        .hint("keep large constants in variables that are loaded with --model");
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

std::vector<std::byte> encode_plan(const Plan& plan) {
  check_size(table_bytes(plan) + tensor_bytes(plan));
  Encoder encoder(Tensors::whole);
  const std::span<const std::byte> body = encoder.encode(plan);
  std::vector<std::byte> bytes(kPlanHeadBytes);
  std::memcpy(bytes.data(), kPlanMagic.data(), kPlanMagic.size());
  put<std::uint32_t>(bytes, 8, kPlanVersion);
  put<std::uint64_t>(bytes, 16, body.size());
  put<std::uint64_t>(bytes, 24, hash64(body, kPlanVersion));
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

std::uint64_t fingerprint(const Plan& plan) {
  check_size(table_bytes(plan));
  Encoder encoder(Tensors::hashed);
  return hash64(encoder.encode(plan), kPlanVersion);
}

}  // namespace ferry
