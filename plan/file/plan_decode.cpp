#include "plan/file/plan_decode.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "plan/plan_generated.h"

namespace ferry {
namespace {

[[noreturn]] void malformed(const std::string& why) {
  throw Error(Code::file, "not a well-formed plan: " + why);
}

/// Turns flatbuffers tables that have passed their verifier into a Plan. Numbers are copied unchecked;
/// check_structure() checks them later.
class Decoder {
  template <class V, class F>
  static auto list(const V& items, F one) {
    std::vector<decltype(one(*items.Get(0)))> result;
    result.reserve(items.size());
    for (const auto* item : items) result.push_back(one(*item));
    return result;
  }
  /// Copies each struct before it is read: in a damaged file its address may be misaligned.
  template <class T, class F>
  static auto list(const flatbuffers::Vector<const T*>& items, F one) {
    std::vector<decltype(one(std::declval<const T&>()))> result;
    result.reserve(items.size());
    for (flatbuffers::uoffset_t k = 0; k < items.size(); ++k) {
      T item;
      std::memcpy(static_cast<void*>(&item), items.Data() + k * sizeof(T), sizeof(T));
      result.push_back(one(item));
    }
    return result;
  }
  template <class T>
  static std::vector<T> numbers(const flatbuffers::Vector<T>& items) {
    std::vector<T> result(items.size());
    if (!result.empty()) std::memcpy(result.data(), items.Data(), result.size() * sizeof(T));
    for (T& number : result) number = flatbuffers::EndianScalar(number);
    return result;
  }

 public:
  explicit Decoder(const fbs::Plan& file) : file_(file) {}

  Plan decode() {
    Plan plan;
    plan.topology = topology(*file_.topology());
    for (const auto* text : *file_.strings()) plan.strings.push_back({text->data(), text->size()});
    plan.lines = list(*file_.lines(), [](const fbs::Line& l) { return PlanLine{l.file(), l.line()}; });
    plan.attrs = list(*file_.attrs(), attrs);
    plan.groupings = list(*file_.groupings(), grouping);
    plan.windows = list(*file_.windows(), window);
    plan.feeds = list(*file_.feeds(), port);
    plan.fetches = list(*file_.fetches(), port);
    plan.channels = list(*file_.channels(), [](const fbs::Channel& c) {
      return Channel{c.from(), c.to(), dtype(c.dtype()), c.bytes(), c.slots(), c.name(), c.line(), c.put()};
    });
    plan.schedules = list(*file_.schedules(), schedule);
    plan.collectives = list(*file_.collectives(), collective);
    plan.classes = list(*file_.classes(), role);
    plan.class_of = numbers(*file_.class_of());
    if (file_.bucket_bytes() < -1) malformed("the size of its buckets is " + std::to_string(file_.bucket_bytes()));
    if (file_.bucket_bytes() >= 0) plan.bucket_bytes = file_.bucket_bytes();
    return plan;
  }

 private:
  static DType dtype(std::uint32_t value) {
    for (DType known : kDTypes)
      if (static_cast<std::uint32_t>(known) == value) return known;
    malformed("dtype number " + std::to_string(value) + " is unknown");
  }
  /// The enum's value with this number. Throws Error(file) if the number is above `last`.
  template <class Enum>
  static Enum one_of(std::uint32_t value, Enum last) {
    if (value > static_cast<std::uint32_t>(last)) malformed("the number " + std::to_string(value) + " names no kind");
    return static_cast<Enum>(value);
  }
  static Range range(const fbs::Range& r) { return {r.begin(), r.count()}; }
  static LinkCost link(const fbs::Link& l) { return {l.latency_seconds(), l.bytes_per_second()}; }
  static ComputeCosts compute(const fbs::Compute& c) {
    const auto figure = [](double value, double most) {
      if (!(value >= 0 && value <= most)) malformed("its costs of computing have a figure out of range");
      return value;
    };
    const auto time = [&](double picoseconds) { return figure(picoseconds, ComputeCosts::kMostPicoseconds); };
    return {.call = time(c.call()),
            .wait = time(c.wait()),
            .memory_byte = time(c.memory_byte()),
            .cache_byte = time(c.cache_byte()),
            .cache_bytes = figure(c.cache_bytes(), ComputeCosts::kMostCacheBytes),
            .product_flop = time(c.product_flop()),
            .convolution_flop = time(c.convolution_flop()),
            .reduction_flop = time(c.reduction_flop()),
            .element_flop = time(c.element_flop()),
            .parallel_flops = figure(c.parallel_flops(), 1),
            .parallel_bytes = figure(c.parallel_bytes(), 1)};
  }
  static MemberRef member(const fbs::MemberRef& m) { return {one_of(m.by(), MemberRef::By::flip), m.value()}; }

  static Topology topology(const fbs::Topology& t) {
    Topology result;
    result.tasks = list(*t.tasks(), [](const fbs::Task& task) {
      return TaskInfo{.job = task.job()->str(),
                      .index_in_job = task.index_in_job(),
                      .host = task.host(),
                      .host_name = task.host_name()->str(),
                      .threads = task.threads(),
                      .gpus = task.gpus(),
                      .gpu_memory_bytes = task.gpu_memory_bytes(),
                      .gpu_regions = task.gpu_regions(),
                      .memory_bytes = task.memory_bytes(),
                      .host_memory_bytes = task.host_memory_bytes(),
                      .memory_group = task.memory_group(),
                      .gpu_group = task.gpu_group()};
    });
    result.on_host = link(*t.on_host());
    result.between_hosts = link(*t.between_hosts());
    if (t.host_gpu() != nullptr) result.host_gpu = link(*t.host_gpu());
    if (t.gpus_on_host() != nullptr) result.gpus_on_host = link(*t.gpus_on_host());
    if (t.gpus_between_hosts() != nullptr) result.gpus_between_hosts = link(*t.gpus_between_hosts());
    if (t.sums_on_host() != nullptr) result.sums_on_host = link(*t.sums_on_host());
    if (t.sums_between_hosts() != nullptr) result.sums_between_hosts = link(*t.sums_between_hosts());
    if (t.compute() != nullptr) result.compute = compute(*t.compute());
    return result;
  }

  static Attrs attrs(const fbs::Attrs& a) {
    Attrs result;
    for (const fbs::Attr* item : *a.items()) {
      const std::string name = item->name()->str();
      if (result.has(name)) malformed(formatted("attribute '{}' is there twice", name));
      result.set(name, attr(*item));
    }
    return result;
  }

  template <class T>
  static const T& need(const T* field, const fbs::Attr& attr) {
    if (field == nullptr) malformed(formatted("attribute '{}' has no value", attr.name()->string_view()));
    return *field;
  }
  static std::int64_t integer(const fbs::Attr& attr) {
    const auto& ints = need(attr.ints(), attr);
    if (ints.size() != 1) malformed(formatted("attribute '{}' has several values", attr.name()->string_view()));
    return ints.Get(0);
  }
  static double real(const fbs::Attr& attr) {
    const auto& floats = need(attr.floats(), attr);
    if (floats.size() != 1) malformed(formatted("attribute '{}' has several values", attr.name()->string_view()));
    return floats.Get(0);
  }

  static AttrValue attr(const fbs::Attr& a) {
    switch (a.kind()) {
      case 0:
        return integer(a) != 0;
      case 1:
        return integer(a);
      case 2:
        return real(a);
      case 3:
        return need(a.text(), a).str();
      case 4:
        return numbers(need(a.ints(), a));
      case 5:
        return numbers(need(a.floats(), a));
      case 6:
        return dtype(static_cast<std::uint32_t>(integer(a)));
      case 7:
        return shape(need(a.dims(), a));
      case 8:
        return tensor(a);
      case 9:
        return SubgraphRef{static_cast<std::uint32_t>(integer(a))};
      default:
        malformed(formatted("attribute '{}' has the unknown type {}", a.name()->string_view(), a.kind()));
    }
  }

  static Shape shape(const flatbuffers::Vector<flatbuffers::Offset<fbs::Dim>>& dims) {
    return Shape(list(dims, [](const fbs::Dim& d) -> Dim {
      if (d.size() < -1 || (d.size() == -1 && d.bounded())) malformed("a dim of " + std::to_string(d.size()));
      if (d.bounded()) return Dim::at_most(d.size());
      if (d.size() >= 0) return Dim(d.size());
      return d.symbol() == nullptr ? Dim::unknown() : Dim(d.symbol()->string_view());
    }));
  }

  static Tensor tensor(const fbs::Attr& a) {
    const auto& stored = need(a.bytes(), a);
    return Tensor::copy_of(dtype(a.dtype()), numbers(need(a.ints(), a)),
                           std::as_bytes(std::span(stored.data(), stored.size())));
  }

  static Grouping grouping(const fbs::Grouping& g) {
    return list(*g.groups(), [](const fbs::Group& group) { return numbers(*group.tasks()); });
  }
  static Reads reads(const fbs::RowsRead& r) {
    const fbs::Covering& w = r.windows();
    return {r.reads().begin(), r.reads().step(), r.reads().size(), r.extent(), {w.begin(), w.step(), w.extent()}};
  }
  static Window window(const fbs::Window& w) {
    Window result;
    result.sizes = numbers(*w.sizes());
    result.splits = list(*w.splits(), [](const fbs::SplitDim& s) { return SplitDim{s.dim(), s.grouping()}; });
    result.has = one_of(w.has(), Window::Has::read);
    if (result.has == Window::Has::part) return result;
    result.halo_dim = w.halo_dim();
    if (w.reads() != nullptr)
      result.reads = list(*w.reads(), [](const fbs::Reads& r) { return Reads{r.begin(), r.step(), r.size()}; });
    else if (w.rows() != nullptr && w.all_reads() != nullptr) {
      result.rows = list(*w.rows(), [](const fbs::RowsRead& r) { return RowsRead{r.dim(), reads(r)}; });
      result.reads = list(*w.all_reads(), [](const fbs::RowsRead& r) { return reads(r); });
    } else {
      malformed("a window without its reads");
    }
    return result;
  }
  static PlanPort port(const fbs::Port& p) {
    return {p.name(), p.task(), dtype(p.dtype()), numbers(*p.sizes()), p.bounded(), p.window()};
  }

  static Schedule schedule(const fbs::Schedule& s) {
    Schedule result;
    result.kind = one_of(s.kind(), CollectiveKind::reduce);
    result.algorithm = s.algorithm()->str();
    result.members = s.members();
    result.root = s.root();
    result.guest_root = s.guest_root();
    result.whole = s.whole();
    result.in_place = s.in_place();
    result.via = one_of(s.via(), Via::library);
    result.slots = s.slots();
    result.period = s.period();
    result.steps = list(*s.steps(), [](const fbs::Step& step) {
      return ScheduleStep{one_of(step.kind(), ScheduleStep::Kind::join),
                          member(step.peer()),
                          member(step.part()),
                          step.only(),
                          step.except(),
                          step.slot(),
                          step.source()};
    });
    return result;
  }

  static Collective collective(const fbs::Collective& c) {
    return {
        c.schedule(), c.grouping(), one_of(c.reduce(), Reduce::min), dtype(c.dtype()), numbers(*c.parts()), c.name(),
        c.line(),     c.gpu()};
  }

  static PlanClass role(const fbs::Class& c) {
    const auto& sizes = *c.sizes();
    PlanClass result;
    result.devices = list(*c.devices(), [](const fbs::Device& d) {
      return PlanDevice{one_of(d.kind(), DeviceKind::gpu), d.index(), d.step_bytes(), d.state_bytes()};
    });
    result.buffers = list(*c.buffers(), [&](const fbs::Buffer& b) { return buffer(b, sizes); });
    result.operands.assign(c.operands()->begin(), c.operands()->end());
    result.waits = list(*c.waits(), [](const fbs::Wait& w) { return Wait{w.strand(), w.count()}; });
    result.instructions = list(*c.instructions(), [](const fbs::Instruction& i) {
      return Instruction{one_of(i.what(), Opcode::stencil),
                         0,
                         i.strand(),
                         i.op(),
                         i.name(),
                         i.attrs(),
                         i.line(),
                         i.target(),
                         i.other(),
                         range(i.inputs()),
                         range(i.outputs()),
                         i.in_place(),
                         i.scratch(),
                         range(i.waits())};
    });
    result.regions = list(*c.regions(), [](const fbs::Region& r) {
      return Region{one_of(r.kind(), Region::Kind::tile), range(r.instructions())};
    });
    result.variables = list(*c.variables(), [](const fbs::Variable& v) { return PlanVariable{v.name(), v.buffer()}; });
    result.threads = c.threads();
    result.queues = list(*c.queues(), [](const fbs::Queue& q) {
      return PlanQueue{q.device(), one_of(q.role(), PlanQueue::Role::collective)};
    });
    result.stretches = list(*c.stretches(), [](const fbs::Range& r) { return range(r); });
    result.serving.staleness = c.staleness();
    if (c.turns() != nullptr)
      result.serving.turns = list(*c.turns(), [](const fbs::Turns& t) {
        return Serving::Turns{t.worker(), range(t.give()), range(t.take())};
      });
    return result;
  }

  static Buffer buffer(const fbs::Buffer& b, const flatbuffers::Vector<std::int64_t>& sizes) {
    if (std::uint64_t{b.sizes().begin()} + b.sizes().count() > sizes.size())
      malformed("the sizes of a buffer lie outside their table");
    Buffer result;
    result.space = one_of(b.space(), Buffer::Space::tile);
    result.device = b.device();
    result.offset = b.offset();
    result.bytes = b.bytes();
    result.dtype = dtype(b.dtype());
    std::vector<std::int64_t> dims;
    for (std::uint32_t i = 0; i < b.sizes().count(); ++i) dims.push_back(sizes.Get(b.sizes().begin() + i));
    result.sizes = std::move(dims);
    result.bounded = b.bounded();
    result.window = b.window();
    result.view_of = b.view_of();
    result.name = b.name();
    return result;
  }

  const fbs::Plan& file_;
};

}  // namespace

Plan decode_unchecked(std::span<const std::byte> body) {
  // A copy with the alignment that flatbuffers needs.
  const std::vector<std::uint64_t> aligned = [&] {
    std::vector<std::uint64_t> words((body.size() + 7) / 8);
    std::copy(body.begin(), body.end(), reinterpret_cast<std::byte*>(words.data()));
    return words;
  }();
  const auto* start = reinterpret_cast<const std::uint8_t*>(aligned.data());
  constexpr int kDepth = 16;
  flatbuffers::Verifier verifier(start, body.size(), kDepth, static_cast<flatbuffers::uoffset_t>(body.size() / 4 + 1));
  if (!verifier.VerifyBuffer<fbs::Plan>(nullptr)) malformed("an offset leads outside the file");
  return Decoder(*flatbuffers::GetRoot<fbs::Plan>(start)).decode();
}

}  // namespace ferry
