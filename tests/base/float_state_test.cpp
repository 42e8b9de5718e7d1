#include "base/float_state.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <thread>

namespace ferry {
namespace {

/// What a program may have set, for as long as this lives: it rounds up, and divisions by zero raise SIGFPE if the
/// processor can do that (few processors of arm64 can).
struct OwnSettings {
  OwnSettings() {
    std::fegetenv(&before_);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::fesetround(FE_UPWARD);
    feenableexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID);
    traps_ = fegetexcept();
  }
  ~OwnSettings() { std::fesetenv(&before_); }
  OwnSettings(const OwnSettings&) = delete;
  OwnSettings& operator=(const OwnSettings&) = delete;

  [[nodiscard]] bool hold() const { return std::fegetround() == FE_UPWARD && fegetexcept() == traps_; }

 private:
  std::fenv_t before_;
  int traps_;
};

double quotient(double a, double b) {
  volatile double x = a, y = b;
  return x / y;
}

bool is_default() {
  return std::fegetround() == FE_TONEAREST && fegetexcept() == 0 && quotient(1, 3) * 3 == 1 &&
         quotient(1, 0) == std::numeric_limits<double>::infinity();
}

TEST_CASE("a program's settings and flags are back after the default ones") {
  const OwnSettings own;
  {
    const DefaultFloats floats;
    CHECK(is_default());
  }
  CHECK(own.hold());
  CHECK(std::fetestexcept(FE_ALL_EXCEPT) == 0);
}

TEST_CASE("flags are back where the program has changed nothing") {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const DefaultFloats floats;
    CHECK(is_default());
  }
  CHECK(std::fetestexcept(FE_ALL_EXCEPT) == 0);
}

TEST_CASE("a function of the program has the program's settings, also within another call") {
  const OwnSettings own;
  const DefaultFloats floats;
  {
    const ProgramFloats theirs;
    CHECK(own.hold());
    {
      const DefaultFloats again;
      CHECK(is_default());
      const ProgramFloats again_theirs;
      CHECK(own.hold());
    }
    CHECK(own.hold());
  }
  CHECK(is_default());
}

TEST_CASE("threads that are made meanwhile begin with the default") {
  const OwnSettings own;
  const DefaultFloats floats;
  bool was_default = false;
  std::thread([&] { was_default = is_default(); }).join();
  CHECK(was_default);
}

}  // namespace
}  // namespace ferry
