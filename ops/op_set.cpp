#include "ops/op_set.hpp"

#include "graph/core_ops.hpp"
#include "ops/arrange.hpp"
#include "ops/array.hpp"
#include "ops/augment.hpp"
#include "ops/bits.hpp"
#include "ops/boxes.hpp"
#include "ops/broadcast.hpp"
#include "ops/control.hpp"
#include "ops/conv.hpp"
#include "ops/cumulative.hpp"
#include "ops/data.hpp"
#include "ops/host.hpp"
#include "ops/indexing.hpp"
#include "ops/linalg.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/mixed.hpp"
#include "ops/nn.hpp"
#include "ops/random.hpp"
#include "ops/reduce.hpp"
#include "ops/reshape.hpp"
#include "ops/sample.hpp"
#include "ops/scatter.hpp"
#include "ops/sort.hpp"
#include "ops/trig.hpp"

namespace ferry {

const OpSet& default_ops() {
  static const OpSet kOps = [] {
    OpSet ops;
    for (const auto family :
         {core_ops(),    math_ops(),      trig_ops(),    bit_ops(),        logic_ops(),  linalg_ops(),  conv_ops(),
          reshape_ops(), broadcast_ops(), reduce_ops(),  cumulative_ops(), array_ops(),  arrange_ops(), indexing_ops(),
          scatter_ops(), sort_ops(),      box_ops(),     nn_ops(),         sample_ops(), random_ops(),  data_ops(),
          augment_ops(), host_ops(),      control_ops(), mixed_ops()})
      ops.add(family);
    return ops;
  }();
  return kOps;
}

}  // namespace ferry
