// OpDef: everything ferry knows about an op, in one place, as data. See docs/internals/add_an_op.md.
//
//     static constexpr OpDef kMatMul{.name = "MatMul", .types = "T,T->T", .T = kFloats,
//                                    .index = "...mk,...kn->...mn", .reduce = Reduce::sum};
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op/attrs.hpp"
#include "graph/types/layout.hpp"
#include "graph/types/shape.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class GradCtx;
class Value;
struct Batches;
struct SlidingDim;
struct WindowOf;
using Values = std::vector<Value>;

/// An attribute of an op.
struct AttrDef {
  std::string_view name;  ///< a key of Attrs
  std::string_view kind;  ///< kind_name() of its values: "int64", "string", …
  bool required = true;   ///< an op without it is an error
};

/// The properties of an op in a graph, for shape inference and the functions of an OpDef.
class OpFacts {
 public:
  virtual ~OpFacts() = default;
  [[nodiscard]] virtual int inputs() const = 0;
  [[nodiscard]] virtual const Type& input(int i) const = 0;
  [[nodiscard]] virtual const Attrs& attrs() const = 0;
  /// The value of input i if it is a constant, else nullptr.
  [[nodiscard]] virtual const Tensor* constant(int i) const = 0;
  /// The types of the results of the subgraph that attribute `name` refers to.
  [[nodiscard]] virtual std::vector<Type> results(std::string_view name) const = 0;

  [[nodiscard]] const Shape& shape(int i) const { return input(i).shape; }
  template <class T>
  [[nodiscard]] const T& attr(std::string_view name) const {
    return attrs().get<T>(name);
  }
  /// `axis` as a dim of input i; a negative axis counts from the end. Throws Error(plan) if it is out of range.
  [[nodiscard]] int axis(int i, std::int64_t axis) const;
  /// Stops inference with an error; the caller adds the op's name, inputs and line to it.
  [[noreturn]] static void fail(const std::string& why);
};

/// Kinds of arithmetic with different times of a flop (compute_costs.hpp).
enum class WorkKind : std::uint8_t { element, product, convolution, reduction };

/// The work of an op, on whole values or on one task's parts of them.
struct OpWork {
  /// Operations on elements: products, additions, comparisons. A function such as exp counts as the operations that
  /// compute it.
  double flops = 0;
  double bytes = 0;                   ///< that the kernel reads from memory and writes to memory
  WorkKind kind = WorkKind::element;  ///< kind of its arithmetic
};

using InferFn = std::vector<Shape> (*)(const OpFacts&);
/// Returns the flops or the bytes of an op from the types of its inputs and outputs, which may be one task's parts of
/// whole values. A size that is not known counts as 1 (known_count() in graph/op/op_work.hpp).
using AmountFn = double (*)(const OpFacts&, std::span<const Type> outputs);
using IndexFn = std::string (*)(const OpFacts&);
using GradFn = Values (*)(GradCtx&);

/// Returns the number of an input that output 0 equals, element by element and bit for bit, if their types are equal.
/// -1: there is none.
using SameFn = int (*)(const OpFacts&);
/// Whether the op undoes an op of the same definition with the attributes `before`: applied to that op's result, it
/// returns that op's input. `own` are its own attributes.
using UndoesFn = bool (*)(const Attrs& own, const Attrs& before);

/// Returns the dim along which an op concatenates its inputs, each of `rank` dims.
using JoinFn = std::size_t (*)(const Attrs&, std::size_t rank);

/// Returns the part of input 0 that an op with these inputs reads; nothing if its output is not a window of input 0.
/// Sizes are known.
using WindowFn = std::optional<WindowOf> (*)(const OpFacts&);
/// Returns the dims along which an op with these inputs slides windows. Sizes are known.
using SlidesFn = std::vector<SlidingDim> (*)(const OpFacts&);
/// Returns the batches of an op with these inputs. The op outputs one batch in each step.
using BatchesFn = Batches (*)(const OpFacts&);

/// The special role of an op in the graph and in planning, if it is more than a function of its inputs.
enum class OpRole : std::uint8_t {
  function,  ///< no special role: nearly all ops
  constant,
  input,
  variable,
  assign,
  parameter,
  take_part,    ///< extracts a task's part from a value that the task holds whole
  cut_halo,     ///< extracts the rows of a task's part that other tasks read
  window,       ///< reads a value, or a task's part of it with the halo, at shifted positions
  fill_bound,   ///< pads a bounded value with zeros up to its bound
  extent_of,    ///< returns the extent of a bounded value
  with_extent,  ///< makes a bounded value from a padded one and an extent
};

/// Flags of an op.
enum OpFlag : std::uint32_t {
  kStateful = 1U << 0,     ///< reads or writes state outside its inputs: never merged with an equal op or folded
  kRandom = 1U << 1,       ///< draws random numbers from (name, seed, step, element): never merged or folded
  kEffect = 1U << 2,       ///< has an effect besides its outputs: pruning keeps it if it is a target
  kControlFlow = 1U << 3,  ///< owns subgraphs; planned as regions
  kView = 1U << 4,         ///< output 0 has the bytes of input 0: no kernel is run
  kOnce = 1U << 5,         ///< has the same value in every step: computed once per session
  kLocal = 1U << 6,  ///< has a value that depends on the task: must be annotated with one device, and is never moved
  kMoves =
      1U << 7,  ///< only moves elements: the elements of its outputs come from input 0, or from all inputs of a list
  /// Each output element is one operation on integers or bools, a comparison, or one operation of IEEE 754, so all
  /// processors compute the same bits. The op is folded if its inputs are constants. Ops that only move elements are
  /// exact without this flag.
  kExact = 1U << 8,
  /// The op's output begins or ends a microbatch. A pipeline orders the work between the two ops
  /// (ops/control/microbatch.hpp has the attributes).
  kEntersMicrobatch = 1U << 9,
  kLeavesMicrobatch = 1U << 10,
  /// The assignment that the op reads runs separately for each worker. A worker may be ahead of others by at most as
  /// many steps as the attribute `staleness` (ops/train/asynchronous.hpp).
  kAsynchronous = 1U << 11,
  kOnHost = 1U << 12,   ///< uses the memory of the host: runs on the host of its task even if it is placed on a GPU
  kCommutes = 1U << 13  ///< broadcasts its two inputs, which may be swapped: only the bits of NaN may change
};

/// The definition of one op. Instances are constants that live as long as the program.
struct OpDef {
  std::string_view name;  ///< the op's name in graph files, such as "MatMul"
  int version = 1;        ///< increase it when the meaning of the op changes

  /// dtypes: "T,T->T", "T,int64->T,bool", "T...->T" (any number of inputs of one dtype), "T->T..." (as many outputs as
  /// there are shapes), "*...->*..." (any dtypes; output i as input i), "->@dtype" (the attribute `dtype`, or the dtype
  /// of a tensor attribute), "*...->%body..." (the results of the subgraph `body`). T and U range over the sets below.
  std::string_view types;
  DTypeSet T = kNumbers;                ///< the dtypes that T stands for
  DTypeSet U = kNumbers;                ///< the dtypes that U stands for
  std::span<const AttrDef> attrs = {};  ///< all attributes of the op

  /// Index notation (docs/internals/add_an_op.md): "...mk,...kn->...mn". Each letter binds to one size. "..." are the
  /// leading dims, broadcast as in numpy. "[n]" marks a letter that may not be split. "(n)" also means that the
  /// letter's position follows from the other letters' positions, so that it adds no work. Set `index_of` instead if
  /// the notation depends on attributes or ranks. ferry derives from the notation the shape check, the output shapes
  /// (unless `infer` is set), the cost and the legal layouts.
  std::string_view index = {};
  IndexFn index_of = nullptr;  ///< returns the index notation; null: it is `index`
  /// The reduction that combines partial results over a contracted letter.
  Reduce reduce = Reduce::none;
  /// Bit mask of the inputs in which the op is linear together: if these inputs are partial sums and the other inputs
  /// are whole, the output is a partial sum.
  std::uint32_t linear = 0;
  /// The dtypes of these inputs for which `linear` holds. A quotient of integers is rounded, so the quotients of
  /// partial sums do not add up to the quotient of the sum.
  DTypeSet linear_for = kNumbers;
  /// Bit mask of the inputs that give only their sizes. Such an input may have any layout on any device. ferry
  /// moves nothing for it and does not keep its bytes, unless it is bounded (its extent is data). Kernels get no bytes
  /// of it.
  std::uint32_t unread = 0;
  /// Computes the output shapes if the notation does not determine them.
  InferFn infer = nullptr;

  /// Set for an op that concatenates its inputs: each input may then be computed directly into its part of the output.
  JoinFn joins = nullptr;

  /// Set for an op that outputs a window of input 0, such as a slice. If the op is split along a dim that it reads at
  /// shifted positions, tasks receive the rows that they read from other tasks (a halo), and kWindow replaces the op.
  WindowFn window = nullptr;
  /// Set for an op that slides windows over its inputs, such as a convolution. The op may then be split along these
  /// dims, and tasks receive the rows that they read from other tasks. Its kernel must use the positions at which its
  /// arrays begin.
  SlidesFn slides = nullptr;

  /// Set for an op that outputs the rows of a step. If the last batch of an epoch is smaller (Batches::uneven),
  /// planning sets the attribute `rows` to the size of dim 0 of the outputs: there is a plan for each size.
  BatchesFn batches = nullptr;

  /// Set for an op that may return an input unchanged, such as a product with ones. A view (kView) with its input's
  /// type does not need it.
  SameFn same = nullptr;
  /// Set for an op that may undo an op of the same definition, such as a transpose.
  UndoesFn undoes = nullptr;

  /// Flops for each point of the index space. Without index notation: for each element of the outputs.
  double flops = 1;
  /// Returns the flops of the whole op. Set for an op with flops that are not in proportion to the points, such as a
  /// sort.
  AmountFn flops_of = nullptr;
  /// Returns the bytes of memory traffic. Set for an op that does not read its inputs and write its outputs once, such
  /// as a gather, which reads some rows.
  AmountFn bytes_of = nullptr;
  std::uint32_t flags = 0;         ///< of OpFlag
  OpRole role = OpRole::function;  ///< function: no special role

  /// Returns the gradients of the inputs, one Value for each (an undefined Value: no gradient). Null: the op is not
  /// differentiable; then `no_grad` is the reason.
  GradFn grad = nullptr;
  std::string_view no_grad = {};  ///< reason for an op without `grad`

  [[nodiscard]] bool is(OpFlag flag) const { return (flags & flag) != 0; }
  /// The number of inputs of the op; -1: any number.
  [[nodiscard]] int input_count() const;
  /// The work of the op on whole values (graph/op/op_work.hpp: on parts). 0 for an op without a kernel of its own, such
  /// as a view, a variable or a loop. Error(plan) if the index notation does not fit the inputs.
  [[nodiscard]] OpWork work(const OpFacts& facts, std::span<const Type> outputs) const;
  /// `linear` for inputs of that dtype; 0 if the op is not linear for it.
  [[nodiscard]] std::uint32_t linear_in(DType dtype) const { return linear_for.has(dtype) ? linear : 0; }
};

/// The ops that a graph may use, by name. Callers add() each op; no op registers itself.
class OpSet {
 public:
  void add(const OpDef& def);
  void add(std::span<const OpDef* const> defs);
  /// The op of that name; null if there is none.
  [[nodiscard]] const OpDef* find(std::string_view name) const;
  [[nodiscard]] std::vector<const OpDef*> all() const;

 private:
  std::vector<const OpDef*> defs_;  // sorted by name
};

}  // namespace ferry
#pragma GCC visibility pop
