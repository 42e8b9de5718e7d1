// Attention, rotary position embeddings, and linear attention.
//
// Values are floating-point. Sizes of heads and sequences must be known when the graph is built; the batch size n need
// not be known. Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "base/source_location.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The keys that each query sees, and how scores become probabilities. Query i has position offset + i among the keys.
struct Attending {
  double scale = 0;         ///< factor of the products of queries and keys; 0: 1 / sqrt(their size)
  double softcap = 0;       ///< scores become softcap * tanh(score / softcap); 0: scores are not capped
  bool causal = false;      ///< a query sees no key after its position
  std::int64_t left = -1;   ///< number of keys before its position that a query sees; -1: all
  std::int64_t right = -1;  ///< number of keys after its position that a query sees; -1: all
  std::int64_t offset = 0;  ///< number of keys before the first query
  Value mask = {};          ///< broadcast to [n,heads,queries,keys]: bool, true if seen; or numbers to be added
  /// [n], integers: the number of valid keys of each sequence. The last query has the position of the last valid key;
  /// `offset` is not used then. A negative number, or a number above the number of keys, is an error at run time.
  Value lengths = {};
  std::optional<DType> precision = {};  ///< the dtype of the softmax; absent: the dtype of the queries
};

/// The results of attention().
struct Attended {
  Value y;              ///< [n,heads,queries,value size]
  Value scores;         ///< [n,heads,queries,keys]: scaled products of queries and keys
  Value capped;         ///< scores after the softcap
  Value biased;         ///< `capped` plus masks
  Value probabilities;  ///< softmax of `biased`, but zeros in the rows of queries that see no key
};

/// softmax(q k' * scale + masks) v, for q [n,heads,queries,size], k [n,key heads,keys,size] and v [n,key
/// heads,keys,value size] (Vaswani et al., "Attention is all you need", 2017). Each key head serves heads / key heads
/// consecutive heads of the queries (Ainslie et al., "GQA", 2023). The result of a query that sees no key is zeros.
///
///     Value q = g.input("q", {8, 4, 16, 32}), k = g.input("k", {8, 2, 16, 32}), v = g.input("v", {8, 2, 16, 64});
///     attention(q, k, v, {.causal = true}).y;  // float32[8,4,16,64]
Attended attention(const Value& q, const Value& k, const Value& v, const Attending& attending = {},
                   source_location at = source_location::current());

/// Rotates pairs of elements in the last dim of x: (a, b) becomes (a cos - b sin, a sin + b cos) (Su et al.,
/// "RoFormer", 2021). Let h be the last size of cos and sin. The pairs are the elements i and i + h, or 2 i and 2 i + 1
/// if `interleaved`, of the first 2 h elements. Other elements are unchanged. cos and sin are broadcast to the first
/// elements of the pairs.
///
///     Value q = g.input("q", {8, 4, 16, 32}), angles = g.input("angles", {16, 16});
///     rotary_embedding(q, cos(angles), sin(angles));  // float32[8,4,16,32]
Value rotary_embedding(const Value& x, const Value& cos, const Value& sin, bool interleaved = false,
                       source_location at = source_location::current());

/// How linear_attention updates its state.
struct Remembering {
  double scale = 0;  ///< factor of the result; 0: 1 / sqrt(size)
  /// The state before the first step, [n,key heads,size,value size]; undefined: zeros.
  Value state = {};
  /// [n,key heads,steps,1 or size]: each step first multiplies the state by the exponential of its decay.
  Value decay = {};
  /// [n,1 or key heads,steps,1]: the rate of the delta rule. With it, v is replaced by beta * (v - k' S).
  Value beta = {};
};

/// The results of linear_attention(): y [n,heads,steps,value size] and the state after the last step.
struct Remembered {
  Value y, state;  ///< the result, and S
};

/// Attention with a state S: each step updates it, S = exp(decay) S + k v', and then reads its result, y = scale * q S.
/// The shapes are q [n,heads,steps,size], k [n,key heads,steps,size] and v [n,key heads,steps,value size]
/// (Katharopoulos et al., "Transformers are RNNs", 2020; Yang et al., "Gated delta networks", 2024). It is unrolled:
/// ops are made for each step.
///
///     Value q = g.input("q", {8, 4, 16, 32}), k = g.input("k", {8, 2, 16, 32}), v = g.input("v", {8, 2, 16, 64});
///     Remembered seen = linear_attention(q, k, v);
///     seen.y;      // float32[8,4,16,64]
///     seen.state;  // float32[8,2,32,64]
Remembered linear_attention(const Value& q, const Value& k, const Value& v, const Remembering& remembering = {},
                            source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
