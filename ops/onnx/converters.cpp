#include "ops/onnx/converters.hpp"

#include <algorithm>
#include <vector>

namespace ferry::onnx {
namespace {

bool before(const ConvertOp& a, const ConvertOp& b) {
  return a.op != b.op ? a.op < b.op : a.since < b.since;
}

const std::vector<ConvertOp>& all() {
  static const std::vector<ConvertOp> kAll = [] {
    std::vector<ConvertOp> result;
    for (const auto family :
         {array_converters(),    attention_converters(), control_converters(),  conv_converters(),
          indexing_converters(), linalg_converters(),    loss_converters(),     math_converters(),
          ngram_converters(),    nn_converters(),        norm_converters(),     quantize_converters(),
          random_converters(),   recurrent_converters(), reduce_converters(),   resize_converters(),
          sample_converters(),   scan_converters(),      sequence_converters(), signal_converters(),
          training_converters(), tree_converters()})
      result.insert(result.end(), family.begin(), family.end());
    std::sort(result.begin(), result.end(), before);
    return result;
  }();
  return kAll;
}

}  // namespace

const ConvertOp* find_converter(std::string_view op, std::int64_t version) {
  const ConvertOp wanted{op, version + 1, nullptr};
  const auto after = std::lower_bound(all().begin(), all().end(), wanted, before);
  return after != all().begin() && std::prev(after)->op == op ? &*std::prev(after) : nullptr;
}

std::span<const ConvertOp> all_converters() {
  return all();
}

bool has_converter(std::string_view op) {
  const auto found = std::lower_bound(all().begin(), all().end(), ConvertOp{op, 0, nullptr}, before);
  return found != all().end() && found->op == op;
}

}  // namespace ferry::onnx
