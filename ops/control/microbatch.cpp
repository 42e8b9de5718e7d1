#include "ops/control/microbatch.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/format.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"

namespace ferry {
namespace {

constexpr AttrDef kMicrobatchAttrs[] = {{"backward", "bool"}, {"index", "int"},       {"of", "int"},
                                        {"pipeline", "int"},  {"schedule", "string"}, {"uneven", "bool", false}};

constexpr std::string_view kSchedules[] = {"gpipe", "1f1b", "zero_bubble"};

Attrs attrs_of(const Microbatch& which) {
  Attrs attrs{{"backward", which.backward},
              {"index", which.index},
              {"of", which.of},
              {"pipeline", which.pipeline},
              {"schedule", std::string(name_of(which.schedule))}};
  if (which.uneven) attrs.set("uneven", true);
  return attrs;
}

/// Returns index notation such as "ab,[c][d]->ab": only the sizes of the whole value are used.
std::string enter_index(const OpFacts& facts) {
  Letters letters;
  const std::string part = letters.next(facts.shape(0).rank());
  std::string all;
  for (int d = 0; d < facts.shape(1).rank(); ++d) all += whole(letters.next());
  return term(part) + "," + term(all) + "->" + term(part);
}

std::vector<Shape> enter_shape(const OpFacts& facts) {
  const Microbatch which = microbatch_of(facts.attrs());
  const Shape& all = facts.shape(1);
  const bool must_divide = !which.backward && !which.uneven;
  if (must_divide && (all.rank() == 0 || (all[0].known() && all[0].size() % which.of != 0)))
    OpFacts::fail("a batch of shape " + all.str() + " cannot be cut into " + std::to_string(which.of) +
                  " equal microbatches");
  return {facts.shape(0)};
}

std::vector<Shape> leave_shape(const OpFacts& facts) {
  static_cast<void>(microbatch_of(facts.attrs()));
  return {facts.shape(0)};
}

constexpr OpDef kEnterMicrobatch{.name = "EnterMicrobatch",
                                 .types = "T,U->T",
                                 .T = kAnyType,
                                 .U = kAnyType,
                                 .attrs = kMicrobatchAttrs,
                                 .index_of = enter_index,
                                 .linear = 0b01,
                                 .unread = 0b10,
                                 .infer = enter_shape,
                                 .flops = 0,
                                 .flags = kView | kEntersMicrobatch,
                                 .grad = [](GradCtx& g) {
                                   const Microbatch which = microbatch_of(g.attrs());
                                   return Values{leave_microbatch(g.dout(), which, g.line()), Value()};
                                 }};

constexpr OpDef kLeaveMicrobatch{.name = "LeaveMicrobatch",
                                 .types = "T->T",
                                 .T = kAnyType,
                                 .attrs = kMicrobatchAttrs,
                                 .index = "...->...",
                                 .linear = 0b1,
                                 .infer = leave_shape,
                                 .flops = 0,
                                 .flags = kView | kLeavesMicrobatch,
                                 .grad = [](GradCtx& g) {
                                   Microbatch which = microbatch_of(g.attrs());
                                   which.backward = true;
                                   return Values{enter_microbatch(g.dout(), g.dout(), which, g.line())};
                                 }};

constexpr const OpDef* kMicrobatchOps[] = {&kEnterMicrobatch, &kLeaveMicrobatch};

}  // namespace

std::string_view name_of(PipelineSchedule schedule) {
  return kSchedules[static_cast<std::size_t>(schedule)];
}

std::optional<PipelineSchedule> pipeline_schedule(std::string_view name) {
  const auto found = std::find(std::begin(kSchedules), std::end(kSchedules), name);
  if (found == std::end(kSchedules)) return std::nullopt;
  return static_cast<PipelineSchedule>(found - std::begin(kSchedules));
}

Value enter_microbatch(const Value& part, const Value& whole, const Microbatch& which, const SourceLine& line) {
  return make_one(kEnterMicrobatch, {part, whole}, line, attrs_of(which));
}

Value leave_microbatch(const Value& x, const Microbatch& which, const SourceLine& line) {
  return make_one(kLeaveMicrobatch, {x}, line, attrs_of(which));
}

Microbatch microbatch_of(const Attrs& attrs) {
  const std::string& name = attrs.get<std::string>("schedule");
  const auto schedule = pipeline_schedule(name);
  if (!schedule) OpFacts::fail(formatted("there is no schedule '{}'; there are gpipe, 1f1b, zero_bubble", name));
  const Microbatch which{
      attrs.get<std::int64_t>("index"), attrs.get<std::int64_t>("of"),       *schedule,
      attrs.get<bool>("backward"),      attrs.get<std::int64_t>("pipeline"), attrs.get_or("uneven", false)};
  if (which.of < 1 || which.index < 0 || which.index >= which.of)
    OpFacts::fail("there is no microbatch " + std::to_string(which.index) + " of " + std::to_string(which.of));
  return which;
}

std::span<const OpDef* const> microbatch_ops() {
  return kMicrobatchOps;
}

}  // namespace ferry
