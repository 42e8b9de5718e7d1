// Files and batches; constants and parts of them; products large enough to be cut.
#include <doctest/doctest.h>

#include <set>

#include "base/compress.hpp"
#include "base/files.hpp"
#include "base/host_name.hpp"
#include "base/npy.hpp"
#include "ops/control.hpp"
#include "ops/data.hpp"
#include "ops/host.hpp"
#include "ops/linalg.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/threads.hpp"

namespace ferry {
namespace {

class Folder {
 public:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  Tensor evaluate(const Graph& graph, const Value& value) const {
    test::EvaluateOptions options;
    options.files = &local_files();
    options.data_folder = folder_.path();
    return test::Evaluator(graph, options).run({value})[0];
  }

 private:
  test::TempFolder folder_;
};

Tensor counting(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::int32, std::move(sizes));
  std::int32_t next = 0;
  for (std::int32_t& x : tensor.mutable_data<std::int32_t>()) x = next++;
  return tensor;
}

}  // namespace

TEST_CASE("an IDX file is read, packed or not") {
  const Folder folder;
  const std::string idx("\0\0\x08\x02\0\0\0\x02\0\0\0\x03\x01\x02\x03\x04\x05\x06", 18);
  local_files().write(folder.path("plain"), idx);
  const FileBytes packed = gzip(std::as_bytes(std::span(idx)));
  local_files().write(folder.path("packed.gz"), packed.span());
  for (const char* name : {"plain", "packed.gz"}) {
    Graph g;
    CHECK(folder.evaluate(g, read_idx(g, name, DType::uint8, {2, 3})).str() == "[[1 2 3] [4 5 6]]");
  }
  Graph g;
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.evaluate(g, read_idx(g, "plain", DType::uint8, {3, 2}))),
                       doctest::Contains("the graph declares uint8[3,2]"), Error);
  CHECK_THROWS_AS(static_cast<void>(folder.evaluate(g, read_idx(g, "plain", DType::float32, {2, 3}))), Error);
  CHECK_THROWS_AS(static_cast<void>(folder.evaluate(g, read_idx(g, "absent", DType::uint8, {2, 3}))), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(test::Evaluator(g).run({read_idx(g, "plain", DType::uint8, {2, 3})})),
                       doctest::Contains("no data folder"), Error);
}

TEST_CASE("a CSV file is read") {
  const Folder folder;
  local_files().write(folder.path("table.csv"), std::string_view("made by hand\n1,2\n3,4.5\n"));
  Graph g;
  CHECK(folder.evaluate(g, read_csv(g, "table.csv", DType::float32, {2, 2}, 1)).str() == "[[1 2] [3 4.5]]");
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.evaluate(g, read_csv(g, "table.csv", DType::int32, {2, 2}, 1))),
                       doctest::Contains("4.5"), Error);
  CHECK_THROWS_AS(static_cast<void>(folder.evaluate(g, read_csv(g, "table.csv", DType::float32, {3, 2}, 1))), Error);
  CHECK_THROWS_AS(static_cast<void>(folder.evaluate(g, read_csv(g, "table.csv", DType::float32, {1, 2}, 9))), Error);
}

TEST_CASE("an npy file is read") {
  const Folder folder;
  const Tensor x = Tensor::of<double>({2}, {0.5, -1});
  write_npy(local_files(), folder.path("x.npy"), "<f8", x.sizes(), x.bytes());
  Graph g;
  CHECK(folder.evaluate(g, read_npy(g, "x.npy", DType::float64, {2})).same_bits(x));
}

TEST_CASE("batches take every row once an epoch") {
  Graph g;
  const Values rows = batch(Values{g.constant(counting({10, 2})), g.constant(counting({10}))}, 3);
  test::Evaluator evaluator(g);
  std::set<std::string> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::set<std::int64_t> seen;
    std::string order;
    for (int step = 0; step < 3; ++step) {
      const auto got = evaluator.run(rows);
      REQUIRE(got[0].sizes() == std::vector<std::int64_t>{3, 2});
      for (std::int64_t r = 0; r < 3; ++r) {
        CHECK(got[0].integer(2 * r) == 2 * got[1].integer(r));
        seen.insert(got[1].integer(r));
      }
      order += got[1].str();
    }
    CHECK(seen.size() == 9);
    orders.insert(order);
  }
  CHECK(orders.size() == 3);
}

TEST_CASE("batches go on from a restored step, and in order without shuffling") {
  Graph g;
  const Value row = batch(Values{g.constant(counting({10}))}, 3)[0];
  const Value next = batch(Values{g.constant(counting({10}))}, 3, false)[0];
  test::Evaluator evaluator(g);
  Tensor last;
  for (int step = 0; step < 5; ++step) last = evaluator.run({row})[0];
  test::Evaluator later(g);
  later.step = 4;
  const auto restored = later.run({row, next});
  CHECK(restored[0].same_bits(last));
  CHECK(restored[1].str() == "[3 4 5]");
}

TEST_CASE("a host's name is padded with zeros") {
  Graph g;
  const Tensor name = test::Evaluator(g).run({host_name(g)})[0];
  REQUIRE(name.type() == Type{DType::uint8, {64}});
  const std::string wanted = this_host_name();
  for (std::size_t i = 0; i < 64; ++i)
    CHECK(name.data<std::uint8_t>()[i] == static_cast<std::uint8_t>(i < wanted.size() ? wanted[i] : '\0'));
}

TEST_CASE("a constant's part is cut out of it") {
  const Kernel* kernel = cpu_kernels().find("Constant");
  const Attrs attrs{{"value", counting({4, 5})}};
  const auto state = kernel->prepare({"c", attrs, {}, {}, nullptr, {}, 0, true});
  std::int32_t part[4] = {};
  std::int64_t sizes[] = {2, 2};
  const std::int64_t whole[] = {4, 5};
  const std::int64_t begin[] = {1, 3};
  Array out{reinterpret_cast<std::byte*>(part), DType::int32, sizes, whole, begin};
  test::Threads parallel;
  KernelRun run{{}, {&out, 1}, state.get(), {}, parallel, false, 0, {}};
  kernel->run(run);
  CHECK(part[0] == 8);
  CHECK(part[1] == 9);
  CHECK(part[2] == 13);
  CHECK(part[3] == 14);
}

TEST_CASE("print gives its input") {
  Graph g;
  const Value x = print(g.constant({1, 2, 3}), "x");
  CHECK(test::Evaluator(g).run({x})[0].str() == "[1 2 3]");
}

TEST_CASE("a large product has the same bits for any number of threads") {
  for (bool tall : {true, false}) {
    Tensor a(DType::float32, tall ? std::vector<std::int64_t>{700, 128} : std::vector<std::int64_t>{90, 128});
    Tensor b(DType::float32, tall ? std::vector<std::int64_t>{128, 90} : std::vector<std::int64_t>{128, 700});
    float next = 1;
    for (Tensor* x : {&a, &b})
      for (float& v : x->mutable_data<float>())
        v = next = next * 1.37F - static_cast<float>(static_cast<int>(next * 1.37F));
    Graph g;
    const Value y = matmul(g.constant(a), g.constant(b));
    const auto on = [&](int threads) {
      test::Threads parallel(threads);
      test::EvaluateOptions options;
      options.parallel = &parallel;
      return test::Evaluator(g, options).run({y})[0];
    };
    const Tensor one = on(1);
    CHECK(one.same_bits(on(2)));
    CHECK(one.same_bits(on(3)));
    double wanted = 0;
    const std::int64_t n = b.sizes()[1];
    for (std::int64_t k = 0; k < 128; ++k) wanted += a.number(80 * 128 + k) * b.number(k * n + 77);
    CHECK(one.number(80 * n + 77) == doctest::Approx(wanted).epsilon(1e-5));
  }
}

}  // namespace ferry
