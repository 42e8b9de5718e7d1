#include "graph/scopes.hpp"

namespace ferry {

void Scopes::enter_device(const DeviceSpec& spec) {
  Annotation annotation = annotations_.empty() ? Annotation() : annotations_.back();
  annotation.device = annotation.device.merged(spec);
  if (spec.task || spec.job) annotation.mesh = kNoMesh;
  annotations_.push_back(std::move(annotation));
}

void Scopes::enter(Annotation annotation) {
  annotations_.push_back(std::move(annotation));
}

void Scopes::enter_name(std::string_view name) {
  names_.push_back(prefix() + std::string(name) + "/");
}

void Scopes::enter_after(std::span<const OpId> ops) {
  std::vector<OpId> all(after().begin(), after().end());
  all.insert(all.end(), ops.begin(), ops.end());
  afters_.push_back(std::move(all));
}

void Scopes::enter(const SourceLine& line) {
  lines_.push_back(line);
}

void Scopes::enter_remade() {
  remade_.push_back(++remade_count_);
}

void Scopes::leave(Kind kind) {
  switch (kind) {
    case Kind::annotation:
      return annotations_.pop_back();
    case Kind::name:
      return names_.pop_back();
    case Kind::after:
      return afters_.pop_back();
    case Kind::line:
      return lines_.pop_back();
    case Kind::remade:
      return remade_.pop_back();
  }
}

std::string Scopes::prefix() const {
  return names_.empty() ? std::string() : names_.back();
}

std::span<const OpId> Scopes::after() const {
  return afters_.empty() ? std::span<const OpId>() : std::span<const OpId>(afters_.back());
}

Scopes Scopes::for_body(std::string_view name) const {
  Scopes scopes;
  scopes.names_.push_back(prefix() + std::string(name) + "/");
  if (!annotations_.empty()) scopes.annotations_.push_back(annotations_.back());
  if (!lines_.empty()) scopes.lines_.push_back(lines_.back());
  return scopes;
}

}  // namespace ferry
