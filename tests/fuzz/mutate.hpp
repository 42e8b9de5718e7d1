// Random changes of a protobuf message that leave it well-formed: what a forger with a good library would write.
#pragma once

#include <google/protobuf/message.h>

#include "tests/support/dice.hpp"

namespace ferry::test {

/// Changes one to four fields anywhere in `message`: a number or a name becomes another, often one at a limit or one
/// from elsewhere in the message; parts are removed, duplicated, swapped, or replaced by another of their type.
void mutate(google::protobuf::Message& message, Dice& dice);

}  // namespace ferry::test
