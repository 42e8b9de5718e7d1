// PlanDrawing: the boxes and arrows of a picture of a plan. plan_layout.hpp, graphviz, or the page of a report arranges
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {

struct DrawnBox {
  enum class Kind : std::uint8_t { kernel, port, variable, collective };

  Kind kind = Kind::kernel;
  CollectiveKind collective{};  ///< kind of a collective
  std::string id;
  std::vector<std::string> lines;
  int task = -1;        ///< -1 for a collective
  RegionId region = 1;  ///< 1: the step; bodies and branches get frames of their own
  std::string what;     ///< its op or kind, for the text of a folded box; empty: never folded
  std::string name;
  std::uint32_t source = kNone;  ///< the user's line
  std::uint64_t bytes = 0;       ///< of a variable or collective
};

struct DrawnArrow {
  std::size_t from = 0, to = 0;  ///< indices into boxes()
  bool message = false;          ///< the value is sent over a channel
  std::uint64_t bytes = 0;       ///< of a message
  bool kept = false;             ///< leads back to the variable or loop that keeps the value
};

/// Boxes that one box can represent.
struct DrawnFold {
  std::vector<std::string> lines;  ///< the text of this box
  std::vector<std::size_t> boxes;  ///< indices into boxes(), ascending
};

/// The tasks to draw: all; or the first ones and one of each class, if there are more than a few; or one of each class.
enum class DrawnTasks : std::uint8_t { all, some, roles };

/// Draws, task by task, a box for each kernel, variable, feed and fetch, and one box for each collective of a group of
/// tasks. Values that are sent have arrows from task to task. Scalar constants are left out unless they are sent. The
/// plan must outlive this.
class PlanDrawing {
 public:
  static constexpr std::size_t kMostRoles = 16;  ///< most tasks with DrawnTasks::roles

  PlanDrawing(const Plan& plan, DrawnTasks which);

  [[nodiscard]] const std::vector<int>& tasks() const { return tasks_; }
  [[nodiscard]] const std::vector<DrawnBox>& boxes() const { return boxes_; }
  [[nodiscard]] const std::vector<DrawnArrow>& arrows() const { return arrows_; }

  /// All boxes in folds, at most `most` folds if possible. The boxes of a fold have the same task, region, line of the
  /// user's program and scope of names; forward and backward boxes are in different folds.
  [[nodiscard]] std::vector<DrawnFold> folds(std::size_t most) const;

 private:
  using Index = std::size_t;

  void draw(int task);
  void draw(int task, const PlanClass& role, RegionId region, std::uint32_t number, const Instruction& what);
  [[nodiscard]] bool is_number(const PlanClass& role, const Instruction& what) const;
  Index add(const std::string& id, int task, RegionId region, std::vector<std::string> lines, DrawnBox::Kind kind);
  Index instruction(const PlanClass& role, int task, RegionId region, std::uint32_t number, const Instruction& what);
  Index collective(int task, std::uint32_t number);
  [[nodiscard]] Index maker(const PlanClass& role, BufferId buffer) const;
  void arrows_from(const PlanClass& role, BufferId buffer, Index box);
  void record_maker(const PlanClass& role, BufferId buffer, Index box);
  void record_carried(const PlanClass& role, BufferId buffer, Index loop);
  [[nodiscard]] std::vector<std::string> titles(const PlanClass& role, Range instructions) const;
  [[nodiscard]] std::string title(const Instruction& what) const;
  [[nodiscard]] std::string kernel_title(std::string_view op, std::string_view name) const;
  [[nodiscard]] std::string user_name(std::string_view name) const;
  void find_fetches();
  void find_common_scope();
  [[nodiscard]] std::string sizes_text(const Buffer& buffer) const;
  [[nodiscard]] std::string key_of(const DrawnBox& box, std::size_t depth) const;
  [[nodiscard]] std::vector<std::string> folded_lines(const std::vector<Index>& members) const;

  const Plan& plan_;
  std::map<std::string_view, std::string_view> fetched_as_;  // by the name of a value
  std::string common_scope_;
  std::vector<int> tasks_;
  std::vector<DrawnBox> boxes_;
  std::vector<DrawnArrow> arrows_;
  std::map<std::pair<std::uint32_t, Index>, Index> collectives_;
  std::map<std::uint32_t, Index> sent_;      // by channel: the box that makes the value
  std::map<std::uint32_t, Index> received_;  // by channel: the box where it arrives

  // For the task that is being drawn:
  std::vector<Index> makers_;  // by buffer: the box that made it
  // For a buffer that is made in parts: the box that made each part, by the part's offset.
  std::map<std::uint32_t, std::map<std::uint64_t, Index>> parts_;
  std::map<std::uint32_t, Index> kept_;  // by buffer: the box of its variable, or of the loop that carries it
};

/// "before each iteration": the label of the frame around a region's boxes.
[[nodiscard]] std::string_view frame_label(Region::Kind kind);

/// "2,880 B".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

}  // namespace ferry
