// OpDef: everything ferry knows about an op, in one place, as data. See docs/internals/add_an_op.md.
//
//     inline constexpr OpDef kMatMul{.name = "MatMul", .types = "T,T->T", .T = kFloats,
//                                    .index = "...mk,...kn->...mn", .reduce = Reduce::sum, .grad = …};
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

/// An attribute that an op takes. `kind` is kind_name() of its values.
struct AttrDef {
  std::string_view name;
  std::string_view kind;
  bool required = true;
};

/// What shape inference and the functions of an OpDef may ask about an op in a graph.
class OpFacts {
 public:
  virtual ~OpFacts() = default;
  [[nodiscard]] virtual int inputs() const = 0;
  [[nodiscard]] virtual const Type& input(int i) const = 0;
  [[nodiscard]] virtual const Attrs& attrs() const = 0;
  /// The value of input i if it is a constant, else nullptr.
  [[nodiscard]] virtual const Tensor* constant(int i) const = 0;
  /// Types of the results of the subgraph that attribute `name` refers to.
  [[nodiscard]] virtual std::vector<Type> results(std::string_view name) const = 0;

  [[nodiscard]] const Shape& shape(int i) const { return input(i).shape; }
  template <class T>
  [[nodiscard]] const T& attr(std::string_view name) const {
    return attrs().get<T>(name);
  }
  /// `axis` as a dim of input i, a negative one counted from the end; Error(plan) when out of range.
  [[nodiscard]] int axis(int i, std::int64_t axis) const;
  /// Stops inference with a message; the op's name, inputs and line are added by the caller.
  [[noreturn]] static void fail(const std::string& why);
};

/// Kinds of arithmetic with different times of a flop (compute_costs.hpp).
enum class WorkKind : std::uint8_t { element, product, convolution, reduction };

/// The work of an op, on whole values or on one task's parts of them.
struct OpWork {
  /// Operations on elements: products, additions, comparisons. A function such as exp counts as the operations that
  /// compute it.
  double flops = 0;
  double bytes = 0;  ///< that the kernel reads from memory and writes to it
  WorkKind kind = WorkKind::element;
};

using InferFn = std::vector<Shape> (*)(const OpFacts&);
/// Returns the flops or the bytes of an op from the types of its inputs and outputs, which may be one task's parts of
/// whole values. A size that is not known counts as 1 (known_count() in graph/op/op_work.hpp).
using AmountFn = double (*)(const OpFacts&, std::span<const Type> outputs);
using IndexFn = std::string (*)(const OpFacts&);
using GradFn = Values (*)(GradCtx&);

/// The number of an input that output 0 may equal, element by element and bit for bit, or -1: it does if their types
/// are equal.
using SameFn = int (*)(const OpFacts&);
/// Whether the op, applied to the result of an op of the same definition that has the attributes `before`, gives back
/// what that op took. `own` are its own attributes.
using UndoesFn = bool (*)(const Attrs& own, const Attrs& before);

/// Gives the dim along which an op concatenates its inputs, each of `rank` dims.
using JoinFn = std::size_t (*)(const Attrs&, std::size_t rank);

/// Returns the part of input 0 that an op with these inputs reads; nothing if its output is not a window of input 0.
/// Sizes are known.
using WindowFn = std::optional<WindowOf> (*)(const OpFacts&);
/// Returns the dims along which an op with these inputs slides windows. Sizes are known.
using SlidesFn = std::vector<SlidingDim> (*)(const OpFacts&);
/// Gives the batches that an op of these inputs gives, one in each step.
using BatchesFn = Batches (*)(const OpFacts&);

/// The special role of an op in the graph and in planning, if it is more than a function of its inputs.
enum class OpRole : std::uint8_t {
  function,  ///< no special role: nearly all ops
  constant,
  input,
  variable,
  assign,
  parameter,
  take_part,    ///< cuts a task's part out of a value that is whole on it
  cut_halo,     ///< gives the rows of a task's part that other tasks read
  window,       ///< reads a value, or a task's part and halo of it, at other places
  fill_bound,   ///< pads a bounded value with zeros up to its bound
  extent_of,    ///< gives the extent of a bounded value
  with_extent,  ///< makes a bounded value from a padded one and an extent
};

/// Flags of an op.
enum OpFlag : std::uint32_t {
  kStateful = 1U << 0,     ///< reads or writes state outside its inputs: never merged with an equal op or folded
  kRandom = 1U << 1,       ///< draws random numbers from (name, seed, step, element): never merged or folded
  kEffect = 1U << 2,       ///< has an effect besides its outputs: kept by pruning when targeted
  kControlFlow = 1U << 3,  ///< owns subgraphs; planned as regions
  kView = 1U << 4,         ///< output 0 has the bytes of input 0: no kernel is run
  kOnce = 1U << 5,         ///< gives the same value in every step: computed once per session
  kLocal = 1U << 6,        ///< its value depends on the task: must be annotated with one device, and is never moved
  kMoves =
      1U << 7,  ///< only moves elements: the elements of its outputs come from input 0, or from all inputs of a list
  /// Each element is one operation on integers or bools, a comparison, or one operation of IEEE 754, so that every
  /// processor gives the same bits: folded if its inputs are constants. Ops that only move elements are so anyway.
  kExact = 1U << 8,
  /// Its result begins or ends a microbatch. A pipeline orders the work between the two (ops/control/microbatch.hpp has
  /// the attributes).
  kEntersMicrobatch = 1U << 9,
  kLeavesMicrobatch = 1U << 10,
  /// The assignment that it reads is made for each worker by itself, which may be some steps ahead of others
  /// (ops/train/asynchronous.hpp; the attribute `staleness` says how many).
  kAsynchronous = 1U << 11,
  kOnHost = 1U << 12,   ///< works on the host's memory: runs on the host of its task wherever it is placed
  kCommutes = 1U << 13  ///< its two inputs are broadcast, and may be exchanged without a change of bits but of NaN
};

/// The definition of one op. Instances are constants that live as long as the program.
struct OpDef {
  std::string_view name;
  int version = 1;

  /// dtypes: "T,T->T", "T,int64->T,bool", "T...->T" (any number of inputs of one dtype), "T->T..." (as many outputs as
  /// there are shapes), "*...->*..." (any dtypes; output i as input i), "->@dtype" (the attribute `dtype`, or the dtype
  /// of a tensor attribute), "*...->%body..." (the results of the subgraph `body`). T and U range over the sets below.
  std::string_view types;
  DTypeSet T = kNumbers;
  DTypeSet U = kNumbers;
  std::span<const AttrDef> attrs = {};

  /// Index notation (docs/internals/add_an_op.md): "...mk,...kn->...mn". Each letter binds to one size. "..." are the
  /// leading dims, broadcast as numpy does. "[n]" marks a letter that may not be split; "(n)" also says that the
  /// letter's position follows from the other letters' positions, so that it adds no work. Give `index_of` instead when
  /// it depends on attributes or ranks. From it come the shape check, the output shapes (unless `infer` is given), the
  /// cost and the legal layouts.
  std::string_view index = {};
  IndexFn index_of = nullptr;
  /// How partial results over a contracted letter are combined.
  Reduce reduce = Reduce::none;
  /// Bit mask of the inputs in which the op is linear together: if these are partial sums and the others whole, the
  /// output is a partial sum.
  std::uint32_t linear = 0;
  /// The dtypes of those inputs for which that holds. A quotient of integers is rounded, so the quotients of partial
  /// sums do not add up to the quotient of the sum.
  DTypeSet linear_for = kNumbers;
  /// Bit mask of the inputs that are used only for their sizes. Such an input may have any layout on any device;
  /// nothing is moved for it and its bytes are not kept, unless it is bounded (its extent is data). Kernels get no
  /// bytes of it.
  std::uint32_t unread = 0;
  /// Output shapes where the notation does not give them.
  InferFn infer = nullptr;

  /// Set for an op that concatenates its inputs: each input may then be computed in its place in the output.
  JoinFn joins = nullptr;

  /// Set for an op with a window of input 0 as output, such as a slice. If it is split along a dim that it reads at
  /// shifted positions, tasks receive the rows that they read from others (a halo), and kWindow replaces the op.
  WindowFn window = nullptr;
  /// Set for an op that slides windows over its inputs, such as a convolution: then it may be split along these dims,
  /// and tasks get the rows that they read of others. Its kernel looks at where its arrays begin.
  SlidesFn slides = nullptr;

  /// Set for an op that gives the rows of a step. Where the last batch of an epoch is smaller (Batches::uneven), dim 0
  /// of its outputs has the size that the attribute `rows` says, which planning sets: there is a plan for each size.
  BatchesFn batches = nullptr;

  /// For ops that may do nothing, such as a product with ones: null if the op always does something. A view (kView)
  /// with its input's type needs none.
  SameFn same = nullptr;
  /// For ops that may undo each other, such as transposes.
  UndoesFn undoes = nullptr;

  /// Flops for each point of the index space. Without index notation: for each element of the outputs.
  double flops = 1;
  /// Returns all flops of the op. Set for an op with flops that are not in proportion to the points, such as a sort.
  AmountFn flops_of = nullptr;
  /// Returns the bytes of memory traffic. Set for an op that does not read its inputs and write its outputs once, such
  /// as a gather, which reads some rows.
  AmountFn bytes_of = nullptr;
  std::uint32_t flags = 0;
  OpRole role = OpRole::function;

  /// Gradients of the inputs, one Value for each (an undefined Value: none). Null: not differentiable; then
  /// `no_grad` says why.
  GradFn grad = nullptr;
  std::string_view no_grad = {};

  [[nodiscard]] bool is(OpFlag flag) const { return (flags & flag) != 0; }
  /// How many inputs the op takes; -1: any number.
  [[nodiscard]] int input_count() const;
  /// The work of the op on whole values (graph/op/op_work.hpp: on parts). 0 for an op without a kernel of its own, such
  /// as a view, a variable or a loop. Error(plan) if the index notation does not fit the inputs.
  [[nodiscard]] OpWork work(const OpFacts& facts, std::span<const Type> outputs) const;
  /// `linear` if these inputs have that dtype; 0 if the op is not linear for it.
  [[nodiscard]] std::uint32_t linear_in(DType dtype) const { return linear_for.has(dtype) ? linear : 0; }
};

/// The ops that a graph may use, by name. Lists are explicit; nothing registers itself.
class OpSet {
 public:
  void add(const OpDef& def);
  void add(std::span<const OpDef* const> defs);
  /// The op of that name; null when there is none.
  [[nodiscard]] const OpDef* find(std::string_view name) const;
  [[nodiscard]] std::vector<const OpDef*> all() const;

 private:
  std::vector<const OpDef*> defs_;  // sorted by name
};

}  // namespace ferry
#pragma GCC visibility pop
