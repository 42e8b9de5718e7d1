#include "ops/op_set.hpp"

#include "graph/op/core_ops.hpp"
#include "ops/array/arrange.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/array/sort.hpp"
#include "ops/control/control.hpp"
#include "ops/control/microbatch.hpp"
#include "ops/data/data.hpp"
#include "ops/data/host.hpp"
#include "ops/image/augment.hpp"
#include "ops/image/boxes.hpp"
#include "ops/image/conv.hpp"
#include "ops/image/sample.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/bits.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/cumulative.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/math/sizes.hpp"
#include "ops/math/trig.hpp"
#include "ops/nn/cell.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/asynchronous.hpp"
#include "ops/train/mixed.hpp"

namespace ferry {

const OpSet& default_ops() {
  static const OpSet kOps = [] {
    OpSet ops;
    for (const auto family :
         {core_ops(),    math_ops(),       trig_ops(),      bit_ops(),          logic_ops(),      linalg_ops(),
          conv_ops(),    reshape_ops(),    broadcast_ops(), size_ops(),         reduce_ops(),     cumulative_ops(),
          array_ops(),   arrange_ops(),    indexing_ops(),  scatter_ops(),      sort_ops(),       box_ops(),
          nn_ops(),      sample_ops(),     random_ops(),    data_ops(),         augment_ops(),    host_ops(),
          control_ops(), microbatch_ops(), mixed_ops(),     asynchronous_ops(), activation_ops(), cell_ops()})
      ops.add(family);
    return ops;
  }();
  return kOps;
}

}  // namespace ferry
