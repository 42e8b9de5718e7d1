// The settings of floating-point arithmetic on the calling thread: rounding, signals (traps), subnormal numbers, and
// the flags of the exceptions that were raised. A program may change the settings. ferry computes with the settings
// that every C++ program starts with, so that results have the same bits on all threads and tasks.
//
//     const DefaultFloats floats;   // from here to the end of the block, ferry computes
//     …
//     const ProgramFloats theirs;   // from here to the end of this block, a function of the program computes
#pragma once

#include <cfenv>
#include <cstdint>

#pragma GCC visibility push(default)
namespace ferry {

/// While a DefaultFloats exists, its thread rounds to nearest, keeps subnormal numbers, and raises no SIGFPE. The
/// destructor restores the earlier settings and flags. Threads that are made meanwhile start with the default settings.
/// Objects may be nested. If the program has not changed the settings, an object costs some 5 ns.
class DefaultFloats {
 public:
  DefaultFloats() noexcept;
  ~DefaultFloats();
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  friend class ProgramFloats;
  std::uint32_t control_;                 ///< settings of the processor's vector unit
  std::fenv_t before_;                    ///< set only if the program has changed the settings
  const DefaultFloats* outer_ = nullptr;  ///< the next outer object that had to change the settings
};

/// During its lifetime, this thread has the settings from before its innermost DefaultFloats.
class ProgramFloats {
 public:
  ProgramFloats() noexcept;
  ~ProgramFloats();
  ProgramFloats(const ProgramFloats&) = delete;
  ProgramFloats& operator=(const ProgramFloats&) = delete;

 private:
  bool changed_;
  std::fenv_t of_ferry_;
};

}  // namespace ferry
#pragma GCC visibility pop
