// kVectorBytes: the bytes of the widest vectors of the instruction set that a file is built for.
#pragma once

namespace ferry::cpu {
namespace {

#if defined(__AVX512F__) && defined(__AVX512BW__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

}  // namespace
}  // namespace ferry::cpu
