#include "executor/session/prepared_plans.hpp"

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "executor/job/difference.hpp"
#include "kernels/kernel.hpp"

namespace ferry {
namespace {

/// The bucket sizes in bytes that candidates() tries besides the session's own: 0 (no buckets), then from a few pages
/// to what keeps any link busy.
constexpr std::int64_t kSizes[] = {0, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26};

std::vector<std::string> lines_of(const Plan& plan) {
  std::vector<std::string> lines;
  for (const PlanClass& c : plan.classes)
    for (const Instruction& i : c.instructions) {
      std::string line = std::string(name_of(i.what)) + " " + std::string(plan.string(i.op)) + " '" +
                         escaped(plan.string(i.name)) + "'";
      for (const Range range : {i.inputs, i.outputs})
        for (const std::uint32_t b : c.operands_of(range)) {
          const Buffer& buffer = c.buffers[b];
          line += " " + Type{buffer.dtype, Shape(std::span<const std::int64_t>(buffer.sizes))}.str();
        }
      if (i.line != kNone) line += " at " + plan.line(i.line).str();
      lines.push_back(std::move(line));
    }
  return lines;
}

/// Whether two plans of one request send the same messages. They can differ only in which values share a message, which
/// names and sizes show.
bool same_messages(const Plan& a, const Plan& b) {
  return std::equal(a.collectives.begin(), a.collectives.end(), b.collectives.begin(), b.collectives.end(),
                    [&](const Collective& one, const Collective& other) {
                      return a.string(one.name) == b.string(other.name) && one.parts == other.parts;
                    }) &&
         std::equal(a.channels.begin(), a.channels.end(), b.channels.begin(), b.channels.end(),
                    [&](const Channel& one, const Channel& other) {
                      return a.string(one.name) == b.string(other.name) && one.bytes == other.bytes;
                    });
}

}  // namespace

std::string PreparedPlans::key_of(const Graph& graph, const Agreed& agreed) {
  return (graph.entries().empty() ? "restore " : "") + agreed.key;
}

std::shared_ptr<Prepared> PreparedPlans::of(const Graph& graph, const Agreed& agreed) {
  const std::string key = key_of(graph, agreed);
  if (const auto found = prepared_.find({key, bucket_bytes_}); found != prepared_.end()) return found->second;
  return prepared(key, member_.alike([&] { return plans_.get(key, graph, agreed.signature, bucket_bytes_); }));
}

std::shared_ptr<Prepared> PreparedPlans::of(const PlanCache::Shared& planned) {
  if (const auto found = prepared_.find({"plan", bucket_bytes_}); found != prepared_.end()) return found->second;
  return prepared("plan", planned);
}

std::shared_ptr<Prepared> PreparedPlans::prepared(const std::string& key, const PlanCache::Shared& planned) {
  compare(*planned);
  auto fresh = std::make_shared<Prepared>();
  fresh->planned = planned;
  const Plan& plan = planned->result.plan;
  const Cluster::State& cluster = member_.cluster();
  if (cluster.watch && plan.class_for(member_.task()).queues.empty())
    fresh->timer.emplace(plan, member_.task(), planned->fingerprint, cluster.crowded);
  return prepared_[{key, bucket_bytes_}] = std::move(fresh);
}

void PreparedPlans::compare(const PlanCache::Planned& planned) {
  member_.together([&] {
    const auto all = member_.exchange(std::to_string(planned.fingerprint));
    const auto is_same = [&](const std::string& other) { return other == all[0] || other.empty(); };  // it is lost
    if (std::ranges::all_of(all, is_same)) return;
    require_same_library(cpu_kernels().library(), member_.transport(), member_.deadline());
    reject_difference("plans", lines_of(planned.result.plan), member_.transport(), member_.deadline());
  });
}

PreparedPlans::Candidates PreparedPlans::candidates(const Graph& graph, const Agreed& agreed) {
  std::vector<BucketBytes> sizes{bucket_bytes_};
  sizes.insert(sizes.end(), std::begin(kSizes), std::end(kSizes));
  Candidates found;
  std::optional<Error> first_refusal;
  for (const BucketBytes& size : sizes) {
    PlanCache::Shared planned;
    try {
      planned = plans_.get(key_of(graph, agreed), graph, agreed.signature, size);
    } catch (const Error& error) {
      if (error.code() != Code::plan) throw;
      if (!first_refusal) first_refusal = error;
      ++found.refused;
      continue;
    }
    const bool known = std::any_of(found.plans.begin(), found.plans.end(), [&](const auto& other) {
      return same_messages(planned->result.plan, other->result.plan);
    });
    if (known) continue;
    compare(*planned);
    found.plans.push_back(std::move(planned));
  }
  if (found.plans.empty()) throw member_.cluster().found_by_all(*first_refusal);
  return found;
}

void PreparedPlans::use(BucketBytes bucket_bytes) {
  bucket_bytes_ = bucket_bytes;
  plans_.keep(bucket_bytes_);
  std::erase_if(prepared_, [&](const auto& entry) { return entry.first.second != bucket_bytes_; });
}

}  // namespace ferry
