// How much memory this process takes at its peak.
#pragma once

namespace ferry::bench {

/// Resets the peak of resident memory, and returns the bytes that are resident now.
[[nodiscard]] double begin_peak();

/// The most bytes that were resident at a time since begin_peak(); 0 where the kernel does not say.
[[nodiscard]] double peak_bytes();

}  // namespace ferry::bench
