#include "base/float_state.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ferry {
namespace {

#if defined(__x86_64__)

// Values of the register MXCSR. kDefaultControl: round to nearest, keep subnormal numbers, no traps. kFlags: the bits
// of raised exceptions.
constexpr std::uint32_t kDefaultControl = 0x1F80, kFlags = 0x3F;

std::uint32_t control() {
  return _mm_getcsr();
}
bool is_default(std::uint32_t control) {
  return (control & ~kFlags) == kDefaultControl;
}
void set_control(std::uint32_t control) {
  if (control != _mm_getcsr()) _mm_setcsr(control);
}
void set_default() {
  std::fesetenv(FE_DFL_ENV);
  _mm_setcsr(kDefaultControl);  // the C library decides whether fesetenv changes how subnormal numbers are treated
}

#else

std::uint32_t control() {
  return 0;
}
bool is_default(std::uint32_t) {
  return false;
}
void set_control(std::uint32_t) {}
void set_default() {
  std::fesetenv(FE_DFL_ENV);
}

#endif

/// The innermost DefaultFloats of this thread that had to change the settings.
thread_local const DefaultFloats* innermost = nullptr;

}  // namespace

DefaultFloats::DefaultFloats() noexcept : control_(control()) {
  if (is_default(control_)) return;
  std::fegetenv(&before_);
  set_default();
  outer_ = innermost;
  innermost = this;
}

DefaultFloats::~DefaultFloats() {
  if (is_default(control_)) {
    set_control(control_);
    return;
  }
  innermost = outer_;
  std::fesetenv(&before_);
}

ProgramFloats::ProgramFloats() noexcept : changed_(innermost != nullptr) {
  if (!changed_) return;
  std::fegetenv(&of_ferry_);
  std::fesetenv(&innermost->before_);
}

ProgramFloats::~ProgramFloats() {
  if (changed_) std::fesetenv(&of_ferry_);
}

}  // namespace ferry
