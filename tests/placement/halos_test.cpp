// Halos: the bytes that windows of split values send, and plans with other rows, which the verifier refuses.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/types/halo.hpp"
#include "ops/array/arrange.hpp"
#include "ops/array/array.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

/// The element `by` before each one along a dim, 0 where there is none.
Value shifted(const Value& x, int dim, std::int64_t by) {
  Ints low(static_cast<std::size_t>(x.rank())), high = low;
  (by > 0 ? low : high)[dim] = std::abs(by);
  const Value wide = pad(x, low, high);
  return by > 0 ? slice(wide, dim, 0, -by) : slice(wide, dim, -by);
}

/// A star-shaped stencil of that radius, on a variable in blocks.
struct Stencil {
  Graph g;
  Value next;

  Stencil(std::vector<Mesh::Axis> axes, std::vector<std::int64_t> sizes, int radius) {
    auto here = g.on(g.mesh(axes, "/task:*"));
    Layout layout;
    for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis) layout.push_back(split(axis));
    const Value u = g.variable("u", g.constant(Tensor(DType::float32, sizes))).laid(layout);
    Value sum = u;
    for (int dim = 0; dim < u.rank(); ++dim)
      for (int by = 1; by <= radius; ++by) sum = sum + shifted(u, dim, by) + shifted(u, dim, -by);
    next = assign(u, sum);
  }

  [[nodiscard]] Plan plan(int tasks) const { return test::planned(g, {}, tasks, {next}); }
};

TEST_CASE("a stencil sends each neighbour the rows that it reads, once") {
  for (int tasks = 2; tasks <= 5; ++tasks)
    for (int radius = 1; radius <= 3; ++radius) {
      CAPTURE(tasks);
      CAPTURE(radius);
      const Plan plan = Stencil({{"x", tasks}}, {23, 6}, radius).plan(tasks);
      for (int task = 0; task < tasks; ++task) {
        const int neighbours = task == 0 || task + 1 == tasks ? 1 : 2;
        const Traffic traffic = traffic_of(plan, task, 1);
        CHECK(traffic.sent_messages == neighbours);
        CHECK(traffic.sent_bytes == neighbours * radius * 6 * 4);
        CHECK(traffic.received_bytes == traffic.sent_bytes);
      }
      CHECK(verify(plan).reason == "");
    }
}

TEST_CASE("a roll sends each neighbour of a ring the row that it reads") {
  for (int tasks = 2; tasks <= 4; ++tasks) {
    CAPTURE(tasks);
    Graph g;
    auto here = g.on(g.mesh({{"x", tasks}}, "/task:*"));
    const Value u = g.variable("u", g.constant(Tensor(DType::float32, {24, 6}))).laid({split(0)});
    const Value before = roll(u, 1, 0), after = roll(u, -1, 0);
    const Plan plan = test::planned(g, {}, tasks, {assign(u, before + after)});
    for (int task = 0; task < tasks; ++task) CHECK(traffic_of(plan, task, 1).sent_bytes == 2 * 6 * 4);
    CHECK(verify(plan).reason == "");
  }
}

TEST_CASE("in blocks, rows go along one axis and columns along the other") {
  const Plan plan = Stencil({{"y", 2}, {"x", 3}}, {10, 9}, 1).plan(6);
  for (int task = 0; task < 6; ++task) {
    const bool middle = task % 3 == 1;
    const Traffic traffic = traffic_of(plan, task, 1);
    CHECK(traffic.sent_messages == (middle ? 3 : 2));
    CHECK(traffic.sent_bytes == (3 + (middle ? 2 : 1) * 5) * 4);
  }
}

TEST_CASE("a window of several neighbours, of empty parts, or of few rows brings what it reads") {
  const auto halo = [](std::int64_t whole, std::int64_t parts, Reads reads) { return Halo{whole, parts, {reads}}; };
  CHECK(halo(8, 4, {-3, 1, 8}).rows_read(3).begin == 3);  // part [6, 8) reads [3, 5)
  CHECK(halo(8, 4, {-3, 1, 8}).rows_got(3) == 2);
  CHECK(halo(8, 4, {-3, 1, 8}).rows_between(1, 3).size == 1);
  CHECK(halo(8, 4, {-3, 1, 8}).rows_between(2, 3).size == 1);
  CHECK(halo(2, 4, {-2, 1, 6}).rows_got(2) == 0);  // outside
  CHECK(halo(100, 4, {0, 1, 8}).rows_given(0) == 6);
  CHECK(halo(100, 4, {0, 10, 10}).rows_read(3).size == 11);  // 80 and 90, and the rows between
}

/// A convolution of a variable, split along rows or into blocks, and what trains its filter.
struct Convolved {
  Graph g;
  Value next, image, filter;

  Convolved(std::vector<Mesh::Axis> axes, std::int64_t window, Sliding sliding, bool trained = false) {
    auto here = g.on(g.mesh(axes, "/task:*"));
    const Layout layout = axes.size() == 1 ? Layout{split(2)} : Layout{split(2), split(3)};
    image = g.variable("x", g.constant(Tensor(DType::float32, {2, 3, 23, 12}))).laid(layout);
    filter = g.variable("w", g.constant(Tensor(DType::float32, {3, 3, window, window})));
    const Value y = conv2d(image, filter, sliding);
    next = trained ? assign(filter, gradients(sum(y * y), {filter})[0]) : assign(image, y);
  }
  [[nodiscard]] Plan plan(int tasks) const { return test::planned(g, {}, tasks, {next}); }
};

TEST_CASE("a convolution sends each neighbour the rows that its windows reach into") {
  for (int tasks = 2; tasks <= 5; ++tasks)
    for (int radius = 1; radius <= 3; ++radius) {
      CAPTURE(tasks);
      CAPTURE(radius);
      const Plan plan = Convolved({{"x", tasks}}, 2 * radius + 1, {.padding = {radius, radius}}).plan(tasks);
      for (int task = 0; task < tasks; ++task) {
        const int neighbours = task == 0 || task + 1 == tasks ? 1 : 2;
        const Traffic traffic = traffic_of(plan, task, 1);
        CHECK(traffic.sent_messages == neighbours);
        CHECK(traffic.sent_bytes == neighbours * radius * 2 * 3 * 12 * 4);
      }
      CHECK(verify(plan).reason == "");
    }
}

TEST_CASE("in blocks, columns that a convolution reads come with those of the neighbours' rows: corners, too") {
  const Plan plan = Convolved({{"y", 2}, {"x", 3}}, 3, {.padding = {1, 1}}).plan(6);
  for (int task = 0; task < 6; ++task) {
    const std::int64_t rows = (task < 3 ? 12 : 11) + 1, sides = task % 3 == 1 ? 2 : 1;
    CHECK(traffic_of(plan, task, 1).sent_bytes == (4 + sides * rows) * 2 * 3 * 4);
  }
  CHECK(verify(plan).reason == "");
}

TEST_CASE("ferry explain says how many bytes of halos a task gets, corners included") {
  const Convolved convolved({{"y", 2}, {"x", 3}}, 3, {.padding = {1, 1}});
  Signature signature;
  signature.targets.push_back(convolved.next.op().id());
  PlanOptions options;
  options.reasons = true;
  std::int64_t said = 0;
  const PlanResult result = make_plan(convolved.g, signature, Topology::local(6), test::AllKernels(), options);
  for (const Reason& reason : result.reasons)
    if (const std::size_t end = reason.text.find(" bytes to a task"); end != std::string::npos)
      said += std::stoll(reason.text.substr(reason.text.rfind(' ', end - 1)));
  CHECK(said == traffic_of(result.plan, 1, 1).received_bytes);  // a task in the middle
  CHECK(said == (4 + 2 * 13) * 2 * 3 * 4);
}

TEST_CASE("a filter's gradient takes the rows that the convolution was sent, and is a sum") {
  const std::int64_t row = 2 * 3 * 12 * 4, filter = 3 * 3 * 3 * 3 * 4;
  const Plan plan = Convolved({{"x", 3}}, 3, {.padding = {1, 1}}, true).plan(3);
  std::int64_t sent = 0;
  for (int task = 0; task < 3; ++task) sent += traffic_of(plan, task, 1).sent_bytes;
  CHECK(sent == 4 * row + 3 * 2 * filter);  // the sum of few bytes is done in one round
  CHECK(verify(plan).reason == "");
}

TEST_CASE("windows that end where parts do need no rows of others") {
  Graph g;
  auto here = g.on(g.mesh({{"x", 3}}, "/task:*"));
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {2, 3, 12, 6}))).laid({split(2)});
  const Value y = max_pool2d(x, {2, 2}, {.strides = {2, 2}});
  const Value next = assign(x, gradients(sum(y * y), {x})[0]);
  const Plan plan = test::planned(g, {}, 3, {next});
  for (int task = 0; task < 3; ++task) CHECK(traffic_of(plan, task, 1).sent_bytes == 0);
  CHECK(verify(plan).reason == "");
}

TEST_CASE("of windows over a dim, a part reads what its own windows have; of windows over an element, all of them") {
  const Reads windows{.begin = -1, .step = 2, .size = 5, .extent = 4};  // of 10 rows, 4 at a time, two apart
  CHECK(windows.rows_of({0, 2}, 10).begin == 0);
  CHECK(windows.rows_of({0, 2}, 10).size == 5);  // [-1, 3) and [1, 5)
  const Reads under{.size = 10, .windows = {-1, 2, 4}};
  CHECK(under.rows_of({3, 2}, 5).begin == 1);  // row 3 is in [1, 5), row 4 in [3, 7), too
  CHECK(under.rows_of({3, 2}, 5).size == 2);
  const Reads among{.begin = -1, .step = 2, .size = 10, .extent = 4, .windows = {-1, 2, 4}};
  CHECK(among.rows_of({3, 2}, 10).begin == 1);
  CHECK(among.rows_of({3, 2}, 10).size == 6);
  const Reads apart{.size = 10, .windows = {0, 5, 2}};  // no window has rows 2 to 4
  CHECK(apart.rows_of({2, 3}, 2).size == 0);
  CHECK(apart.rows_of({4, 2}, 2).begin == 1);
}

/// The verifier must refuse the plan as `change` leaves it, saying why.
template <class Change>
void check_refused(const Plan& plan, const Change& change, const std::string& why) {
  Plan changed = plan;
  change(changed);
  const std::string reason = verify(changed).reason;
  CAPTURE(reason);
  CHECK(test::has(reason, why));
}

TEST_CASE("plans whose windows slide over other rows are refused") {
  const Plan plan = Convolved({{"x", 3}}, 3, {.padding = {1, 1}}).plan(3);
  const auto refused = [&](const auto& change, const std::string& why) { check_refused(plan, change, why); };
  const auto rows = [](Plan& p, const auto& change) {
    for (Window& window : p.windows)
      if (window.has == Window::Has::read) change(window);
  };
  const auto paddings = [](Plan& p, std::int64_t low, std::int64_t high) {
    for (Attrs& all : p.attrs)
      if (all.has("padding")) all.set("padding", Ints{low, 1, high, 1});
  };
  refused([&](Plan& p) { rows(p, [](Window& w) { w.rows[0].reads.begin -= 1; }); }, "its part of the whole value is");
  refused([&](Plan& p) { rows(p, [](Window& w) { w.rows[0].reads.extent = 0; }); }, "out of range");
  refused([&](Plan& p) { rows(p, [](Window& w) { w.rows[0].reads.windows.step = 0; }); }, "out of range");
  refused([&](Plan& p) { rows(p, [](Window& w) { w.rows[0].dim = 1; }); }, "out of range");
  refused([&](Plan& p) { rows(p, [](Window& w) { w.rows.clear(); }); }, "does not fit its reads");
  refused([&](Plan& p) { rows(p, [](Window& w) { w.has = Window::Has::part; }); }, "does not fit its reads");
  refused([&](Plan& p) { paddings(p, 0, 2); }, "its windows read other rows of dim 2 of 'x'");
  refused([&](Plan& p) { paddings(p, 2, 0); }, "its windows read other rows of dim 2 of 'x'");
  refused(
      [&](Plan& p) {  // the convolution reads its part alone
        std::uint32_t part = kNone;
        for (std::uint32_t w = 0; w < p.windows.size(); ++w)
          if (p.windows[w].has == Window::Has::part && p.windows[w].sizes[2] == 23) part = w;
        for (PlanClass& c : p.classes)
          for (Instruction& i : c.instructions) {
            if (i.what != Opcode::kernel || p.string(i.op) != "Conv2D") continue;
            for (const Buffer& b : c.buffers)
              if (b.window == part && b.space == Buffer::Space::state)
                c.operands[i.inputs[0]] = static_cast<std::uint32_t>(&b - c.buffers.data());
          }
      },
      "reads rows of dim 2 of 'x' that it does not have");
}

TEST_CASE("plans that exchange or read other rows are refused") {
  const Plan plan = Stencil({{"x", 3}}, {23, 6}, 1).plan(3);
  const auto refused = [&](const auto& change, const std::string& why) { check_refused(plan, change, why); };
  const auto halo_windows = [](Plan& p, const auto& change) {
    for (Window& window : p.windows)
      if (window.has != Window::Has::part) change(window);
  };
  refused([&](Plan& p) { halo_windows(p, [](Window& w) { w.reads[0].begin -= 1; }); },
          "its part of the whole value is");
  refused([&](Plan& p) { halo_windows(p, [](Window& w) { w.reads[0].step = 0; }); }, "out of range");
  refused([&](Plan& p) { halo_windows(p, [](Window& w) { w.halo_dim = 1; }); }, "out of range");
  refused([&](Plan& p) { halo_windows(p, [](Window& w) { w.has = Window::Has::given; }); }, "its rows are not of");
  refused(
      [&](Plan& p) {
        halo_windows(p, [](Window& w) { w.has = w.has == Window::Has::given ? Window::Has::got : Window::Has::given; });
      },
      "its rows are not of 'u'");
  refused([&](Plan& p) { std::swap(p.collectives[0].parts[1], p.collectives[0].parts[3]); }, "");
  const auto attrs = [](Plan& p, const std::string& name, std::int64_t by) {
    for (Attrs& all : p.attrs)
      if (all.has("reads") && all.has(name)) {
        Ints numbers = all.get<Ints>(name);
        if (!numbers.empty()) numbers[0] += by;
        all.set(name, numbers);
      }
  };
  refused([&](Plan& p) { attrs(p, "begin", -3); }, "reads rows of 'u' that it does not have");
  refused([&](Plan& p) { attrs(p, "size", 1); }, "output 0 is float32[23,6] in the plan, its op gives float32[24,6]");
  refused([&](Plan& p) { attrs(p, "step", 1); }, "reads rows of 'u' that it does not have");
  refused([&](Plan& p) { attrs(p, "reads", 1); }, "its attributes do not fit its rows");
}

}  // namespace
}  // namespace ferry
