#include "samples/boost/rows.hpp"

#include <ferry/base/compress.hpp>
#include <ferry/base/error.hpp>
#include <ferry/base/text.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace boost_sample {
namespace {

constexpr std::int64_t kMostBins = 256;
constexpr std::int64_t kMostFeatures = 1 << 22;

/// A value of a feature, and the number of entries that have it.
struct Counted {
  std::int32_t feature;
  float value;
  std::int64_t count;
};

/// Sorts the values of several tasks, and joins equal ones by adding their counts.
std::vector<Counted> joined(std::vector<Counted> values) {
  std::sort(values.begin(), values.end(), [](const Counted& a, const Counted& b) {
    return std::tuple(a.feature, a.value) < std::tuple(b.feature, b.value);
  });
  std::size_t end = 0;
  for (const Counted& next : values) {
    if (end > 0 && values[end - 1].feature == next.feature && values[end - 1].value == next.value)
      values[end - 1].count += next.count;
    else
      values[end++] = next;
  }
  values.resize(end);
  return values;
}

/// The values of a part grouped by feature, and the end of each feature's group.
struct ByFeature {
  explicit ByFeature(const ferry::LibsvmRows& part) : values(part.values.size()) {
    for (const std::int32_t index : part.indices) {
      const auto feature = static_cast<std::size_t>(index);
      if (feature >= ends.size()) ends.resize(feature + 1);
      ++ends[feature];
    }
    std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), std::ptrdiff_t{0});
    for (std::size_t i = 0; i < part.values.size(); ++i) values[ends[part.indices[i]]++] = part.values[i];
  }
  std::vector<float> values;
  std::vector<std::ptrdiff_t> ends;
};

/// The distinct values of each feature in the part, sorted and counted.
std::vector<Counted> values_of(const ferry::LibsvmRows& part) {
  ByFeature by(part);
  std::vector<Counted> different;
  auto at = by.values.begin();
  for (std::size_t feature = 0; feature < by.ends.size(); ++feature) {
    const auto end = by.values.begin() + by.ends[feature];
    if (!std::is_sorted(at, end)) std::sort(at, end);
    while (at != end) {
      const auto next = std::find_if(at, end, [&](float value) { return value != *at; });
      different.push_back({static_cast<std::int32_t>(feature), *at, next - at});
      at = next;
    }
  }
  return different;
}

std::vector<Counted> values_of_all(const ferry::LibsvmRows& part, const ferry::Cluster& cluster) {
  const std::vector<Counted> mine = values_of(part);
  std::vector<std::int32_t> features;
  std::vector<float> values;
  std::vector<std::int64_t> counts;
  for (const Counted& v : mine) {
    features.push_back(v.feature);
    values.push_back(v.value);
    counts.push_back(v.count);
  }
  features = cluster.all_gather<std::int32_t>(features);
  values = cluster.all_gather<float>(values);
  counts = cluster.all_gather<std::int64_t>(counts);
  std::vector<Counted> all;
  for (std::size_t i = 0; i < features.size(); ++i) all.push_back({features[i], values[i], counts[i]});
  return joined(std::move(all));
}

/// The cuts of one feature: at each value but the smallest, or at quantiles if there are too many; and one above all.
void add_cuts(std::vector<float>& cuts, std::span<const Counted> values) {
  std::int64_t total = 0, passed = 0, bins = 1;
  for (const Counted& v : values) total += v.count;
  const bool each = static_cast<std::int64_t>(values.size()) <= kMostBins;
  for (std::size_t i = 1; i < values.size(); ++i) {
    passed += values[i - 1].count;
    if (!each && passed * kMostBins < total * bins) continue;
    cuts.push_back(values[i].value);
    bins = each ? bins + 1 : passed * kMostBins / total + 1;
  }
  const float last = values.back().value;
  cuts.push_back(last + (std::fabs(last) + 1e-5F));
}

[[noreturn]] void refuse(const std::string& path, std::int64_t row, const std::string& what, float found,
                         const std::string& wanted) {
  throw ferry::Error(ferry::Code::file, "{:?}: {} of row {} is {}, not {}", path, ferry::as_is(what), row + 1,
                     std::to_string(found), ferry::as_is(wanted));
}

}  // namespace

Rows read_rows(const std::string& path, const ferry::Cluster& cluster) {
  const ferry::FileBytes file = ferry::maybe_decompress(ferry::local_files().read(path), ferry::kNoLimit, path);
  Rows rows;
  rows.all = ferry::libsvm_rows(file.text());
  if (rows.all == 0) throw ferry::Error(ferry::Code::file, "{:?} holds no rows", path);
  const ferry::Part mine = ferry::part_of(rows.all, cluster.size(), cluster.rank());
  rows.first = mine.begin;
  rows.part = ferry::parse_libsvm(file.text(), path, {.features = kMostFeatures}, {mine.begin, mine.size});
  const auto bad_label = std::find_if(rows.part.labels.begin(), rows.part.labels.end(),
                                      [](float label) { return label != 0 && label != 1; });
  if (bad_label != rows.part.labels.end())
    refuse(path, rows.first + (bad_label - rows.part.labels.begin()), "the label", *bad_label, "0 or 1");
  const auto bad =
      std::find_if(rows.part.values.begin(), rows.part.values.end(), [](float v) { return !std::isfinite(v); });
  const auto after =
      std::upper_bound(rows.part.offsets.begin(), rows.part.offsets.end(), bad - rows.part.values.begin());
  if (bad != rows.part.values.end())
    refuse(path, rows.first + (after - rows.part.offsets.begin()) - 1, "a value", *bad, "a finite number");
  return rows;
}

std::uint32_t Cuts::bin_of(std::int32_t feature, float value) const {
  const auto f = static_cast<std::size_t>(feature);
  const auto begin = cuts.begin() + begins[f], end = cuts.begin() + begins[f + 1];
  return static_cast<std::uint32_t>(std::min(std::upper_bound(begin, end, value), end - 1) - cuts.begin());
}

Cuts make_cuts(const ferry::LibsvmRows& part, const ferry::Cluster& cluster) {
  const std::vector<Counted> all = values_of_all(part, cluster);
  const std::int32_t features = all.empty() ? 0 : all.back().feature + 1;
  Cuts result;
  std::size_t at = 0;
  for (std::int32_t feature = 0; feature < features; ++feature) {
    result.begins.push_back(static_cast<std::uint32_t>(result.cuts.size()));
    const std::size_t begin = at;
    while (at < all.size() && all[at].feature == feature) ++at;
    result.below.push_back(0);
    if (begin == at) continue;
    const float least = all[begin].value;
    result.below.back() = least - (std::fabs(least) + 1e-5F);
    add_cuts(result.cuts, std::span(all).subspan(begin, at - begin));
  }
  result.begins.push_back(static_cast<std::uint32_t>(result.cuts.size()));
  return result;
}

}  // namespace boost_sample
