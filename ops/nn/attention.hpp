// Attention, rotary position embeddings, and linear attention.
//
// Floating-point. Sizes of heads and sequences must be known when the graph is built; the batch n need not be. Errors:
// all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "base/source_location.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Which keys a query sees, and how scores become probabilities. Query i has the position offset + i among the keys.
struct Attending {
  double scale = 0;         ///< of products of queries and keys; 0: 1 / sqrt(their size)
  double softcap = 0;       ///< scores become softcap * tanh(score / softcap); 0: they stay as they are
  bool causal = false;      ///< a query sees no key after its position
  std::int64_t left = -1;   ///< how many keys before its position a query sees; -1: all
  std::int64_t right = -1;  ///< how many keys after its position a query sees; -1: all
  std::int64_t offset = 0;  ///< the number of keys before the first query
  Value mask = {};          ///< broadcast to [n,heads,queries,keys]: bool, true where seen; or numbers to be added
  Value lengths = {};  ///< [n], integers: the numbers of valid keys; the last valid key has the position of the last
                       ///< query position (`offset` is not used then)
  std::optional<DType> precision = {};  ///< the dtype of the softmax; none: the dtype of the queries
};

/// The results of attention().
struct Attended {
  Value y;              ///< [n,heads,queries,value size]
  Value scores;         ///< [n,heads,queries,keys]: scaled products
  Value capped;         ///< scores after the softcap
  Value biased;         ///< capped plus masks
  Value probabilities;  ///< softmax of biased, but zeros in the rows of queries that see no key
};

/// softmax(q k' * scale + masks) v, of q [n,heads,queries,size], k [n,key heads,keys,size] and v [n,key
/// heads,keys,value size] (Vaswani et al., "Attention is all you need", 2017). Each key head serves heads / key heads
/// consecutive heads of the queries (Ainslie et al., "GQA", 2023). A query that sees no key gets zeros.
Attended attention(const Value& q, const Value& k, const Value& v, const Attending& attending = {},
                   source_location at = source_location::current());

/// Rotates pairs of elements of the last dim of x: (a, b) becomes (a cos - b sin, a sin + b cos) (Su et al.,
/// "RoFormer", 2021). Let h be the last size of cos and sin. Pairs are elements i and i + h, or if `interleaved` 2 i
/// and 2 i + 1, of the first 2 h elements. Other elements are unchanged. cos and sin are broadcast to the elements that
/// come first in their pairs.
Value rotary_embedding(const Value& x, const Value& cos, const Value& sin, bool interleaved = false,
                       source_location at = source_location::current());

/// How linear_attention updates its state.
struct Remembering {
  double scale = 0;  ///< factor of the result; 0: 1 / sqrt(size)
  Value state = {};  ///< before the first step, [n,key heads,size,value size]; undefined: zeros
  Value decay = {};  ///< [n,key heads,steps,1 or size]: each step first multiplies the state by its exponential
  Value beta = {};   ///< [n,1 or key heads,steps,1]: the rate of the delta rule, by which v becomes beta * (v - k' S)
};

/// The results of linear_attention(): y [n,heads,steps,value size] and the state after the last step.
struct Remembered {
  Value y, state;
};

/// Attention by a state S: each step adds the product of its key and value, S = exp(decay) S + k v', and its query
/// reads S, y = scale * q S. The shapes are q [n,heads,steps,size], k [n,key heads,steps,size], v [n,key
/// heads,steps,value size] (Katharopoulos et al., "Transformers are RNNs", 2020; Yang et al., "Gated delta networks",
/// 2024). Unrolled: ops are made for each step.
Remembered linear_attention(const Value& q, const Value& k, const Value& v, const Remembering& remembering = {},
                            source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
