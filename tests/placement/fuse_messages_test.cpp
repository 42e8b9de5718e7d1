// Tests which sums share a message, where they start, and that their values lie side by side.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

struct Given {
  Graph graph;
  std::vector<Value> fetches = {}, targets = {};
  Topology topology = Topology::local(2);
  std::optional<std::int64_t> bucket_bytes = {};
};

Signature signature_of(const Given& given) {
  Signature signature;
  for (const Value& fetch : given.fetches) signature.fetches.push_back(fetch.id());
  for (const Value& target : given.targets) signature.targets.push_back(target.op().id());
  return signature;
}

/// The nodes of the step in order after the pass, collectives with the names of their values: "Sum Mul
/// all_reduce(sum,sum_1) …". Leaves out reads of variables and values computed once.
std::string fused(const Given& given) {
  PlanOptions options;
  options.bucket_bytes = given.bucket_bytes;
  const std::string program =
      test::text_after("fuse_messages", given.graph, signature_of(given), given.topology, options);
  const std::string step = program.substr(0, program.find("region 1"));
  std::map<std::string, std::string> names;  // value -> name
  std::string text;
  for (const std::string_view line : split(step, '\n')) {
    if (line.find('(') == std::string_view::npos) continue;
    const std::size_t equals = line.find(" = "), opens = line.find('('), closes = line.find(')');
    const std::string_view name = line.substr(line.find("# ") + 2);
    const std::size_t begin = equals == std::string_view::npos ? line.find_first_not_of(' ') : equals + 3;
    if (equals != std::string_view::npos)
      for (const std::string_view value : split(line.substr(line.find('%'), equals - line.find('%')), ','))
        names[std::string(value.substr(value.find('%')))] = name;
    const std::string_view op = line.substr(begin, opens - begin);
    if (op == "Variable" || line.find(" once") != std::string_view::npos) continue;
    text += text.empty() ? "" : " ";
    if (!op.starts_with("collective.")) {
      text += op;
      continue;
    }
    std::vector<std::string> values;
    for (const std::string_view value : split(line.substr(opens + 1, closes - opens - 1), ','))
      values.push_back(names.at(std::string(value.substr(value.find('%')))));
    text += std::string(op.substr(op.find('.') + 1)) + "(" + join(values, ",") + ")";
  }
  return text;
}

Plan planned(const Given& given) {
  PlanOptions options;
  options.bucket_bytes = given.bucket_bytes;
  Plan plan = make_plan(given.graph, signature_of(given), given.topology, test::AllKernels(), options).plan;
  const Verdict verdict = verify(plan);
  CHECK_MESSAGE(verdict.pass, verdict.reason);
  return plan;
}

/// A variable whose 8 rows are split over the tasks.
Value rows(Graph& g, std::int64_t width, const std::string& name) {
  return g.variable(name, g.constant(Tensor(DType::float32, {8, width}))).laid({split(0)});
}

/// The sum over the rows, on every task.
Value total(const Value& x, const std::string& name) {
  return identity(sum(x, {0}).named(name)).laid({replicated()});
}

TEST_CASE("sums that are made one after another share a message, which starts when the last is made") {
  Given given;
  auto all = given.graph.on(given.graph.mesh("dp"));
  const Value x = rows(given.graph, 4, "x");
  const Value a = total(x, "a"), b = total(x * x, "b"), c = total(exp(x), "c");
  given.fetches = {a * b * c};
  CHECK(fused(given) == "Sum Mul Sum Exp Sum all_reduce(a,b,c) Identity Identity Identity Mul Mul fetch");
}

TEST_CASE("a bucket takes no more once it has the bytes of eight latencies") {
  Given given;
  auto all = given.graph.on(given.graph.mesh("dp"));
  const Value x = rows(given.graph, 4, "x"), wide = rows(given.graph, 20000, "wide");
  const Value a = total(x, "a"), b = total(wide, "b"), c = total(x * x, "c"), d = total(exp(x), "d");
  given.fetches = {sum(b) + sum(a * c * d)};
  const std::string order = fused(given);
  CHECK_MESSAGE(order.find("all_reduce(b,a)") != std::string::npos, order);  // b's size keeps a aligned, so b is first
  CHECK_MESSAGE(order.find("all_reduce(c,d)") != std::string::npos, order);
  CHECK(planned(given).collectives.size() == 2);
  given.bucket_bytes = 0;
  CHECK(planned(given).collectives.size() == 4);
  given.bucket_bytes = INT64_MAX;
  CHECK(planned(given).collectives.size() == 1);
}

TEST_CASE("a bucket of less than no bytes is refused") {
  Given given;
  given.bucket_bytes = -1;
  CHECK_THROWS_WITH_AS(static_cast<void>(planned(given)), doctest::Contains("buckets of -1 bytes"), Error);
}

TEST_CASE("how many bytes fill a bucket depends on the links between its members") {
  Given given;
  auto all = given.graph.on(given.graph.mesh("dp"));
  const Value x = rows(given.graph, 20000, "x");
  const Value a = total(x, "a"), b = total(x * x, "b");
  given.fetches = {a * b};
  CHECK(planned(given).collectives.size() == 2);  // 80,000 bytes are more than 8 × 1 µs × 8 GB/s
  given.topology.tasks[1].host = 1;
  CHECK(planned(given).collectives.size() == 1);  // and less than 8 × 20 µs × 1 GB/s
}

TEST_CASE("a sum does not wait for one that is made after its result is used") {
  Given given;
  auto all = given.graph.on(given.graph.mesh("dp"));
  const Value x = rows(given.graph, 4, "x");
  const Value a = total(x, "a");
  const Value b = total(x * a, "b");
  given.fetches = {b};
  CHECK(fused(given) == "Sum all_reduce(a) Identity Mul Sum all_reduce(b) Identity fetch");
}

TEST_CASE("what is gathered of a variable stays where it is used") {
  Given given;
  auto all = given.graph.on(given.graph.mesh("dp"));
  const Value w = rows(given.graph, 4, "w"),
              x = given.graph.variable("x", given.graph.constant(Tensor(DType::float32, {8, 4})));
  const Value y = exp(exp(x));
  given.fetches = {y + identity(w).laid({replicated()})};
  const std::string order = fused(given);
  CHECK_MESSAGE(order.find("Exp Exp") < order.find("all_gather("), order);
}

TEST_CASE("other dtypes, operators, members and kinds are other buckets") {
  Given given;
  given.topology = Topology::local(4);
  auto all = given.graph.on(given.graph.mesh({{"dp", 2}, {"tp", 2}}));
  const Layout whole{replicated(), replicated()};
  const Value x =
      given.graph.variable("x", given.graph.constant(Tensor(DType::float32, {8, 4}))).laid({split(0), replicated()});
  const Value y =
      given.graph.variable("y", given.graph.constant(Tensor(DType::float32, {8, 4}))).laid({replicated(), split(0)});
  const auto everywhere = [&](const Value& value, const char* name) {
    return identity(Value(value).named(name)).laid(whole);
  };
  const Value a = everywhere(sum(x, {0}), "a"), b = everywhere(max(x, {0}), "b"), c = everywhere(sum(y, {0}), "c"),
              d = everywhere(sum(cast(x, DType::int32), {0}), "d"), e = everywhere(sum(x * x, {0}), "e");
  given.fetches = {a + e + b + c + cast(d, DType::float32)};
  const std::string order = fused(given);
  for (const char* one : {"all_reduce(a,e)", "all_reduce(b)", "all_reduce(c)", "all_reduce(d)"})
    CHECK_MESSAGE(order.find(one) != std::string::npos, order);
  planned(given);
}

TEST_CASE("values of a bucket lie side by side in one buffer, and so do the sums") {
  Given given;
  auto all = given.graph.on(given.graph.mesh("dp"));
  const Value x = rows(given.graph, 3, "x"), y = rows(given.graph, 16, "y");
  const Value a = total(x, "a"), b = total(y, "b");
  given.fetches = {sum(a) + sum(b)};
  const Plan plan = planned(given);
  const PlanClass& c = plan.classes[0];
  const auto offsets_in = [&](const std::string& name) {
    std::vector<std::uint64_t> offsets;
    for (const Buffer& buffer : c.buffers)
      if (plan.string(buffer.name) == name && buffer.view_of != kNone && buffer.bytes < c.buffers[buffer.view_of].bytes)
        offsets.push_back(buffer.offset - c.buffers[buffer.view_of].offset);
    return offsets;
  };
  CHECK(offsets_in("b") == std::vector<std::uint64_t>{0, 0});
  CHECK(offsets_in("a") == std::vector<std::uint64_t>{64, 64});
}

TEST_CASE("what is seen through a view lies in the bucket; what a collective brings does not") {
  Given given;
  auto all = given.graph.on(given.graph.mesh("dp"));
  const Value x = rows(given.graph, 4, "x");
  const Value a = identity(reshape(sum(x, {0}).named("a"), {2, 2})).laid({replicated()}), b = total(x * x, "b");
  given.fetches = {sum(a) + sum(b)};
  const std::string order = fused(given);
  CHECK_MESSAGE(order.find("all_reduce(") == order.rfind("all_reduce("), order);
  CHECK(planned(given).collectives.size() == 1);
}

}  // namespace
}  // namespace ferry
