#include "ops/data/host.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kNameBytes = 64;  // Linux's HOST_NAME_MAX

constexpr OpDef kHostName{.name = "HostName",
                          .types = "->uint8",
                          .index = "->[n]",
                          .infer = [](const OpFacts&) { return std::vector<Shape>{Shape{kNameBytes}}; },
                          .flops = 0,
                          .flags = kStateful | kOnce | kLocal,
                          .no_grad = "it has no inputs"};

constexpr const OpDef* kHostOps[] = {&kHostName};

}  // namespace

Value host_name(Graph& graph, source_location at) {
  return graph.add(kHostName, {}, {}, at)[0];
}

std::span<const OpDef* const> host_ops() {
  return kHostOps;
}

}  // namespace ferry
