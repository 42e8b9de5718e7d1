#include "runner/run/tuning_text.hpp"

#include <algorithm>

#include "base/number_text.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

std::string name_of(const Tuned::Size& size) {
  if (!size.bucket_bytes) return "buckets as the links suggest";
  if (*size.bucket_bytes == 0) return "each value alone";
  return "buckets of " + human_bytes(static_cast<std::uint64_t>(*size.bucket_bytes));
}

std::string text_of(const Tuned::Size& size) {
  return digits_text(size.seconds * 1e3, 4) + " ms with " + name_of(size);
}

}  // namespace

std::string tuning_text(const Tuned& tuned) {
  if (tuned.sizes.size() == 1 && tuned.refused == 0) return "--tune: no values of the step can share messages";
  if (tuned.sizes.size() == 1)
    return "--tune: of the sizes of messages only " + name_of(tuned.sizes[0]) + " fits the budget and the memory";
  std::vector<Tuned::Size> others = tuned.sizes;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(tuned.chosen));
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  std::vector<std::string> slower;
  slower.reserve(others.size());
  for (const Tuned::Size& size : others) slower.push_back(text_of(size));
  return "--tune: a step takes " + text_of(tuned.sizes[tuned.chosen]) + "; " + join(slower, ", ") +
         (tuned.refused == 0 ? ""
                             : "; " + plural(static_cast<std::uint64_t>(tuned.refused), "size") +
                                   " left out, over the budget or the memory");
}

}  // namespace ferry
