// Attention, and positions as rotations.
//
// Floating-point. Sizes of heads and sequences are known when the graph is built; the batch n need not be. Errors: all
// functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "base/source_location.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Which keys a query sees, and how scores become probabilities. Query i stands at the position offset + i among keys.
struct Attending {
  double scale = 0;         ///< of products of queries and keys; 0: 1 / sqrt(their size)
  double softcap = 0;       ///< scores are bounded by softcap * tanh(score / softcap); 0: not
  bool causal = false;      ///< a query sees no key behind its position
  std::int64_t left = -1;   ///< … and at most so many keys before it; -1: all
  std::int64_t right = -1;  ///< … and behind it
  std::int64_t offset = 0;  ///< keys before the first query
  Value mask = {};          ///< broadcast to [n,heads,queries,keys]: bool, true where seen; or numbers to be added
  Value lengths = {};       ///< [n], integers: so many keys are there, the last queries' among them (no offset then)
  std::optional<DType> precision = {};  ///< of softmax; none: that of the queries
};

/// The results of attention().
struct Attended {
  Value y;              ///< [n,heads,queries,value size]
  Value scores;         ///< [n,heads,queries,keys]: scaled products
  Value capped;         ///< … bounded
  Value biased;         ///< … with masks
  Value probabilities;  ///< … zeros in the rows of queries that see nothing
};

/// softmax(q k' * scale + masks) v, of q [n,heads,queries,size], k [n,key heads,keys,size] and v [n,key
/// heads,keys,value size] (Vaswani et al., "Attention is all you need", 2017). Each key head serves heads / key heads
/// queries' heads one after another (Ainslie et al., "GQA", 2023). A query that sees no key gets zeros.
Attended attention(const Value& q, const Value& k, const Value& v, const Attending& attending = {},
                   source_location at = source_location::current());

/// Pairs of elements of the last dim of x turned by angles: (a, b) becomes (a cos - b sin, a sin + b cos) (Su et al.,
/// "RoFormer", 2021). Pairs are elements i and i + half, or `interleaved` 2 i and 2 i + 1, of the first 2 * [last dim
/// of cos] elements; the rest stays. cos and sin are broadcast to the halves.
Value rotary_embedding(const Value& x, const Value& cos, const Value& sin, bool interleaved = false,
                       source_location at = source_location::current());

/// How linear_attention updates its state.
struct Remembering {
  double scale = 0;  ///< of what is read; 0: 1 / sqrt(size)
  Value state = {};  ///< before the first step, [n,key heads,size,value size]; zeros
  Value decay = {};  ///< [n,key heads,steps,1 or size]: the state is multiplied by its exponential
  Value beta = {};   ///< [n,1 or key heads,steps,1]: the delta rule's rate, v becomes beta * (v - what k reads)
};

/// The results of linear_attention(): y [n,heads,steps,value size] and the state after the last step.
struct Remembered {
  Value y, state;
};

/// A state S that each step's key and value are added to, S = exp(decay) S + k v', and its query reads: y = scale * q
/// S, of q [n,heads,steps,size], k [n,key heads,steps,size], v [n,key heads,steps,value size] (Katharopoulos et al.,
/// "Transformers are RNNs", 2020; Yang et al., "Gated delta networks", 2024). Unrolled.
Remembered linear_attention(const Value& q, const Value& k, const Value& v, const Remembering& remembering = {},
                            source_location at = source_location::current());

}  // namespace ferry
