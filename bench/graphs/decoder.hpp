// The language model of `ferry bench decode`: a decoder with the layers of Llama models. peers/decode.py has the same
// model for llama.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry::bench {

/// The sizes of a decoder. The defaults are the sizes of SmolLM2-135M.
struct DecoderSizes {
  std::int64_t layers = 30;
  std::int64_t width = 576, hidden = 1536;  ///< of the values between layers, and within feed-forward layers
  std::int64_t heads = 9, key_heads = 3;    ///< each key head serves several heads
  std::int64_t vocabulary = 49152;          ///< number of tokens
  std::int64_t positions = 256;             ///< of the caches of keys and values
  [[nodiscard]] std::int64_t head() const { return width / heads; }
};

inline constexpr double kNormEpsilon = 1e-5, kRotaryBase = 10000;

/// The numbers of the weights. With int8, each matrix has a scale for each column, and the rows that it multiplies are
/// quantized in the step, with one scale for the row.
enum class Weights { float32, int8 };

/// A step of a decoder: the scores of the tokens after the variable "token" at the variable "position".
struct Decoder {
  Value logits;    ///< [vocabulary]
  Values updates;  ///< write a row of each cache, and set "token" to the most likely token and "position" to the next
};

/// Adds a step of a decoder with random weights. The variable "position" begins with `position`, and the caches with
/// zeros.
[[nodiscard]] Decoder decoder(Graph& g, const DecoderSizes& sizes, Weights weights, std::int64_t position);

/// Saves a step of a decoder with the default sizes. It starts at position 64. Errors as save_graph().
void save_decoder(const std::string& file, Weights weights);

}  // namespace ferry::bench
