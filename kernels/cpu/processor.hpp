// The features of this machine's processor.
#pragma once

namespace ferry::cpu {

/// The highest x86-64 level that the processor can run and this build has code for (3: AVX2, 4: AVX-512); else 1.
[[nodiscard]] int processor_level();

}  // namespace ferry::cpu
