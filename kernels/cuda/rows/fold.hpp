// Reductions on a GPU, in stages. Each stage folds the middle dim of [outer, along, inner]. If that dim is long, blocks
// fold chunks of it, and the next stage folds the results of the chunks.
//
// A struct `How` defines the fold: the type Value of results, start(), value(element, its place in the dim), join(a,
// b), and put(where, value).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cuda/rows/tiling.hpp"
#include "kernels/shared/state.hpp"
#include "kernels/widening.hpp"

namespace ferry::cuda {

/// Folds [outer, along, inner] to [outer, chunks, inner].
struct Stage {
  Tiling tiling;
  std::int64_t chunk, chunks;
  [[nodiscard]] std::int64_t results() const { return tiling.outer * chunks * tiling.inner; }
};

struct Stages {
  std::vector<Stage> all;
  std::int64_t between = 0;  ///< the most results of a stage that is not the last

  /// The scratch for results of `bytes` bytes each. The stages use two buffers in turn.
  [[nodiscard]] std::int64_t scratch_bytes(std::size_t bytes) const {
    return 2 * between * static_cast<std::int64_t>(bytes);
  }
};

inline Stage stage_of(const Pass& pass) {
  constexpr std::int64_t kSerial = 16, kMostSerial = 64, kMostChunks = 512;
  const Tiling tiling = tiling_of(pass, kSerial);
  const std::int64_t least = tiling.lanes() * kMostSerial;
  const std::int64_t chunk = std::max(least, (pass.along + kMostChunks - 1) / kMostChunks);
  return {tiling, chunk, std::max<std::int64_t>(1, (pass.along + chunk - 1) / chunk)};
}

inline Stages stages_of(const std::vector<Pass>& passes) {
  Stages stages;
  for (Pass pass : passes) {
    do {
      if (!stages.all.empty()) stages.between = std::max(stages.between, stages.all.back().results());
      stages.all.push_back(stage_of(pass));
      pass.along = stages.all.back().chunks;
    } while (pass.along > 1);
  }
  return stages;
}

/// The stages of an instruction that reduces dims of input 0.
using DimsFn = std::vector<bool> (*)(const KernelSetup&);
template <DimsFn dims>
Stages stages_for(const KernelSetup& setup) {
  return stages_of(passes_of(setup.inputs[0].shape.sizes(), dims(setup)));
}
template <DimsFn dims>
std::unique_ptr<KernelState> prepare_stages(const KernelSetup& setup) {
  return keep(stages_for<dims>(setup));
}
template <DimsFn dims>
std::int64_t stages_scratch(const KernelSetup& setup) {
  return stages_for<dims>(setup).scratch_bytes(size_of(computed_as(setup.inputs[0].dtype)));
}

template <class How, class In, class Out>
struct FoldChunks {
  using Value = typename How::Value;
  struct Shared {
    Value room[kThreads];
  };

  FERRY_DEVICE void operator()(std::int64_t item, const Block& block, Shared& shared) const {
    const Tiling& tiling = stage.tiling;
    const std::int64_t tile = stage.chunks == 1 ? item : item / stage.chunks;
    const std::int64_t begin = (item - tile * stage.chunks) * stage.chunk;
    const std::int64_t end = begin + stage.chunk < tiling.along ? begin + stage.chunk : tiling.along;
    const Spot spot = tiling.spot(tile, block.thread());
    const auto join = [this](const Value& a, const Value& b) { return how.join(a, b); };
    Value value = how.start();
    if (spot.inside) {
      const In* const line = in + tiling.first(spot);
      value = fold_strided(
          begin + spot.lane, end, tiling.lanes(), value,
          [&](std::int64_t i) { return how.value(line[i * tiling.inner], i); }, join);
    }
    value = join_lanes(block, tiling, spot.lane, value, shared.room, join);
    if (spot.inside && spot.lane == 0)
      how.put(out[(spot.outer * stage.chunks + item - tile * stage.chunks) * tiling.inner + spot.inner], value);
  }

  How how;
  Stage stage;
  const In* in;
  Out* out;
};

template <class How, class In, class Out>
void run_stage(const KernelRun& run, const How& how, const Stage& stage, const In* in, Out* out) {
  for_each_block(run, stage.tiling.tiles() * stage.chunks, FoldChunks<How, In, Out>{how, stage, in, out});
}

/// Folds input 0, with elements T, to output 0, with elements Out.
template <class T, class Out, class How>
void run_stages(const KernelRun& run, const How& how, const Stages& stages) {
  using Value = typename How::Value;
  const T* const in = run.inputs[0].as<const T>();
  Out* const out = run.outputs[0].as<Out>();
  const std::vector<Stage>& all = stages.all;
  if (all.size() == 1) return run_stage(run, how, all.front(), in, out);
  Value* from = reinterpret_cast<Value*>(run.scratch.data());
  Value* to = from + stages.between;
  run_stage(run, how, all.front(), in, from);
  for (std::size_t i = 1; i + 1 < all.size(); ++i, std::swap(from, to))
    run_stage(run, how, all[i], static_cast<const Value*>(from), to);
  run_stage(run, how, all.back(), static_cast<const Value*>(from), out);
}

/// A How that joins numbers.
template <class Join, class T>
struct JoinNumbers {
  using Value = T;
  [[nodiscard]] FERRY_DEVICE Value start() const { return begin; }
  template <class In>
  [[nodiscard]] FERRY_DEVICE Value value(const In& element, std::int64_t) const {
    return load(element);
  }
  [[nodiscard]] FERRY_DEVICE Value join(Value a, Value b) const { return Join()(a, b); }
  template <class Out>
  FERRY_DEVICE void put(Out& out, Value value) const {
    out = stored_as<Out>(value);
  }
  Value begin = start_of<T, Join>();
};

/// Folds numbers of T, by the stages that prepare_stages() has made.
template <class Join, class T>
void join_numbers(const KernelRun& run) {
  run_stages<T, T>(run, JoinNumbers<Join, typename Computed<T>::type>(), kept<Stages>(run));
}

}  // namespace ferry::cuda
