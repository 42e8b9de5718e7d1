#include "runner/pictures/plan_layout.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.hpp"

namespace ferry {
namespace {

constexpr int kBetweenRows = 34, kBetweenBoxes = 14, kLane = 10, kMargin = 12, kTitle = 26, kInnerTitle = 18;
constexpr int kLeastColumn = 96;
constexpr std::size_t kMostInRow = 4, kMostLines = 6, kMostLetters = 34;

using Index = std::size_t;

/// The place at which the arrows from a node pass a level, between the boxes of its column.
struct Lane {
  int x = 0;
  bool left = false;  ///< it is left of the boxes
};

/// A box with its place in the order of the picture.
struct Node {
  std::size_t box = 0, column = 0;
  std::size_t rank = 0;   ///< 1 more than the highest rank of a box before it
  std::size_t level = 0;  ///< row of the picture; the boxes of a rank may need several
  double time = 0;        ///< 0 to 1: when its task begins it, compared with the other boxes of the task
  std::vector<Index> before, after;
  std::vector<Lane> lanes;  ///< on the levels below this box, as far as arrows pass them

  /// The lane on a level; null: no arrow passes the level.
  [[nodiscard]] const Lane* lane(std::size_t at) const {
    return at > level && at - level <= lanes.size() ? &lanes[at - level - 1] : nullptr;
  }
};

struct Column {
  int task = -1;
  RegionId region = 1;
  int left = 0, width = 0;
  std::vector<std::vector<Index>> boxes;  ///< nodes by level
  std::vector<std::vector<Index>> lanes;  ///< by level: the nodes whose arrows pass it
};

class Placer {
 public:
  Placer(const ShownPlan& plan, int top) : plan_(plan), top_(top) {
    make_nodes();
    for (const ShownArrow& arrow : plan.arrows()) link(arrow);
    rank();
    make_levels();
    make_lanes();
    place_columns();
    place_levels();
  }

  PlanLayout result() {
    PlanLayout layout;
    layout.frames = frames();
    for (const PlacedFrame& frame : layout.frames) layout.width = std::max(layout.width, frame.at.x + frame.width);
    layout.width += kMargin;
    layout.height = bottom_ + kMargin;
    for (const auto& [arrow, ends] : arrows_) layout.arrows.push_back(placed(arrow, ends));
    layout.boxes = std::move(placed_);
    return layout;
  }

 private:
  using Ends = std::pair<Index, Index>;  ///< nodes

  [[nodiscard]] const DrawnBox& box_of(const Node& node) const { return plan_.drawing().boxes()[node.box]; }

  void make_nodes() {
    std::map<std::pair<int, std::uint32_t>, Index> columns;
    const std::vector<DrawnBox>& boxes = plan_.drawing().boxes();
    for (const std::size_t i : plan_.boxes()) columns[{boxes[i].task, region_of(boxes[i])}];
    for (auto& [key, number] : columns) {
      number = columns_.size();
      columns_.push_back({.task = key.first, .region = key.second, .boxes = {}, .lanes = {}});
    }
    std::map<int, std::pair<Index, Index>> tasks;  // the first drawn box of each task, and the first behind them
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (boxes[i].task < 0) continue;
      tasks.try_emplace(boxes[i].task, i, i).first->second.second = i + 1;
    }
    int task = plan_.drawing().tasks().front();
    for (const std::size_t i : plan_.boxes()) {
      if (boxes[i].task >= 0) task = boxes[i].task;
      Node& node = nodes_.emplace_back();
      node.box = i;
      node.column = columns.at({boxes[i].task, region_of(boxes[i])});
      const auto [begin, end] = tasks[task];
      node.time =
          (static_cast<double>(i) - static_cast<double>(begin)) / static_cast<double>(std::max(end - begin, Index{1}));
      node_of_[i] = nodes_.size() - 1;
      add_text(i);
    }
  }

  static std::uint32_t region_of(const DrawnBox& box) { return box.task < 0 ? 1 : std::max(box.region.number(), 1U); }

  void add_text(std::size_t box) {
    PlacedBox& placed = placed_.emplace_back();
    placed.box = box;
    std::size_t longest = 0;
    for (const std::string& line : plan_.lines(box)) {
      if (placed.text.size() == kMostLines) break;
      placed.text.push_back(formatted("{:.34}", line));
      longest = std::max(longest, std::min(placed.text.back().size(), kMostLetters + 1));
    }
    placed.width = std::max(48, width_of_text(longest) + 18);
    placed.height = static_cast<int>(placed.text.size()) * kTextLine + 10;
  }

  void link(const ShownArrow& arrow) {
    const Index from = node_of_.at(arrow.from), to = node_of_.at(arrow.to);
    arrows_.push_back({arrow, {from, to}});
    const bool comparable = plan_.folded() || box_of(nodes_[from]).task == box_of(nodes_[to]).task;
    if (arrow.kept || (comparable && !arrow.message && nodes_[to].time < nodes_[from].time)) return;
    nodes_[from].after.push_back(to);
    nodes_[to].before.push_back(from);
  }

  /// The nodes in an order in which no arrow leads back, except arrows that close a circle, as folds can.
  [[nodiscard]] std::vector<Index> ordered() const {
    std::vector<Index> order;
    std::vector<bool> seen(nodes_.size(), false);
    for (Index root = 0; root < nodes_.size(); ++root) {
      if (seen[root]) continue;
      seen[root] = true;
      std::vector<std::pair<Index, std::size_t>> path{{root, 0}};
      while (!path.empty()) {
        auto& [node, next] = path.back();
        if (next == nodes_[node].after.size()) {
          order.push_back(node);
          path.pop_back();
        } else if (const Index to = nodes_[node].after[next++]; !seen[to]) {
          seen[to] = true;
          path.emplace_back(to, 0);
        }
      }
    }
    std::ranges::reverse(order);
    return order;
  }

  void rank() {
    const std::vector<Index> order = ordered();
    std::vector<std::size_t> at(nodes_.size());
    for (std::size_t i = 0; i < order.size(); ++i) at[order[i]] = i;
    const auto drop_circles = [&](Index node) {
      std::erase_if(nodes_[node].after, [&](Index to) { return at[to] < at[node]; });
      std::erase_if(nodes_[node].before, [&](Index from) { return at[from] > at[node]; });
    };
    for (const Index node : order) drop_circles(node);
    for (const Index node : order)
      for (const Index to : nodes_[node].after) nodes_[to].rank = std::max(nodes_[to].rank, nodes_[node].rank + 1);
    // A box without inputs is just above the first box that reads it.
    for (const Index node : order) {
      if (!nodes_[node].before.empty() || nodes_[node].after.empty()) continue;
      std::size_t first = nodes_.size();
      for (const Index to : nodes_[node].after) first = std::min(first, nodes_[to].rank);
      nodes_[node].rank = first - 1;
    }
  }

  /// Gives each rank as many levels as its fullest column needs.
  void make_levels() {
    std::size_t ranks = 0;
    for (const Node& node : nodes_) ranks = std::max(ranks, node.rank + 1);
    std::vector<std::vector<std::vector<Index>>> cells(ranks, std::vector<std::vector<Index>>(columns_.size()));
    for (Index i = 0; i < nodes_.size(); ++i) cells[nodes_[i].rank][nodes_[i].column].push_back(i);
    std::size_t level = 0;
    for (const auto& of_rank : cells) {
      std::size_t levels = 1;
      for (std::size_t column = 0; column < columns_.size(); ++column)
        for (std::size_t k = 0; k < of_rank[column].size(); ++k) {
          nodes_[of_rank[column][k]].level = level + k / kMostInRow;
          levels = std::max(levels, k / kMostInRow + 1);
        }
      level += levels;
    }
    for (Column& column : columns_) {
      column.boxes.resize(level);
      column.lanes.resize(level);
    }
    for (Index i = 0; i < nodes_.size(); ++i) columns_[nodes_[i].column].boxes[nodes_[i].level].push_back(i);
  }

  void make_lanes() {
    for (Index from = 0; from < nodes_.size(); ++from) {
      std::size_t last = 0;
      for (const Index to : nodes_[from].after) last = std::max(last, nodes_[to].level);
      for (std::size_t level = nodes_[from].level + 1; level < last; ++level) {
        columns_[nodes_[from].column].lanes[level].push_back(from);
        nodes_[from].lanes.emplace_back();
      }
    }
  }

  [[nodiscard]] int width_at(const Column& column, std::size_t level) const {
    int width = static_cast<int>(column.lanes[level].size()) * kLane;
    for (const Index node : column.boxes[level]) width += placed_[node].width + kBetweenBoxes;
    return width;
  }

  /// Columns from left to right: the tasks, with the collectives in their middle.
  void place_columns() {
    std::vector<int> tasks;
    for (const Column& column : columns_)
      if (column.task >= 0 && (tasks.empty() || tasks.back() != column.task)) tasks.push_back(column.task);
    if (!columns_.empty() && columns_[0].task < 0)
      tasks.insert(tasks.begin() + static_cast<std::ptrdiff_t>((tasks.size() + 1) / 2), -1);
    int x = kMargin;
    for (const int task : tasks) {
      for (Column& column : columns_) {
        if (column.task != task) continue;
        column.left = x;
        column.width = kLeastColumn;
        for (std::size_t level = 0; level < column.boxes.size(); ++level)
          column.width = std::max(column.width, width_at(column, level) + 2 * kMargin);
        x += column.width;
      }
      x += kMargin;
    }
  }

  /// The mean place of the boxes that the node reads; arrows from higher levels come from their lanes.
  [[nodiscard]] int near(Index node) const {
    const Column& own = columns_[nodes_[node].column];
    if (nodes_[node].before.empty()) return own.left + own.width / 2;
    std::int64_t sum = 0;
    for (const Index from : nodes_[node].before) sum += x_above(from, nodes_[node].level);
    return static_cast<int>(sum / static_cast<std::int64_t>(nodes_[node].before.size()));
  }

  /// The place from which arrows from `node` come to `level`.
  [[nodiscard]] int x_above(Index node, std::size_t level) const {
    const Lane* const lane = level == 0 ? nullptr : nodes_[node].lane(level - 1);
    return lane != nullptr ? lane->x : placed_[node].middle.x;
  }

  void place_levels() {
    const bool inner = std::ranges::any_of(columns_, [](const Column& column) { return column.region != 1; });
    int y = top_ + kMargin + kTitle + (inner ? kInnerTitle : 0);
    const std::size_t levels = columns_.empty() ? 0 : columns_[0].boxes.size();
    for (std::size_t level = 0; level < levels; ++level) {
      int height = 0;
      for (Column& column : columns_) place_level(column, level);
      for (const Column& column : columns_)
        for (const Index node : column.boxes[level]) height = std::max(height, placed_[node].height);
      for (const Column& column : columns_)
        for (const Index node : column.boxes[level]) placed_[node].middle.y = y + height / 2;
      tops_.push_back(y);
      bottoms_.push_back(y + height);
      y += height + kBetweenRows;
    }
    bottom_ = y - kBetweenRows + kMargin;
  }

  /// Boxes side by side, with the lanes that come from the left on their left side, and the others on their right side.
  void place_level(Column& column, std::size_t level) {
    std::vector<Index>& boxes = column.boxes[level];
    std::map<Index, int> places;
    for (const Index node : boxes) places[node] = near(node);
    std::ranges::stable_sort(boxes, {}, [&](Index node) { return places.at(node); });
    std::vector<Index>& lanes = column.lanes[level];
    for (const Index from : lanes) {
      Lane& lane = nodes_[from].lanes[level - nodes_[from].level - 1];
      const Lane* const above = nodes_[from].lane(level - 1);
      lane.x = x_above(from, level);
      lane.left = above != nullptr ? above->left : lane.x < column.left + column.width / 2;
    }
    std::ranges::stable_sort(lanes, {}, [&](Index from) { return nodes_[from].lane(level)->x; });
    int x = column.left + (column.width - width_at(column, level)) / 2;
    const auto place_lanes = [&](bool left) {
      for (const Index from : lanes) {
        Lane& lane = nodes_[from].lanes[level - nodes_[from].level - 1];
        if (lane.left != left) continue;
        lane.x = x + kLane / 2;
        x += kLane;
      }
    };
    place_lanes(true);
    for (const Index node : boxes) {
      placed_[node].middle.x = x + (placed_[node].width + kBetweenBoxes) / 2;
      x += placed_[node].width + kBetweenBoxes;
    }
    place_lanes(false);
  }

  [[nodiscard]] PlacedArrow placed(const ShownArrow& arrow, const Ends& ends) const {
    const Node &from = nodes_[ends.first], &to = nodes_[ends.second];
    const PlacedBox &a = placed_[ends.first], &b = placed_[ends.second];
    PlacedArrow placed{arrow, columns_[from.column].task != columns_[to.column].task, to.level <= from.level, {}};
    if (placed.up) {
      const int side = a.middle.x < b.middle.x && placed.crosses ? 1 : -1;
      const int end = placed.crosses ? -side : side;
      placed.points = {{a.middle.x + side * a.width / 2, a.middle.y}, {b.middle.x + end * b.width / 2, b.middle.y}};
      return placed;
    }
    placed.points.push_back({a.middle.x, a.middle.y + a.height / 2});
    for (std::size_t level = from.level + 1; level < to.level; ++level) {
      const Lane* const lane = from.lane(level);
      if (lane == nullptr) continue;
      placed.points.push_back({lane->x, tops_[level]});
      placed.points.push_back({lane->x, bottoms_[level]});
    }
    placed.points.push_back({b.middle.x, b.middle.y - b.height / 2});
    return placed;
  }

  [[nodiscard]] std::vector<PlacedFrame> frames() const {
    std::vector<PlacedFrame> tasks, inner;
    for (const Column& column : columns_) {
      if (tasks.empty() || tasks.back().task != column.task)
        tasks.push_back({column.task, 1, {column.left, top_ + kMargin}, 0, bottom_ - top_ - kMargin});
      tasks.back().width = column.left + column.width - tasks.back().at.x;
      if (column.region != 1)
        inner.push_back({column.task,
                         column.region,
                         {column.left + 4, top_ + kMargin + kTitle},
                         column.width - 8,
                         bottom_ - top_ - kMargin - kTitle - 6});
    }
    tasks.insert(tasks.end(), inner.begin(), inner.end());
    return tasks;
  }

  const ShownPlan& plan_;
  int top_, bottom_ = 0;
  std::vector<Node> nodes_;
  std::vector<PlacedBox> placed_;         ///< of each node
  std::map<std::size_t, Index> node_of_;  ///< by box
  std::vector<Column> columns_;           ///< the collectives first, then by task and region
  std::vector<std::pair<ShownArrow, Ends>> arrows_;
  std::vector<int> tops_, bottoms_;  ///< of levels
};

}  // namespace

int width_of_text(std::size_t letters) {
  constexpr double kLetter = 6.7;  // the mean width of a letter of 12 pixels in a sans-serif font
  return static_cast<int>(static_cast<double>(letters) * kLetter);
}

PlanLayout layout_of(const ShownPlan& plan, int top) {
  return Placer(plan, top).result();
}

}  // namespace ferry
