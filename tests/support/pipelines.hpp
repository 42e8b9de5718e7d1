// Pipelines of equal stages, and the work that they have.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "placement/microbatches/schedule_work.hpp"

namespace ferry::test {

/// A network of stages one after another; stage s is on device at[s].
struct Pipeline {
  std::vector<std::uint32_t> at;
  std::int64_t microbatches = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::int64_t forward = 1, backward = 2, weights = 0;  ///< times; zero_bubble has the weights apart

  using Pass = PipelineWork::Pass;

  [[nodiscard]] std::vector<PipelineWork> work() const {
    const auto stages = static_cast<std::int64_t>(at.size());
    std::vector<PipelineWork> all;
    const auto add = [&](Pass pass, std::int64_t k, std::int64_t stage, std::int64_t time,
                         std::vector<std::uint32_t> needs) {
      const std::int64_t s = pass == Pass::forward ? stage : stages - 1 - stage;
      all.push_back({pass, 0, at[s], k, stage, time, std::move(needs)});
      return static_cast<std::uint32_t>(all.size() - 1);
    };
    for (std::int64_t k = 0; k < microbatches; ++k) {
      std::uint32_t last = 0;
      for (std::int64_t s = 0; s < stages; ++s)
        last = add(Pass::forward, k, s, forward, s == 0 ? std::vector<std::uint32_t>{} : std::vector{last});
      for (std::int64_t s = 0; s < stages; ++s) {
        last = add(Pass::backward, k, s, backward, {last});
        if (schedule == PipelineSchedule::zero_bubble) add(Pass::weights, k, s, weights, {last});
      }
    }
    return all;
  }
};

/// Stages 0, 1, … on `devices` devices, `rounds` times in turn.
inline std::vector<std::uint32_t> in_turn(std::uint32_t devices, int rounds = 1) {
  std::vector<std::uint32_t> at;
  for (int round = 0; round < rounds; ++round)
    for (std::uint32_t d = 0; d < devices; ++d) at.push_back(d);
  return at;
}

/// Stages 0, 1, … on `devices` devices, with the last in the middle, and back to 0.
inline std::vector<std::uint32_t> down_and_back(std::uint32_t devices) {
  std::vector<std::uint32_t> at = in_turn(devices);
  for (std::uint32_t d = devices - 1; d > 0; --d) at.push_back(d - 1);
  return at;
}

}  // namespace ferry::test
