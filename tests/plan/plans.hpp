// Plans made by hand, for tests of the plan's file and text.
#pragma once

#include "plan/plan.hpp"

namespace ferry::test {

/// Two tasks of two classes, with every table and field of a plan in use: feeds, fetches, a channel, a collective, a
/// loop and a branch, a bounded value, a split one, a view, scratch, threads, attributes of each type. Well-formed, but
/// not a program that could run.
Plan every_field();

}  // namespace ferry::test
