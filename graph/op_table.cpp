#include "graph/op_table.hpp"

#include "base/hash.hpp"

namespace ferry {

OpTable::OpTable() : attrs_(1), annotations_(1) {
  files_.intern("");
}

OpTable::~OpTable() = default;

void OpTable::reserve(OpId ops) {
  records_.reserve(ops);
  value_types_.reserve(ops);
  value_ops_.reserve(ops);
  names_.reserve(ops);
  op_of_name_.reserve(ops);
}

OpId OpTable::append(NewOp op) {
  const OpId id = size();
  Record record{};
  record.def = &op.def;
  record.first_input = static_cast<std::uint32_t>(inputs_.size());
  record.inputs = static_cast<std::uint32_t>(op.inputs.size());
  inputs_.insert(inputs_.end(), op.inputs.begin(), op.inputs.end());
  record.first_after = static_cast<std::uint32_t>(afters_.size());
  record.afters = static_cast<std::uint32_t>(op.after.size());
  afters_.insert(afters_.end(), op.after.begin(), op.after.end());
  record.first_output = values();
  record.outputs = static_cast<std::uint32_t>(op.types.size());
  if (!op.attrs.empty()) {
    record.attrs = static_cast<std::uint32_t>(attrs_.size());
    attrs_.push_back(std::move(op.attrs));
  }
  if (op.annotation != nullptr) record.annotation = intern(*op.annotation);
  record.remade = op.remade & 0x7fffffffU;
  record.name = names_.intern(op.name);
  op_of_name_.resize(names_.size(), id);
  op_of_name_[record.name] = id;
  record.file = files_.intern(op.line.file);
  record.line = op.line.line;
  records_.push_back(record);
  for (const Type& type : op.types) {
    value_types_.push_back(intern(type));
    value_ops_.push_back(id);
  }
  return id;
}

void OpTable::annotate(OpId op, const Annotation& annotation) {
  records_[op].annotation = intern(annotation);
}

void OpTable::rename(OpId op, std::string_view name) {
  op_of_name_[records_[op].name] = kNoOp;
  records_[op].name = names_.intern(name);
  op_of_name_.resize(names_.size(), kNoOp);
  op_of_name_[records_[op].name] = op;
}

void OpTable::add_after(OpId op, std::span<const OpId> earlier) {
  std::vector<OpId> all(after(op).begin(), after(op).end());
  for (OpId id : earlier) {
    FERRY_ASSERT(id < op, "a control input must come before its op");
    all.push_back(id);
  }
  records_[op].first_after = static_cast<std::uint32_t>(afters_.size());
  records_[op].afters = static_cast<std::uint32_t>(all.size());
  afters_.insert(afters_.end(), all.begin(), all.end());
}

std::string OpTable::fresh_name(const std::string& stem) {
  std::uint32_t& counter = name_counters_[stem];
  for (;;) {
    std::string name = counter == 0 ? stem : stem + "_" + std::to_string(counter);
    ++counter;
    if (!find(name)) return name;
  }
}

std::optional<OpId> OpTable::find(std::string_view name) const {
  const std::uint32_t id = names_.find(name);
  if (id == StringPool::kNone || op_of_name_[id] == kNoOp) return std::nullopt;
  return op_of_name_[id];
}

std::uint32_t OpTable::intern(const Type& type) {
  if (!value_types_.empty() && types_[value_types_.back()] == type) return value_types_.back();
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(type.dtype));
  for (const Dim& dim : type.shape.dims()) hasher.add(dim.size()).add(dim.symbol());
  const std::uint64_t hash = hasher.digest();
  const auto [first, last] = type_index_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (types_[it->second] == type) return it->second;
  const auto id = static_cast<std::uint32_t>(types_.size());
  types_.push_back(type);
  type_index_.emplace(hash, id);
  return id;
}

std::uint32_t OpTable::intern(const Annotation& annotation) {
  if (annotations_.back() == annotation) return static_cast<std::uint32_t>(annotations_.size() - 1);
  if (annotation == annotations_.front()) return 0;
  Hasher hasher;
  hasher.add(annotation.device.str()).add(annotation.mesh);
  for (const Layout& layout : annotation.layouts) hasher.add(str(layout));
  const std::uint64_t hash = hasher.digest();
  const auto [first, last] = annotation_index_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (annotations_[it->second] == annotation) return it->second;
  const auto id = static_cast<std::uint32_t>(annotations_.size());
  annotations_.push_back(annotation);
  annotation_index_.emplace(hash, id);
  return id;
}

}  // namespace ferry
