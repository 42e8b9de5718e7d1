#include "base/system/interrupt.hpp"

#include <doctest/doctest.h>

#include <csignal>

#include "base/error.hpp"

namespace ferry {
namespace {

TEST_CASE("an interrupt is kept until it is cleared, and the first signal counts") {
  CHECK(interrupt_requested() == 0);
  CHECK_NOTHROW(check_interrupt());
  request_interrupt(SIGTERM);
  request_interrupt(SIGINT);
  CHECK(interrupt_requested() == SIGTERM);
  try {
    check_interrupt();
    FAIL("nothing thrown");
  } catch (const Error& error) {
    CHECK(error.code() == Code::interrupted);
    CHECK(error.text() == "interrupted by signal 15");
  }
  clear_interrupt();
  CHECK_NOTHROW(check_interrupt());
}

TEST_CASE("a request to save and stop is no interrupt, and is cleared with it") {
  CHECK(!preemption_requested());
  request_preemption();
  CHECK(preemption_requested());
  CHECK_NOTHROW(check_interrupt());
  clear_interrupt();
  CHECK(!preemption_requested());
}

}  // namespace
}  // namespace ferry
