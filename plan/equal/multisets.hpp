// Multisets: the terms of a sum, with the number of times that each term occurs in the sum.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace ferry::equal {

/// Makes multisets of numbers. Each multiset is stored once, so equal multisets have equal ids, independent of the
/// order in which they were built. A multiset is a Patricia tree over the bits of its elements. Its shape depends only
/// on the elements, and multisets share equal subtrees. So a chain of n additions of one element makes about n log n
/// nodes, and the addition of a multiset to itself makes one node for each leaf and branch of its tree. A count has any
/// number of bits. Example: single(7) added to itself 3,000 times makes 3,001 nodes, and the count is 2^3000. Not
/// thread-safe.
class Multisets {
 public:
  using Id = std::uint32_t;

  /// The multiset that has the element once.
  [[nodiscard]] Id single(std::uint32_t element);
  /// The sum of `a` and `b`: the counts of each element are added.
  [[nodiscard]] Id add(Id a, Id b);
  /// The element, if the multiset has exactly one element, once. Otherwise nullopt.
  [[nodiscard]] std::optional<std::uint32_t> only_element(Id id) const;

  /// Calls visit(element, count) for the elements in increasing order, until it returns false. The count is text: "3",
  /// or "2^64" for a count of 65 bits or more, rounded down to a power of two.
  bool visit(Id id, const std::function<bool(std::uint32_t, const std::string&)>& visit) const;

  /// The memory of all multisets: the number of nodes, plus the number of 64-bit words of counts above 2^31.
  [[nodiscard]] std::uint64_t size() const { return nodes_.size() + words_; }

 private:
  /// A leaf has `bit` 0, the element as `prefix`, and its count as `left`. All elements of a branch have the bits of
  /// `prefix` above `bit`. The elements without `bit` are in `left`, the elements with it in `right`.
  struct Node {
    std::uint32_t prefix = 0, bit = 0;
    Id left = 0, right = 0;
    bool operator==(const Node&) const = default;
  };
  using Words = std::vector<std::uint64_t>;  // the 64-bit words of a number, the lowest first

  [[nodiscard]] Id intern(const Node& node);
  /// The index of the node in the hash table, or the free entry for it.
  [[nodiscard]] std::size_t place_of(const Node& node) const;
  [[nodiscard]] Id merge(Id a, Id b);
  [[nodiscard]] std::uint32_t add_counts(std::uint32_t a, std::uint32_t b);
  [[nodiscard]] Words words_of(std::uint32_t count) const;

  std::vector<Node> nodes_;
  std::vector<Id> places_;                       // a hash table of the nodes; its size is a power of two
  std::unordered_map<std::uint64_t, Id> added_;  // by the ids of both summands
  std::vector<Words> large_;                     // counts of kLarge or more
  std::unordered_multimap<std::uint64_t, std::uint32_t> large_by_hash_;
  std::uint64_t words_ = 0;
};

}  // namespace ferry::equal
