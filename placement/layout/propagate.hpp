// propagate: layouts backwards. A value that its inputs would leave whole, though every op that uses it takes a part
// along the same dim, gets a hint for those parts: its op then computes a part, and asks the same of its own inputs. So
// an annotation reaches the values from which the annotated one is made, and a feed is scattered rather than broadcast.
// The layouts that this starts from are those that reshard would choose, found forwards and without adding a node.
//
// A hint binds nobody: reshard counts it among the costs of an op's layouts, and converts nothing for its sake. Values
// that anybody wants whole have none, nor have variables: they lie as annotated in every plan of a session.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Fills Program::hints.
void propagate(Program& program);

}  // namespace ferry
