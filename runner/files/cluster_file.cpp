#include "runner/files/cluster_file.hpp"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/system/log.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"
#include "executor/cluster.hpp"
#include "kernels/kernel.hpp"
#include "runner/ferry_cluster.pb.h"

namespace ferry {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::uint32_t kMostGpus = 1024;  // per task
constexpr const char* kHint = "docs/reference/cluster_format.md says how it is written";

/// Keeps the first error of the parser.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty())
      text = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": " + message;
  }

  std::string text;
};

constexpr double kMost = ComputeCosts::kMostPicoseconds;
/// The range of picoseconds for a flop or a byte, and the least bandwidth in bytes per second. Planned times are 63-bit
/// numbers of picoseconds: on a slower machine, the time of a long step would not fit.
constexpr double kLeastOfUnit = 1e-6, kMostOfUnit = 1e6, kLeastBandwidth = 1e3;
constexpr ComputeFigure kFigures[] = {
    {"call_ps", &ComputeCosts::call, 0, kMost},
    {"wait_ps", &ComputeCosts::wait, 0, kMost},
    {"memory_byte_ps", &ComputeCosts::memory_byte, kLeastOfUnit, kMostOfUnit},
    {"cache_byte_ps", &ComputeCosts::cache_byte, kLeastOfUnit, kMostOfUnit},
    {"cache_bytes", &ComputeCosts::cache_bytes, 0, ComputeCosts::kMostCacheBytes},
    {"product_flop_ps", &ComputeCosts::product_flop, kLeastOfUnit, kMostOfUnit},
    {"convolution_flop_ps", &ComputeCosts::convolution_flop, kLeastOfUnit, kMostOfUnit},
    {"reduction_flop_ps", &ComputeCosts::reduction_flop, kLeastOfUnit, kMostOfUnit},
    {"element_flop_ps", &ComputeCosts::element_flop, kLeastOfUnit, kMostOfUnit},
    {"parallel_flops", &ComputeCosts::parallel_flops, 0, 1},
    {"parallel_bytes", &ComputeCosts::parallel_bytes, 0, 1}};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  DescribedCluster read() {
    const cluster_file::Cluster file = parsed();
    if (file.host_size() == 0) fail("it has no host");
    DescribedCluster result;
    Topology& topology = result.topology;
    if (file.has_on_host()) topology.on_host = link(file.on_host(), "on_host");
    if (file.has_between_hosts()) topology.between_hosts = link(file.between_hosts(), "between_hosts");
    if (file.has_host_gpu()) topology.host_gpu = link(file.host_gpu(), "host_gpu");
    if (file.has_gpus_on_host()) topology.gpus_on_host = link(file.gpus_on_host(), "gpus_on_host");
    if (file.has_gpus_between_hosts())
      topology.gpus_between_hosts = link(file.gpus_between_hosts(), "gpus_between_hosts");
    if (file.has_sums_on_host()) topology.sums_on_host = link(file.sums_on_host(), "sums_on_host");
    if (file.has_sums_between_hosts())
      topology.sums_between_hosts = link(file.sums_between_hosts(), "sums_between_hosts");
    if (file.has_compute()) topology.compute = compute(file.compute());
    result.origin = {file.compute().ferry(), file.compute().cpu(), file.compute().kernels()};
    std::vector<const google::protobuf::FieldDescriptor*> given;
    file.GetReflection()->ListFields(file, &given);
    result.has_costs = given.size() > 1;  // a field besides the hosts
    for (int i = 0; i < file.host_size(); ++i) add(file.host(i), i, topology);
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::file, "{}: {}", path_, as_is(what)).hint(kHint);
  }

  /// Fails with the line of the field `name` in message `index` of the field `of` (-1: its only message), or with the
  /// line of the message if the field is not there.
  [[noreturn]] void fail_at(const char* of, int index, const char* name, const std::string& what) const {
    const auto* outer = cluster_file::Cluster::descriptor()->FindFieldByName(of);
    const auto* inner = places_.GetTreeForNested(outer, index);
    int line = inner == nullptr ? -1 : inner->GetLocation(outer->message_type()->FindFieldByName(name), -1).line;
    if (line < 0) line = places_.GetLocation(outer, index).line;
    fail("line " + std::to_string(line + 1) + ": " + what);
  }

  cluster_file::Cluster parsed() {
    const FileBytes bytes = local_files().read(path_, kMostBytes);
    const std::string text(reinterpret_cast<const char*>(bytes.span().data()), bytes.span().size());
    cluster_file::Cluster file;
    FirstError first;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&first);
    parser.WriteLocationsTo(&places_);
    constexpr std::size_t kMostText = 400;
    if (!parser.ParseFromString(text, &file)) fail(escaped(first.text, kMostText));
    return file;
  }

  LinkCost link(const cluster_file::Link& given, const char* name) const {
    const LinkCost cost{given.latency_seconds(), given.bytes_per_second()};
    if (!(cost.latency_seconds >= 0 && cost.latency_seconds <= 10))
      fail_at(
          name, -1, "latency_seconds",
          std::string(name) + ": latency_seconds is to be from 0 to 10, not " + digits_text(cost.latency_seconds, 6));
    if (!given.has_bytes_per_second())
      fail_at(name, -1, "bytes_per_second", std::string(name) + " has no bytes_per_second");
    if (!(cost.bytes_per_second >= kLeastBandwidth && cost.bytes_per_second <= 1e15))
      fail_at(name, -1, "bytes_per_second",
              std::string(name) + ": bytes_per_second is to be from 1000 to 1e15, not " +
                  digits_text(cost.bytes_per_second, 6));
    return cost;
  }

  ComputeCosts compute(const cluster_file::Compute& given) const {
    const auto* fields = cluster_file::Compute::descriptor();
    ComputeCosts costs;
    for (const ComputeFigure& figure : kFigures) {
      const auto* field = fields->FindFieldByName(figure.name);
      if (!given.GetReflection()->HasField(given, field)) continue;
      const double value = given.GetReflection()->GetDouble(given, field);
      if (!(value >= figure.least && value <= figure.most))
        fail_at("compute", -1, figure.name,
                "compute: " + std::string(figure.name) + " is to be from " + digits_text(figure.least, 6) + " to " +
                    digits_text(figure.most, 6) + ", not " + digits_text(value, 6));
      costs.*figure.place = value;
    }
    return costs;
  }

  /// Whether `text` is a name: it may have only characters without a special meaning in annotations, messages and
  /// terminals.
  static bool is_name(const std::string& text, std::string_view also) {
    return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
             also.find(c) != std::string_view::npos;
    });
  }

  void add(const cluster_file::Host& host, int index, Topology& topology) {
    const auto wrong = [&](const char* field, const std::string& what) { fail_at("host", index, field, what); };
    if (host.name().empty()) wrong("name", "a host has no name");
    const std::string name = formatted("host '{}'", host.name());
    if (!is_name(host.name(), ".-")) wrong("name", name + ": a name has letters, digits, '.', '-' and '_'");
    if (!is_name(host.job(), "")) wrong("job", name + ": a job's name has letters, digits and '_'");
    if (host.gpus() > kMostGpus)
      wrong("gpus",
            name + ": gpus is to be " + std::to_string(kMostGpus) + " at most, not " + std::to_string(host.gpus()));
    if (host.count() == 0) wrong("count", name + ": count is to be 1 or more, not 0");
    if (host.tasks() == 0) wrong("tasks", name + ": tasks is to be 1 or more, not 0");
    const std::uint64_t tasks = std::uint64_t{host.count()} * host.tasks();
    if (tasks + topology.tasks.size() > kMostTasks)
      wrong("count", name + ": with its " + std::to_string(tasks) + " there are more than " +
                         std::to_string(kMostTasks) + " tasks");
    if (host.threads() == 0 || host.threads() > kMostThreads)
      wrong("threads", name + ": threads is to be from 1 to " + std::to_string(kMostThreads) + ", not " +
                           std::to_string(host.threads()));
    for (std::uint32_t h = 0; h < host.count(); ++h, ++hosts_) {
      const std::string of_this = host.count() == 1 ? host.name() : host.name() + "-" + std::to_string(h);
      if (!names_.insert(of_this).second) wrong("name", "host '" + of_this + "' is there twice");
      for (std::uint32_t t = 0; t < host.tasks(); ++t) {
        TaskInfo task;
        task.job = host.job();
        task.index_in_job = jobs_[task.job]++;
        task.host = hosts_;
        task.host_name = of_this;
        task.threads = static_cast<std::int32_t>(host.threads());
        task.gpus = static_cast<std::int32_t>(host.gpus());
        task.gpu_memory_bytes = host.gpu_memory_bytes();
        task.gpu_regions = task.gpus > 0 && host.gpu_regions();
        task.host_memory_bytes = host.memory_bytes();
        task.gpu_group = host.gpus() > 0 ? 0 : -1;
        task.memory_group = host.shared_memory() ? hosts_ : -1;
        topology.tasks.push_back(std::move(task));
      }
    }
  }

  const std::string& path_;
  google::protobuf::TextFormat::ParseInfoTree places_;
  std::int32_t hosts_ = 0;
  std::set<std::string> names_;
  std::map<std::string, std::int32_t> jobs_;
};

}  // namespace

std::span<const ComputeFigure> compute_figures() {
  return kFigures;
}

DescribedCluster read_cluster(const std::string& path) {
  return Reader(path).read();
}

std::string cluster_text(const Topology& topology, const CostsOrigin& origin) {
  cluster_file::Cluster file;
  std::map<std::int32_t, cluster_file::Host*> hosts;
  for (const TaskInfo& task : topology.tasks) {
    cluster_file::Host*& host = hosts[task.host];
    if (host != nullptr) {
      host->set_tasks(host->tasks() + 1);
      continue;
    }
    host = file.add_host();
    host->set_name(task.host_name);
    host->set_tasks(1);
    host->set_threads(static_cast<std::uint32_t>(task.threads));
    if (task.gpus > 0) {
      host->set_gpus(static_cast<std::uint32_t>(task.gpus));
      if (task.gpu_memory_bytes != 0) host->set_gpu_memory_bytes(task.gpu_memory_bytes);
      if (!task.gpu_regions) host->set_gpu_regions(false);
    }
    if (task.host_memory_bytes != 0) host->set_memory_bytes(task.host_memory_bytes);
    if (task.job != host->job()) host->set_job(task.job);
    if (task.memory_group < 0) host->set_shared_memory(false);
  }
  const auto write = [](const LinkCost& cost, cluster_file::Link* link) {
    link->set_latency_seconds(cost.latency_seconds);
    link->set_bytes_per_second(cost.bytes_per_second);
  };
  const PlanningCosts usual;
  write(topology.on_host, file.mutable_on_host());
  write(topology.between_hosts, file.mutable_between_hosts());
  if (topology.host_gpu != usual.host_gpu) write(topology.host_gpu, file.mutable_host_gpu());
  if (topology.gpus_on_host != usual.gpus_on_host) write(topology.gpus_on_host, file.mutable_gpus_on_host());
  if (topology.gpus_between_hosts != usual.gpus_between_hosts)
    write(topology.gpus_between_hosts, file.mutable_gpus_between_hosts());
  if (topology.sums_on_host) write(*topology.sums_on_host, file.mutable_sums_on_host());
  if (topology.sums_between_hosts) write(*topology.sums_between_hosts, file.mutable_sums_between_hosts());
  cluster_file::Compute& compute = *file.mutable_compute();
  if (!origin.ferry.empty()) compute.set_ferry(origin.ferry);
  if (!origin.cpu.empty()) compute.set_cpu(origin.cpu);
  if (!origin.kernels.empty()) compute.set_kernels(origin.kernels);
  for (const ComputeFigure& figure : kFigures)
    compute.GetReflection()->SetDouble(&compute, cluster_file::Compute::descriptor()->FindFieldByName(figure.name),
                                       topology.compute.*figure.place);
  std::string text;
  google::protobuf::TextFormat::PrintToString(file, &text);
  return text;
}

CostsOrigin own_origin() {
  return {FERRY_VERSION, cpu_name(), std::string(cpu_kernels().level())};
}

void warn_of_other_origin(const std::string& path, const CostsOrigin& origin) {
  const CostsOrigin own = own_origin();
  std::vector<std::string> differences;
  const auto compare = [&](const char* what, const std::string& theirs, const std::string& here) {
    if (!theirs.empty() && theirs != here)
      differences.push_back(formatted("{}{:?}, not {:?}", as_is(what), theirs, here));
  };
  compare("by ferry ", origin.ferry, own.ferry);
  compare("on the processor ", origin.cpu, own.cpu);
  compare("with the kernels ", origin.kernels, own.kernels);
  if (!differences.empty())
    log_warn(formatted("the costs in {} were measured {}\n  try: ferry calibrate -o {} on this machine", path,
                       as_is(join(differences, "; ")), path));
}

}  // namespace ferry
