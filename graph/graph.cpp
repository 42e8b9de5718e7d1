#include "graph/graph.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/float_state.hpp"
#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "graph/op/core_ops.hpp"

namespace ferry {

// ---- Value, Op, Scope ----

Op Value::op() const {
  return graph_->op(graph_->producer(id_));
}
const Type& Value::type() const {
  return static_cast<const Graph*>(graph_)->type(id_);
}
std::string Value::name() const {
  return graph_->value_name(id_);
}

bool Literal::fits(DType dtype) const {
  if (!integer_ || !ferry::is_integer(dtype)) return holds(dtype, real_);
  return dispatch(dtype, [this](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>)
      return negative_ ? std::is_signed_v<T> &&
                             static_cast<std::int64_t>(bits_) >= static_cast<std::int64_t>(Limits::lowest())
                       : bits_ <= static_cast<std::uint64_t>(Limits::max());
    else
      return false;
  });
}

std::string Literal::str() const {
  if (integer_) return negative_ ? std::to_string(static_cast<std::int64_t>(bits_)) : std::to_string(bits_);
  return digits_text(real_, 6);
}

Value Value::named(std::string_view name) const {
  graph_->rename(graph_->producer(id_), name);
  return *this;
}

Value Value::laid(const Layout& layout) const {
  const Op op = this->op();
  Annotation annotation = op.annotation();
  if (annotation.mesh == kNoMesh)
    throw Error(Code::plan, "laid: " + op.str() + " is on no mesh")
        .at(op.line())
        .hint("make it in a scope of Graph::on(mesh)");
  const Mesh& mesh = graph_->meshes()[annotation.mesh];
  if (layout.size() != mesh.axes.size())
    throw Error(Code::plan, "laid: " + name() + " gets a layout for " + std::to_string(layout.size()) +
                                (layout.size() == 1 ? " axis" : " axes") + ", and its mesh " + mesh.str() + " has " +
                                std::to_string(mesh.axes.size()))
        .at(op.line())
        .hint("give split(dim), replicated() or partial() for each axis of the mesh, in their order");
  for (const AxisLayout& axis : layout)
    if (axis.kind == AxisLayout::Kind::split && (axis.dim < 0 || axis.dim >= rank()))
      throw Error(Code::plan, "laid: split(" + std::to_string(axis.dim) + ") of " + name() + " " + type().str() +
                                  ", which has no dim " + std::to_string(axis.dim))
          .at(op.line())
          .hint(rank() == 0 ? "replicated()"
                            : "split(0) to split(" + std::to_string(rank() - 1) + "), or replicated()");
  annotation.layouts.resize(static_cast<std::size_t>(op.outputs()));
  annotation.layouts[id_ - op.output(0)] = layout;
  graph_->annotate(op.id(), annotation);
  return *this;
}

const OpDef& Op::def() const {
  return graph_->ops_.def(id_);
}
std::string_view Op::name() const {
  return graph_->ops_.name(id_);
}
std::span<const ValueId> Op::inputs() const {
  return graph_->ops_.inputs(id_);
}
int Op::outputs() const {
  return static_cast<int>(graph_->ops_.outputs(id_));
}
ValueId Op::output(int i) const {
  return graph_->ops_.first_output(id_) + static_cast<ValueId>(i);
}
std::span<const OpId> Op::after() const {
  return graph_->ops_.after(id_);
}
const Attrs& Op::attrs() const {
  return graph_->ops_.attrs(id_);
}
std::uint32_t Op::remade() const {
  return graph_->ops_.remade(id_);
}
bool Op::recomputed() const {
  return graph_->ops_.recomputed(id_);
}
const Annotation& Op::annotation() const {
  return graph_->ops_.annotation(id_);
}
SourceLine Op::line() const {
  return graph_->ops_.line(id_);
}
std::string Op::str() const {
  std::string text = formatted("{} ({})", name(), def().name);
  return line().known() ? text + " at " + line().str() : text;
}

Scope::~Scope() {
  if (graph_ != nullptr) graph_->leave(what_);
}

// ---- Graph: leaves ----

Graph::Graph() = default;
Graph::~Graph() = default;

Value Graph::constant(Tensor value, const On& place, source_location at) {
  const Scope here = device(place.device);
  return add(kConstant, {}, {{"value", std::move(value)}}, at)[0];
}

Value Graph::constant(Literal value, DType dtype, source_location at) {
  if (is_integer(dtype) && !value.fits(dtype))
    throw Error(Code::plan, "the number " + value.str() + " is not a value of " + std::string(name_of(dtype)))
        .at(at)
        .hint("give the constant a dtype that holds the number, such as DType::float32");
  Tensor tensor(dtype, {});
  const DefaultFloats floats;
  dispatch(dtype, [&](auto zero) { tensor.mutable_data<decltype(zero)>()[0] = value.as<decltype(zero)>(); });
  return constant(std::move(tensor), {}, at);
}

Value Graph::input(std::string_view name, DType dtype, Shape shape, source_location at) {
  return add(kInput, {}, {{"dtype", dtype}, {"shape", std::move(shape)}}, at)[0].named(name);
}

Value Graph::variable(std::string_view name, const Value& initial, source_location at) {
  if (parent_ != nullptr || !body_scopes_.empty())
    throw Error(Code::plan, "variable '{}' is made in a body of control flow", name)
        .at(at)
        .hint("make it before the loop or branch, and carry or capture its value");
  if (!initial.shape().fixed())
    throw Error(Code::plan, "variable '" + std::string(name) + "': its initial value has shape " +
                                initial.shape().str() + "; all sizes of a variable must be known")
        .at(at)
        .hint("make the initial value of sizes that are numbers: a variable cannot have the size of a batch");
  const Value variable =
      add(kVariable, {}, {{"dtype", initial.dtype()}, {"shape", initial.shape()}}, at)[0].named(name);
  const Value inputs[] = {variable, initial};
  const Value assigned = add(kAssign, inputs, {}, at)[0];
  assigned.named(variable.name() + "/init");
  annotate(assigned.op().id(), variable.op().annotation());
  target("init", assigned);
  return variable;
}

// ---- Scopes ----

Scope Graph::device(std::string_view spec) {
  return device(DeviceSpec::parse(spec));
}

Scope Graph::device(const DeviceSpec& spec) {
  if (!body_scopes_.empty()) return current().device(spec);
  scopes_.enter_device(spec);
  return {this, Scopes::Kind::annotation};
}

Scope Graph::on(MeshId mesh) {
  if (!body_scopes_.empty()) return current().on(mesh);
  if (mesh >= meshes().size())
    throw Error(Code::plan, "this graph has no mesh {}", mesh)
        .hint("on() takes what mesh() of the same graph returned");
  return annotated({{}, mesh, {}});
}

Scope Graph::annotated(Annotation annotation) {
  if (!body_scopes_.empty()) return current().annotated(std::move(annotation));
  scopes_.enter(std::move(annotation));
  return {this, Scopes::Kind::annotation};
}

Scope Graph::name(std::string_view name) {
  if (!body_scopes_.empty()) return current().name(name);
  scopes_.enter_name(name);
  return {this, Scopes::Kind::name};
}

Scope Graph::after(std::span<const Value> values) {
  if (!body_scopes_.empty()) return current().after(values);
  std::vector<OpId> ops;
  for (const Value& value : values) ops.push_back(producer(capture(value).id()));
  scopes_.enter_after(ops);
  return {this, Scopes::Kind::after};
}

Scope Graph::line(const SourceLine& line) {
  if (!body_scopes_.empty()) return current().line(line);
  scopes_.enter(line);
  return {this, Scopes::Kind::line};
}

SourceLine Graph::line_for(const SourceLine& given) const {
  return body_scopes_.empty() ? scopes_.line_for(given) : body_scopes_.back()->line_for(given);
}

Scope Graph::remade() {
  if (!body_scopes_.empty()) return current().remade();
  scopes_.enter_remade();
  return {this, Scopes::Kind::remade};
}

Scope Graph::build(Graph& body) {
  FERRY_ASSERT(body.parent_ == this, "only a subgraph of this graph can be built in its place");
  body_scopes_.push_back(&body);
  return {this, std::nullopt};
}

void Graph::leave(std::optional<Scopes::Kind> what) {
  if (what)
    scopes_.leave(*what);
  else
    body_scopes_.pop_back();
}

MeshId Graph::mesh(std::string_view axis, std::string_view devices) {
  return mesh(std::vector<Mesh::Axis>{{std::string(axis), Mesh::kOpen}}, devices);
}

MeshId Graph::mesh(std::vector<Mesh::Axis> axes, std::string_view devices) {
  return mesh(Mesh{std::move(axes), DeviceSpec::parse(devices)});
}

MeshId Graph::mesh(Mesh mesh) {
  FERRY_ASSERT(parent_ == nullptr, "a mesh belongs to the outermost graph");
  int open = 0;
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k)
      if (mesh.axes[k].name == mesh.axes[i].name)
        throw Error(Code::plan, "mesh " + mesh.str() + ": the axis '" + mesh.axes[i].name + "' is named twice")
            .hint("give each axis a name of its own");
    if (mesh.axes[i].size == Mesh::kOpen)
      ++open;
    else if (mesh.axes[i].size < 1)
      throw Error(Code::plan, "mesh " + mesh.str() + ": an axis must have a size of 1 or more")
          .hint("Mesh::kOpen gives one axis all tasks that the others leave");
  }
  if (mesh.axes.empty() || open > 1)
    throw Error(Code::plan, "mesh " + mesh.str() + ": it needs an axis, and at most one may be open")
        .hint("give the other axes sizes, such as {{\"dp\", Mesh::kOpen}, {\"tp\", 2}}");
  const auto found = std::find(meshes_.begin(), meshes_.end(), mesh);
  if (found != meshes_.end()) return static_cast<MeshId>(found - meshes_.begin());
  meshes_.push_back(std::move(mesh));
  return static_cast<MeshId>(meshes_.size() - 1);
}

// ---- Building ----

void Graph::annotate(OpId op, const Annotation& annotation) {
  ops_.annotate(op, annotation);
}

void Graph::rename(OpId op, std::string_view name) {
  const std::string full = scopes_.prefix() + std::string(name);
  if (name.empty())
    throw Error(Code::plan, "an op's name is empty").at(this->op(op).line()).hint("name it, or leave named() out");
  if (full == this->op(op).name()) return;
  if (const auto other = find(full))
    throw Error(Code::plan, "the name '{}' is taken by {}", full, as_is(this->op(*other).str()))
        .at(this->op(op).line())
        .hint("choose another name; Graph::name(\"part\") puts \"part/\" before all names in its scope");
  ops_.rename(op, full);
}

void Graph::add_after(OpId op, std::span<const OpId> earlier) {
  ops_.add_after(op, earlier);
}

void Graph::budget(const Budget& limits) {
  if (parent_ != nullptr) throw Error(Code::plan, "a body of control flow has no budget").hint("set it on the graph");
  for (const std::optional<std::int64_t>& limit : {limits.bytes, limits.messages, limits.memory})
    if (limit && *limit < 0) throw Error(Code::usage, "a budget of {}", *limit).hint("0 or more");
  budget_ = limits;
}

void Graph::auto_place() {
  if (parent_ != nullptr)
    throw Error(Code::plan, "a body of control flow is not placed apart from its graph").hint("call it on the graph");
  auto_placed_ = true;
}

void Graph::mark_recomputed(OpId op) {
  ops_.mark_recomputed(op);
}

// ---- Subgraphs ----

Graph& Graph::add_subgraph(std::string_view name) {
  if (!body_scopes_.empty()) return current().add_subgraph(name);
  subgraphs_.push_back(std::make_unique<Graph>());
  Graph& body = *subgraphs_.back();
  body.parent_ = this;
  body.scopes_ = scopes_.for_body(name);
  return body;
}

void Graph::drop_subgraph() {
  if (!body_scopes_.empty()) return current().drop_subgraph();
  subgraphs_.pop_back();
}

std::uint32_t Graph::subgraphs() const {
  return static_cast<std::uint32_t>(subgraphs_.size());
}

const Graph& Graph::subgraph(SubgraphRef ref) const {
  return *subgraphs_[ref.index];
}

Graph& Graph::subgraph(SubgraphRef ref) {
  return *subgraphs_[ref.index];
}

Value Graph::parameter(const Type& type, const SourceLine& line, std::string_view name) {
  FERRY_ASSERT(parent_ != nullptr, "only subgraphs have parameters");
  const Value value = append(kParameter, {}, {{"dtype", type.dtype}, {"shape", type.shape}}, line, name)[0];
  parameters_.push_back(value.id());
  return value;
}

std::optional<ValueId> Graph::captured_by(ValueId parameter) const {
  const auto capturing = std::span(parameters_).last(captures_.size());
  const auto found = std::find(capturing.begin(), capturing.end(), parameter);
  if (found == capturing.end()) return std::nullopt;
  return captures_[found - capturing.begin()];
}

void Graph::set_results(std::span<const Value> results) {
  results_.clear();
  for (const Value& result : results) results_.push_back(capture(result).id());
}

Value Graph::capture(const Value& value, std::string_view name) {
  if (!value.defined())
    throw Error(Code::plan, "an undefined value is used").hint("assign the Value before you use it: Value() has no op");
  if (&value.graph() == this) return value;
  if (parent_ == nullptr)
    throw Error(Code::plan, "'{}' belongs to another graph, or to a body of control flow", value.name())
        .at(value.op().line())
        .hint("use values of this graph; a body gives values only as its results");
  const Value outer = parent_->capture(value);
  if (const auto found = parameter_of_capture_.find(outer.id()); found != parameter_of_capture_.end())
    return {this, found->second};
  const Value inner = parameter(outer.type(), outer.op().line(), name);
  captures_.push_back(outer.id());
  parameter_of_capture_.emplace(outer.id(), inner.id());
  return inner;
}

// ---- Entries ----

Entry& Graph::entry(std::string_view name) {
  const auto found = entries_.find(name);
  return found != entries_.end() ? found->second : entries_[std::string(name)];
}

void Graph::fetch(std::string_view entry_name, std::string_view name, const Value& value) {
  entry(entry_name).fetches.push_back({std::string(name), capture(value).id()});
}

void Graph::target(std::string_view entry_name, const Value& value) {
  entry(entry_name).targets.push_back(producer(capture(value).id()));
}

// ---- Reading ----

std::string Graph::value_name(ValueId value) const {
  const Op op = this->op(producer(value));
  const ValueId index = value - op.output(0);
  return std::string(op.name()) + (index == 0 ? "" : ":" + std::to_string(index));
}

ValueId Graph::value_named(std::string_view name) const {
  std::string_view op_name = name;
  std::uint32_t output = 0;
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos && !find(name)) {
    op_name = name.substr(0, colon);
    const std::string_view digits = name.substr(colon + 1);
    if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string_view::npos)
      op_name = name;
    else
      output = static_cast<std::uint32_t>(std::stoul(std::string(digits)));
  }
  const auto id = find(op_name);
  if (id && output < static_cast<std::uint32_t>(op(*id).outputs())) return op(*id).output(static_cast<int>(output));
  std::vector<std::string> known;
  for (OpId i = 0; i < size(); ++i) known.emplace_back(op(i).name());
  const std::string close = nearest(name, known);
  Error error(Code::usage, "no value is named '{}'", name);
  if (!close.empty()) error.hint("did you mean '" + close + "'?");
  throw error;
}

std::span<const Mesh> Graph::meshes() const {
  return root().meshes_;
}

const Tensor* Graph::constant_value(ValueId value) const {
  const Op op = this->op(producer(value));
  return &op.def() == &kConstant ? &op.attrs().get<Tensor>("value") : nullptr;
}

std::vector<OpId> Graph::variables() const {
  std::vector<OpId> result;
  for (OpId i = 0; i < size(); ++i)
    if (&ops_.def(i) == &kVariable) result.push_back(i);
  return result;
}

}  // namespace ferry
