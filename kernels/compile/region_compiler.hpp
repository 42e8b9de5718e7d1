// The interface of the plug-in that compiles tile regions for CPUs, libferry_llvm.so. ferry opens it when a region must
// be compiled for the first time, and runs without it where LLVM is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ferry {

/// The functions of the plug-in. `version` is the first member in every version.
struct RegionCompiler {
  static constexpr std::uint32_t kVersion = 1;
  std::uint32_t version = kVersion;
  /// A text that determines the code of a region together with the region's text and the processor. The plug-in and the
  /// program have the same text if they are from one build.
  const char* facts = nullptr;
  /// Compiles the text of a region for a processor as LLVM names it ("x86-64-v3"), and calls `take` with the bytes of a
  /// relocatable ELF object that defines kRegionFunction. Returns false if the text cannot be compiled, and calls
  /// `take` with the reason. Thread-safe. The text has four kinds of lines, in this order. Values have numbers: first
  /// the arrays, then the calls.
  ///
  ///     rows 64                     the region has rows of 64 elements; without this line it has no rows
  ///     array float32 each          an input with an element for each element of the region
  ///     array float32 one           an input with one element for all
  ///     array float32 row           an input with one element for each row
  ///     array float32 columns       an input with the elements of one row, the same for all rows
  ///     array float32 written       an output
  ///     array float32 row_written   an output with one element for each row
  ///     call Mul.float32 0 1        value 6, by a function of functions.hpp, from values 0 and 1
  ///     call Sum.float32 6          value 7: the sums of value 6 in each row
  ///     store 6 4                   value 6 becomes the element of array 4
  ///     store 7 5
  bool (*compile)(const char* text, std::size_t bytes, const char* processor,
                  void (*take)(void* to, const char* bytes, std::size_t count), void* to) = nullptr;
};

inline constexpr const char* kRegionCompilerFile = "libferry_llvm.so";
/// The plug-in's function, which returns a const RegionCompiler*.
inline constexpr const char* kRegionCompilerSymbol = "ferry_region_compiler";

/// The function of a compiled region: computes `n` elements, which are whole rows. arrays[k] is the address of the
/// first one's element in array k of the text.
using RegionFunction = void (*)(const void* const* arrays, std::int64_t n);
inline constexpr const char* kRegionFunction = "ferry_region";

}  // namespace ferry
