// Makes the model of layouts of a program.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/planned_time.hpp"
#include "graph/op/op_work.hpp"
#include "placement/choose/conversion_times.hpp"
#include "placement/choose/message_times.hpp"
#include "placement/choose/model.hpp"
#include "placement/choose/shared_sums.hpp"
#include "placement/choose/value_lives.hpp"
#include "placement/layout/computing_times.hpp"
#include "placement/layout/strategy.hpp"
#include "placement/layout/ways.hpp"
#include "placement/program/parts.hpp"

namespace ferry {
namespace {

/// The possible layouts of a value: one for each choice of a variable of the problem; without a variable, a single
/// layout.
struct Layouts {
  std::uint32_t variable = kNone;
  std::vector<ConversionTimes::Number> by_choice;
};

/// A reader of a value, and the layout in which it reads.
struct Demand {
  Layouts wanted;
  std::int64_t weight = 1;
  std::uint32_t point = 0;  // ValueLives::point of the reader
};

}  // namespace

class ModelMaker {
 public:
  ModelMaker(const Program& program, const AutoMesh& auto_mesh)
      : program_(program),
        auto_mesh_(auto_mesh),
        mesh_(program.auto_where),
        where_(program.wheres[mesh_]),
        times_(program),
        conversions_(program, mesh_),
        weights_(program.regions.size(), 1),
        shares_(sums_that_share(program)),
        lives_(program),
        demands_(program.values.size()),
        sources_(program.values.size()) {}

  LayoutModel run() {
    set_weights(0);
    choose_unit();
    region(0);
    for (PValueId value = 0; value < demands_.size(); ++value)
      if (!sources_[value].by_choice.empty()) add_conversion_costs(value);
    for (auto& [ends, costs] : edges_) model_.problem_.edges.push_back({ends.first, ends.second, std::move(costs)});
    return std::move(model_);
  }

 private:
  // ---- Weights ----

  /// Sets weights_: bodies of loops run several times.
  void set_weights(ProgramRegionId id) {
    for (const NodeId node_id : program_.regions[id].order) {
      const Node& node = program_.nodes[node_id];
      if (node.kind != NodeKind::loop && node.kind != NodeKind::branch) continue;
      const std::int64_t often = node.kind == NodeKind::loop ? kIterations : 1;
      for (const ProgramRegionId body : {node.detail, node.detail + 1}) {
        weights_[body] = std::min(weights_[id] * often, kIterations * kIterations);
        set_weights(body);
      }
    }
  }

  /// Makes the unit of costs so large that no sum of costs comes near kImpossible.
  void choose_unit() {
    double most = 0;
    for (ProgramRegionId id = 0; id < program_.regions.size(); ++id)
      for (const NodeId node_id : program_.regions[id].order) {
        const Node& node = program_.nodes[node_id];
        std::int64_t bytes = 0;
        for (const PValueId output : node.outputs) bytes += known_bytes(program_.values[output].type);
        const double messages = bytes > 0 ? kConversions * static_cast<double>(slowest_message(bytes)) : 0;
        const double computing = node.kind == NodeKind::compute && node.where == mesh_
                                     ? static_cast<double>(times_.of(node, replicated_way(node)))
                                     : 0;
        most += static_cast<double>(weights_[id]) * (messages + computing);
      }
    model_.unit_ = std::max<std::int64_t>(1, std::llround(most / (static_cast<double>(kImpossible) / 16)));
  }

  /// The time of a message of `bytes` bytes over all tasks of the mesh, on the slowest link.
  [[nodiscard]] std::int64_t slowest_message(std::int64_t bytes) const {
    const auto members = static_cast<std::int64_t>(where_.tasks.size());
    std::int64_t slowest = 0;
    for (const LinkCost& link : {program_.topology->on_host, program_.topology->between_hosts,
                                 program_.topology->sums(true), program_.topology->sums(false)})
      slowest = std::max(slowest, message_picoseconds(*program_.topology, link, bytes,
                                                      rounds_of(CollectiveKind::all_reduce, members)));
    return slowest;
  }

  [[nodiscard]] Way replicated_way(const Node& node) const {
    const Layout whole = where_.all_replicated();
    return {std::vector<Layout>(node.inputs, whole), std::vector<Layout>(node.outputs.count, whole),
            std::vector<std::uint32_t>(whole.size(), kNone)};
  }

  /// The cost, in units, of messages that take `picoseconds` and happen `weight` times; kImpossible if no messages can
  /// convert the value.
  [[nodiscard]] std::int64_t cost_of_messages(std::int64_t picoseconds, std::int64_t weight) const {
    return picoseconds >= kImpossible ? kImpossible : in_units(picoseconds, weight);
  }

  [[nodiscard]] std::int64_t in_units(std::int64_t picoseconds, std::int64_t weight) const {
    const double units =
        static_cast<double>(picoseconds) * static_cast<double>(weight) / static_cast<double>(model_.unit_);
    return std::min(rounded_time(units), kImpossible);
  }

  // ---- Nodes ----

  void region(ProgramRegionId id) {
    const std::int64_t outer = std::exchange(weight_, weights_[id]);
    for (const NodeId node : program_.regions[id].order) visit(node);
    weight_ = outer;
  }

  void visit(NodeId id) {
    point_ = lives_.point(id);
    const Node& node = program_.nodes[id];
    switch (node.kind) {
      case NodeKind::compute:
        return compute(id);
      case NodeKind::feed:
        return feed(node);
      case NodeKind::variable:
        if (node.where == mesh_) add_layout_variable(node.outputs[0], node);
        return;
      case NodeKind::assign:
        return assign(node);
      case NodeKind::loop:
        return loop(id);
      case NodeKind::branch:
        return branch(id);
      default:
        return add_reads_elsewhere(node, 0);
    }
  }

  void compute(NodeId id) {
    const Node& node = program_.nodes[id];
    if (node.where != mesh_) return add_reads_elsewhere(node, 0);
    std::vector<Way> ways;
    std::vector<std::int64_t> costs, computing;
    const Ways all(program_, node);
    for (Way& way : all.combined()) {
      const auto halos = all.halo_cost(way, way.inputs);
      if (!halos) continue;
      computing.push_back(node.once ? 0 : in_units(times_.of(node, way), weight_));
      const std::int64_t messages = add_costs(time_to_send_inputs(node, way), *halos);
      costs.push_back(add_costs(computing.back(), cost_of_messages(messages, weight_)));
      ways.push_back(std::move(way));
    }
    const std::uint32_t variable = model_.problem_.add(std::move(costs));
    for (std::uint32_t i = 0; i < node.inputs; ++i)
      if (!is_unread(program_, node, i))
        add_read(program_.inputs(node)[i], layouts_of(variable, ways, [i](const Way& way) { return way.inputs[i]; }));
    for (std::uint32_t o = 0; o < node.outputs.count; ++o)
      sources_[node.outputs[o]] = layouts_of(variable, ways, [o](const Way& way) { return way.outputs[o]; });
    model_.ways_.emplace(id, std::pair(variable, std::move(ways)));
    model_.computing_.emplace(id, std::move(computing));
  }

  template <class F>
  Layouts layouts_of(std::uint32_t variable, const std::vector<Way>& ways, const F& layout) {
    Layouts layouts{variable, {}};
    for (const Way& way : ways) layouts.by_choice.push_back(conversions_.number(layout(way)));
    return layouts;
  }

  Layouts layouts_of(std::uint32_t variable, const std::vector<Layout>& all) {
    Layouts layouts{variable, {}};
    for (const Layout& layout : all) layouts.by_choice.push_back(conversions_.number(layout));
    return layouts;
  }

  /// The time to send inputs to the mesh that are on other devices.
  std::int64_t time_to_send_inputs(const Node& node, const Way& way) const {
    std::int64_t cost = 0;
    for (std::uint32_t i = 0; i < node.inputs; ++i)
      if (!is_unread(program_, node, i)) cost = add_costs(cost, time_to_send(program_.inputs(node)[i], way.inputs[i]));
    return cost;
  }

  /// The time to send a value from other devices to the mesh; 0 if it is on the mesh or each task makes it.
  std::int64_t time_to_send(PValueId value, const Layout& layout) const {
    const WhereId at = place_of(value);
    if (at == mesh_) return 0;
    if (is_partial(layout)) return kImpossible;
    if (at == kNone) return 0;
    std::vector<std::size_t> axes(where_.axes.size());
    std::iota(axes.begin(), axes.end(), 0);
    return tree_picoseconds(*program_.topology, link(false), link(true), sum_members(where_, axes),
                            known_bytes(program_.values[value].type));
  }

  [[nodiscard]] const LinkCost& link(bool between_hosts) const {
    return between_hosts ? program_.topology->between_hosts : program_.topology->on_host;
  }

  /// The devices that a value will be on; kNone for a constant that each user makes.
  [[nodiscard]] WhereId place_of(PValueId value) const {
    const Node& maker = program_.nodes[program_.values[value].producer];
    if (maker.kind == NodeKind::branch) return model_.laid_.contains(value) ? mesh_ : maker.where;
    if (maker.kind == NodeKind::loop)
      return place_of(program_.regions[maker.detail].parameters[value - maker.outputs[0]]);
    return maker.kind == NodeKind::feed ? home_of(maker) : maker.where;
  }

  [[nodiscard]] WhereId home_of(const Node& feed) const {
    const WhereId home = program_.feed_homes[feed.detail];
    return home == kNone ? feed.where : home;
  }

  void feed(const Node& node) {
    if (home_of(node) != mesh_) return;
    if (is_fed_by_parts(program_, node) && node.where == mesh_) {
      sources_[node.outputs[0]] = layouts_of(kNone, std::vector<Layout>{fed_layout(program_, node)});
      return;
    }
    const Layouts& laid = add_layout_variable(node.outputs[0], node);
    const std::int64_t bytes = known_bytes(program_.values[node.outputs[0]].type);
    const bool between = std::ranges::find(where_.between_hosts, true) != where_.between_hosts.end();
    for (std::int64_t& cost : model_.problem_.costs[laid.variable])
      cost = cost_of_messages(message_picoseconds(*program_.topology, link(between), bytes, 1), weight_);
  }

  void assign(const Node& node) {
    const PValueId variable = program_.inputs(node)[0], value = program_.inputs(node)[1];
    const Layouts& own = sources_[variable];
    if (own.by_choice.empty()) return add_reads_elsewhere(node, 1);
    add_read(value, own);
    sources_[node.outputs[0]] = own;
  }

  void loop(NodeId id) {
    const Node& node = program_.nodes[id];
    std::map<std::uint32_t, PValueId> bound;
    for (const ProgramRegionId body : {node.detail, node.detail + 1}) bind(node, body, bound);
    region(node.detail);
    region(node.detail + 1);
    const ProgramRegion& body = program_.regions[node.detail + 1];
    for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
      const Layouts& carried = sources_[body.parameters[i]];
      if (carried.by_choice.empty()) continue;
      const std::int64_t outer = std::exchange(weight_, weights_[node.detail + 1]);
      add_read(body.results[i], carried);
      weight_ = outer;
      sources_[node.outputs[i]] = carried;
    }
    add_replicated_read(program_.regions[node.detail].results[0], weights_[node.detail]);
  }

  void branch(NodeId id) {
    const Node& node = program_.nodes[id];
    std::map<std::uint32_t, PValueId> bound;
    for (const ProgramRegionId side : {node.detail, node.detail + 1}) {
      bind(node, side, bound);
      region(side);
    }
    for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
      const PValueId results[] = {program_.regions[node.detail].results[i],
                                  program_.regions[node.detail + 1].results[i]};
      const WhereId first = place_of(results[0]);
      if ((first != kNone ? first : place_of(results[1])) != mesh_) continue;
      const Layouts laid = add_layout_variable(node.outputs[i], node);
      for (const PValueId result : results) add_read(result, laid);
    }
    add_replicated_read(program_.inputs(node)[0], weight_);
  }

  /// Adds the parameters of a region, each with its own choice of layout. The owner's inputs are converted to the
  /// chosen layouts. An input has the same layout in all bodies: `bound` has the parameters of earlier bodies, by
  /// input.
  void bind(const Node& owner, ProgramRegionId id, std::map<std::uint32_t, PValueId>& bound) {
    const std::vector<PValueId>& parameters = program_.regions[id].parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Node& parameter = program_.nodes[program_.values[parameters[i]].producer];
      const std::uint32_t input = program_.argument(owner, id, i);
      const PValueId argument = program_.inputs(owner)[input];
      if (parameter.where != mesh_) {
        add_replicated_read(argument, weight_);
        continue;
      }
      if (const auto [before, fresh] = bound.try_emplace(input, parameters[i]); !fresh) {
        sources_[parameters[i]] = sources_[before->second];
        model_.laid_[parameters[i]] = model_.laid_.at(before->second);
        continue;
      }
      const Layouts laid = add_layout_variable(parameters[i], parameter);
      for (std::size_t choice = 0; choice < laid.by_choice.size(); ++choice) {
        std::int64_t& cost = model_.problem_.costs[laid.variable][choice];
        cost = add_costs(
            cost, cost_of_messages(time_to_send(argument, conversions_.layout(laid.by_choice[choice])), weight_));
      }
      add_read(argument, laid);
    }
  }

  // ---- Values ----

  /// Adds a variable of the problem for a value that has its own choice of layout.
  const Layouts& add_layout_variable(PValueId value, const Node& node) {
    std::vector<Layout> layouts = free_layouts(value);
    if (node.kind == NodeKind::variable) restrict_to_decided(node, layouts);
    if (node.kind == NodeKind::variable || node.kind == NodeKind::feed)
      if (const std::vector<Layout> annotated = annotated_layouts(program_, node, where_); !annotated[0].empty())
        layouts = {where_.laid_out(annotated[0])};
    const std::uint32_t variable = model_.problem_.add(std::vector<std::int64_t>(layouts.size()));
    sources_[value] = layouts_of(variable, layouts);
    model_.laid_.emplace(value, std::pair(variable, std::move(layouts)));
    return sources_[value];
  }

  /// Removes all other layouts if the layout of a variable is already decided.
  void restrict_to_decided(const Node& variable, std::vector<Layout>& layouts) const {
    if (auto_mesh_.replicates_variables) layouts.resize(1);
    if (const auto decided = auto_mesh_.variables.find(variable.op); decided != auto_mesh_.variables.end())
      layouts = {decided->second};
  }

  /// All layouts without partial sums, the replicated one first.
  std::vector<Layout> free_layouts(PValueId value) const {
    const Shape& shape = program_.values[value].type.shape;
    std::vector<Layout> all{{}};
    for (const std::int64_t members : where_.axes) {
      std::vector<Layout> longer;
      for (const Layout& layout : all) {
        longer.push_back(layout);
        longer.back().push_back(replicated());
        for (int d = 0; members > 1 && d < shape.rank(); ++d) {
          if (shape[d].bounded() || shape[d].size() < 2) continue;
          longer.push_back(layout);
          longer.back().push_back(split(d));
        }
      }
      all = std::move(longer);
    }
    return all;
  }

  void add_read(PValueId value, Layouts wanted) { demands_[value].push_back({std::move(wanted), weight_, point_}); }

  /// Adds the node, which is on another device, as a reader of its inputs from number `first` on.
  void add_reads_elsewhere(const Node& node, std::uint32_t first) {
    for (std::uint32_t i = first; i < node.inputs; ++i) add_replicated_read(program_.inputs(node)[i], weight_);
  }

  void add_replicated_read(PValueId value, std::int64_t weight) {
    demands_[value].push_back({layouts_of(kNone, std::vector<Layout>{where_.all_replicated()}), weight, point_});
  }

  /// Adds the conversion costs between the producer of a value and its readers. If there are several readers, an extra
  /// variable of the problem chooses a layout to which the value is converted once. An annotated layout is the only
  /// choice of that variable.
  void add_conversion_costs(PValueId value) {
    const Node& node = program_.nodes[program_.values[value].producer];
    Layouts source = sources_[value];
    const std::int64_t made_weight = weights_[region_of(value)];
    std::vector<Layout> once;
    if (node.kind == NodeKind::compute) {
      const std::vector<Layout> annotated = annotated_layouts(program_, node, where_);
      const std::size_t output = value - node.outputs[0];
      if (!annotated[output].empty()) once = {where_.laid_out(annotated[output])};
    }
    const bool forced = !once.empty();
    const bool may_convert =
        node.kind == NodeKind::compute || node.kind == NodeKind::variable || node.kind == NodeKind::feed;
    if (!forced && may_convert && demands_[value].size() > 1) {
      once = free_layouts(value);
      for (const ConversionTimes::Number number : source.by_choice)
        if (const Layout& layout = conversions_.layout(number); std::ranges::find(once, layout) == once.end())
          once.push_back(layout);
    }
    if (once.empty()) {
      add_memory(value, source);
    } else {
      const Layouts converted = layouts_of(model_.problem_.add(std::vector<std::int64_t>(once.size())), once);
      convert(value, source, converted, made_weight);
      add_memory_converted(value, source, converted);
      if (!forced) model_.conversions_.emplace(value, std::pair(converted.variable, std::move(once)));
      source = converted;
    }
    for (const Demand& demand : demands_[value]) {
      convert(value, source, demand.wanted, demand.weight);
      if (is_kept(node)) add_memory_of_copy({demand.point, demand.point + 1}, value, source, demand.wanted);
    }
  }

  // ---- Memory ----

  /// Whether the node's outputs need memory during the whole step.
  [[nodiscard]] bool is_kept(const Node& node) const { return node.kind == NodeKind::variable || node.once; }

  /// Adds the memory of a value in the layout in which it is made.
  void add_memory(PValueId value, const Layouts& source) {
    const Node& node = program_.nodes[program_.values[value].producer];
    if (node.kind != NodeKind::variable && lives_.is_free(value)) return;
    if (is_kept(node)) return add_memory_during({0, lives_.points()}, value, source);
    const bool made = node.kind == NodeKind::compute || node.kind == NodeKind::feed || node.kind == NodeKind::branch;
    if (made) add_memory_during(lives_[value], value, source);
  }

  void add_memory_during(const ValueLives::Life& life, PValueId value, const Layouts& source) {
    if (source.variable == kNone) return;
    std::vector<std::int64_t> bytes;
    for (const ConversionTimes::Number number : source.by_choice) bytes.push_back(bytes_of(value, number));
    model_.memory_.add({life.begin, life.end, source.variable, source.variable, std::move(bytes)});
  }

  /// Adds the memory of a value that is converted once. A value that is kept, and a feed, also needs memory in its own
  /// layout.
  void add_memory_converted(PValueId value, const Layouts& source, const Layouts& converted) {
    const Node& node = program_.nodes[program_.values[value].producer];
    if (!is_kept(node) && node.kind != NodeKind::feed) return add_memory(value, converted);
    add_memory(value, source);
    add_memory_of_copy(lives_.reading(value), value, source, converted);
  }

  /// Adds the memory of a value in another layout, in addition to its own layout, if the two differ.
  void add_memory_of_copy(const ValueLives::Life& life, PValueId value, const Layouts& own, const Layouts& other) {
    if (own.variable == kNone || other.variable == kNone) return;
    const bool forwards = own.variable < other.variable;
    const Layouts& first = forwards ? own : other;
    const Layouts& second = forwards ? other : own;
    std::vector<std::int64_t> bytes;
    for (const ConversionTimes::Number a : first.by_choice)
      for (const ConversionTimes::Number b : second.by_choice)
        bytes.push_back(a == b ? 0 : bytes_of(value, forwards ? b : a));
    model_.memory_.add({life.begin, life.end, std::min(own.variable, other.variable),
                        std::max(own.variable, other.variable), std::move(bytes)});
  }

  std::int64_t bytes_of(PValueId value, ConversionTimes::Number number) const {
    return part_bytes(program_.values[value].type, conversions_.layout(number), where_);
  }

  ProgramRegionId region_of(PValueId value) {
    if (region_of_.empty()) {
      region_of_.assign(program_.values.size(), 0);
      for (ProgramRegionId region = 0; region < program_.regions.size(); ++region) {
        for (const NodeId id : program_.regions[region].order)
          for (const PValueId output : program_.nodes[id].outputs) region_of_[output] = region;
        for (const PValueId parameter : program_.regions[region].parameters) region_of_[parameter] = region;
      }
    }
    return region_of_[value];
  }

  /// Adds the times of the conversions between each choice of `from` and each choice of `to`.
  void convert(PValueId value, const Layouts& from, const Layouts& to, std::int64_t weight) {
    const auto cost = [&](std::size_t i, std::size_t j) {
      return cost_of_messages(conversions_.of(value, shares_[value], from.by_choice[i], to.by_choice[j]), weight);
    };
    if (from.variable == kNone && to.variable == kNone) return;
    if (from.variable == to.variable || from.variable == kNone || to.variable == kNone) {
      const bool only_to = from.variable == kNone;
      std::vector<std::int64_t>& costs = model_.problem_.costs[only_to ? to.variable : from.variable];
      for (std::size_t choice = 0; choice < costs.size(); ++choice)
        costs[choice] = add_costs(costs[choice], cost(only_to ? 0 : choice, to.variable == kNone ? 0 : choice));
      return;
    }
    const bool forwards = from.variable < to.variable;
    const std::size_t rows = forwards ? from.by_choice.size() : to.by_choice.size();
    const std::size_t columns = forwards ? to.by_choice.size() : from.by_choice.size();
    std::vector<std::int64_t>& costs = edges_[std::minmax(from.variable, to.variable)];
    costs.resize(rows * columns);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        std::int64_t& entry = costs[i * columns + j];
        entry = add_costs(entry, forwards ? cost(i, j) : cost(j, i));
      }
  }

  static constexpr double kConversions = 16;  // the most times that a value's bytes are sent

  const Program& program_;
  const AutoMesh& auto_mesh_;
  const WhereId mesh_;
  const Where& where_;
  const ComputingTimes times_;
  ConversionTimes conversions_;
  std::vector<std::int64_t> weights_;  // by region: how often it runs in a step
  const std::vector<bool> shares_;     // by value: sums_that_share()
  const ValueLives lives_;
  std::vector<std::vector<Demand>> demands_;  // by value
  std::vector<Layouts> sources_;              // by value; no layouts: the value is not on the mesh
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> edges_;
  std::vector<ProgramRegionId> region_of_;
  std::int64_t weight_ = 1;
  std::uint32_t point_ = 0;  // of the node that is visited
  LayoutModel model_;
};

LayoutModel LayoutModel::of(const Program& program, const AutoMesh& mesh) {
  return ModelMaker(program, mesh).run();
}

}  // namespace ferry
