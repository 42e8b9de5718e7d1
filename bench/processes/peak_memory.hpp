// The peak of this process's memory.
#pragma once

namespace ferry::bench {

/// Resets the peak of resident memory, and returns the current resident bytes.
[[nodiscard]] double reset_peak();

/// The peak of resident bytes since reset_peak(); 0 if the kernel does not report it.
[[nodiscard]] double peak_bytes();

}  // namespace ferry::bench
