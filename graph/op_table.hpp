// OpTable: the ops of a graph, as records of fixed size. It stores equal types, annotations and file names once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "graph/annotation.hpp"
#include "graph/op/attrs.hpp"
#include "graph/op/op_def.hpp"
#include "graph/types/shape.hpp"
#include "graph/types/string_pool.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Ops are appended and never removed. Not thread-safe while it changes.
class OpTable {
 public:
  struct NewOp {
    const OpDef& def;
    std::span<const ValueId> inputs;
    Attrs attrs;
    const Annotation* annotation = nullptr;  ///< null: none
    std::span<const OpId> after = {};
    std::uint32_t remade = 0;
    std::string_view name;  ///< no other op has it
    const SourceLine& line;
    std::span<const Type> types;  ///< of the outputs
  };

  OpTable();
  OpTable(const OpTable&) = delete;
  OpTable& operator=(const OpTable&) = delete;
  ~OpTable();
  /// Reserves memory for `ops` ops.
  void reserve(OpId ops);
  void prefetch(std::string_view name) const { names_.prefetch(name); }
  OpId append(NewOp op);
  void annotate(OpId op, const Annotation& annotation);
  /// Precondition: no other op has `name`.
  void rename(OpId op, std::string_view name);
  /// Makes the op run after `earlier`, which come before it in the table.
  void add_after(OpId op, std::span<const OpId> earlier);
  void mark_recomputed(OpId op) { records_[op].recomputed = true; }
  /// Returns the first of the names "matmul", "matmul_1", … that no op has.
  [[nodiscard]] std::string fresh_name(const std::string& stem);

  [[nodiscard]] OpId size() const { return static_cast<OpId>(records_.size()); }
  [[nodiscard]] const OpDef& def(OpId op) const { return *records_[op].def; }
  [[nodiscard]] std::string_view name(OpId op) const { return names_[records_[op].name]; }
  [[nodiscard]] std::span<const ValueId> inputs(OpId op) const {
    return {inputs_.data() + records_[op].first_input, records_[op].inputs};
  }
  [[nodiscard]] std::uint32_t outputs(OpId op) const { return records_[op].outputs; }
  [[nodiscard]] ValueId first_output(OpId op) const { return records_[op].first_output; }
  [[nodiscard]] std::span<const OpId> after(OpId op) const {
    return {afters_.data() + records_[op].first_after, records_[op].afters};
  }
  [[nodiscard]] const Attrs& attrs(OpId op) const { return attrs_[records_[op].attrs]; }
  [[nodiscard]] const Annotation& annotation(OpId op) const { return annotations_[records_[op].annotation]; }
  [[nodiscard]] std::uint32_t remade(OpId op) const { return records_[op].remade; }
  [[nodiscard]] bool recomputed(OpId op) const { return records_[op].recomputed; }
  [[nodiscard]] SourceLine line(OpId op) const { return {files_[records_[op].file], records_[op].line}; }
  /// The op of that name, if there is one.
  [[nodiscard]] std::optional<OpId> find(std::string_view name) const;

  [[nodiscard]] ValueId values() const { return static_cast<ValueId>(value_types_.size()); }
  [[nodiscard]] OpId producer(ValueId value) const { return value_ops_[value]; }
  [[nodiscard]] const Type& type(ValueId value) const { return types_[value_types_[value]]; }

 private:
  static constexpr OpId kNoOp = 0xffffffffU;

  struct Record {
    const OpDef* def;
    std::uint32_t first_input, inputs;
    std::uint32_t first_after, afters;
    ValueId first_output;
    std::uint32_t outputs;
    std::uint32_t name, attrs, annotation, file;
    std::uint32_t remade : 31, recomputed : 1;
    int line;
  };

  std::uint32_t intern(const Type& type);
  std::uint32_t intern(const Annotation& annotation);

  std::vector<Record> records_;
  std::vector<ValueId> inputs_;
  std::vector<OpId> afters_;
  std::vector<std::uint32_t> value_types_;
  std::vector<OpId> value_ops_;
  std::vector<Type> types_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> type_index_;
  std::vector<Attrs> attrs_;             // the first is empty
  std::vector<Annotation> annotations_;  // the first is empty
  std::unordered_multimap<std::uint64_t, std::uint32_t> annotation_index_;
  StringPool names_;  // names_[i] belongs to op_of_name_[i]
  std::vector<OpId> op_of_name_;
  StringPool files_;
  std::unordered_map<std::string, std::uint32_t> name_counters_;
};

}  // namespace ferry
#pragma GCC visibility pop
