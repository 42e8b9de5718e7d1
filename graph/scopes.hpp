// Scopes: the settings for ops that are added now (Graph::device, on, name, after, line, annotated, remade).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "graph/annotation.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A stack for each kind of scope. The top of each stack applies. Not thread-safe.
class Scopes {
 public:
  enum class Kind { annotation, name, after, line, remade };

  /// Puts ops on the device. Its absent parts, and the rest of the annotation, come from the enclosing scopes. A job or
  /// task in the device removes the mesh.
  void enter_device(const DeviceSpec& spec);
  /// Sets the annotation of ops to exactly this one.
  void enter(Annotation annotation);
  void enter_name(std::string_view name);
  /// Makes ops run after these ops, and also after the ops of the enclosing scopes.
  void enter_after(std::span<const OpId> ops);
  void enter(const SourceLine& line);
  void enter_remade();
  void leave(Kind kind);

  /// The annotation for ops that are added now; null: none.
  [[nodiscard]] const Annotation* annotation() const { return annotations_.empty() ? nullptr : &annotations_.back(); }
  /// The prefix of names: "encoder/layer1/".
  [[nodiscard]] std::string prefix() const;
  [[nodiscard]] std::span<const OpId> after() const;
  [[nodiscard]] SourceLine line_for(const SourceLine& given) const { return lines_.empty() ? given : lines_.back(); }
  /// The number of the innermost remade scope (Graph::remade), counted from 1; 0: none.
  [[nodiscard]] std::uint32_t remade() const { return remade_.empty() ? 0 : remade_.back(); }

  /// The scopes at the beginning of a body with that name: the annotation and line of this object, and its prefix of
  /// names with `name` added.
  [[nodiscard]] Scopes for_body(std::string_view name) const;

 private:
  std::vector<Annotation> annotations_;
  std::vector<std::string> names_;
  std::vector<std::vector<OpId>> afters_;
  std::vector<SourceLine> lines_;
  std::vector<std::uint32_t> remade_;
  std::uint32_t remade_count_ = 0;
};

}  // namespace ferry
#pragma GCC visibility pop
