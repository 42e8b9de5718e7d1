// Files and batches; constants and parts of them; products large enough to be split over threads.
#include <doctest/doctest.h>

#include <memory>
#include <mutex>
#include <set>

#include "base/files/compress.hpp"
#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "base/system/machine.hpp"
#include "graph/file/tensor_file.hpp"
#include "ops/control/control.hpp"
#include "ops/data/data.hpp"
#include "ops/data/host.hpp"
#include "ops/math/linalg.hpp"
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

TEST_CASE("a file with more rows than declared, or elements of another dtype, is refused by these, however large") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "1.5,2.5\n";
  local_files().write(folder.path("long.csv"), text);
  std::string idx("\0\0\x0e\x02\0\3\0\0\0\0\0\x02", 12);
  idx.resize(12 + 3 * 65536 * 2 * 8);
  local_files().write(folder.path("doubles"), idx);
  Graph g;
  const Tensor wanted = folder.evaluate(g, read_csv(g, "long.csv", DType::float32, {300'000, 2}));
  CHECK(wanted.data<float>()[599'999] == 2.5F);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(folder.evaluate(g, read_csv(g, "long.csv", DType::float32, {2, 2}))),
      doctest::Contains("\"long.csv\" holds 300000 rows of 2 numbers; the graph declares float32[2,2]"), Error);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(folder.evaluate(g, read_idx(g, "doubles", DType::float32, {3 * 65536, 2}))),
      doctest::Contains("\"doubles\" holds \"<f8\" of [196608,2]; the graph declares float32[196608,2]"), Error);
  const FileBytes packed = gzip(std::as_bytes(std::span(text)));
  local_files().write(folder.path("long.csv.gz"), packed.span());
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.evaluate(g, read_csv(g, "long.csv.gz", DType::float32, {2, 2}))),
                       doctest::Contains("float32[2,2]"), Error);
}

TEST_CASE("the numbers of a CSV file are read as the dtype, or refused with their place") {
  const Folder folder;
  const auto read = [&](const char* text, DType dtype) {
    local_files().write(folder.path("ids.csv"), std::string_view(text));
    Graph g;
    return folder.evaluate(g, read_csv(g, "ids.csv", dtype, {2, 2})).str();
  };
  const auto refused = [&](const char* text, DType dtype, const char* why) {
    CHECK_THROWS_WITH_AS(static_cast<void>(read(text, dtype)), doctest::Contains(why), Error);
  };
  CHECK(read("9007199254740993,2\n3,-9223372036854775808\n", DType::int64) ==
        "[[9007199254740993 2] [3 -9223372036854775808]]");
  CHECK(read("18446744073709551615,1e3\n3.0,4\n", DType::uint64) == "[[18446744073709551615 1000] [3 4]]");
  CHECK(read("1e-400,2\n3,4\n", DType::float64) == "[[0 2] [3 4]]");
  CHECK(read("1e-50,inf\n-inf,65519\n", DType::float16) == "[[0 inf] [-inf 6.55e+04]]");
  refused("1,2\n3,1e39\n", DType::float32, "ids.csv:2:3: \"1e39\" is out of the range of float32");
  refused("1,70000\n3,4\n", DType::float16, "ids.csv:1:3: \"70000\" is out of the range of float16");
  refused("1,2\n3,9223372036854775808\n", DType::int64,
          "ids.csv:2:3: \"9223372036854775808\" is out of the range of int64");
  refused("1,300\n3,4\n", DType::uint8, "ids.csv:1:3: \"300\" is out of the range of uint8");
  refused("1,2.5\n3,4\n", DType::int32, "ids.csv:1:3: \"2.5\" is not a whole number, as int32 must be");
  refused("1,2\n3\n", DType::int32, "ids.csv:2:1: 1 fields, and the line before has 2");
  refused("1,2,3\n4,5,6\n", DType::int32, "2 rows of 3 numbers");
}

TEST_CASE("an npy file is read") {
  const Folder folder;
  const Tensor x = Tensor::of<double>({2}, {0.5, -1});
  write_npy(local_files(), folder.path("x.npy"), "<f8", x.sizes(), x.bytes());
  Graph g;
  CHECK(folder.evaluate(g, read_npy(g, "x.npy", DType::float64, {2})).same_bits(x));
}

TEST_CASE("raw elements are read from a file, or from the files of a folder in order of name") {
  const Folder folder;
  local_files().write(folder.path("all.raw"), std::string_view("abcdefgh"));
  local_files().make_folders(folder.path("images"));
  local_files().write(folder.path("images/1.raw"), std::string_view("abcd"));
  local_files().write(folder.path("images/2.raw"), std::string_view(""));
  local_files().write(folder.path("images/3.raw"), std::string_view("efgh"));
  for (const char* path : {"all.raw", "images/"}) {
    Graph g;
    CHECK(folder.evaluate(g, read_raw(g, path, DType::uint8, {4, 1, 2})).str() ==
          "[[[97 98]] [[99 100]] [[101 102]] [[103 104]]]");
    CHECK_THROWS_WITH_AS(static_cast<void>(folder.evaluate(g, read_raw(g, path, DType::uint8, {5, 2}))),
                         doctest::Contains("4 rows; the graph declares uint8[5,2]"), Error);
    CHECK_THROWS_WITH_AS(static_cast<void>(folder.evaluate(g, read_raw(g, path, DType::uint8, {2, 3}))),
                         doctest::Contains("bytes, which are not whole rows of 3"), Error);
    CHECK_THROWS_WITH_AS(static_cast<void>(folder.evaluate(g, read_raw(g, path, DType::boolean, {4, 2}))),
                         doctest::Contains("byte 0 is neither true nor false: 97"), Error);
  }
  Graph g;
  CHECK_THROWS_AS(static_cast<void>(folder.evaluate(g, read_raw(g, "absent/", DType::uint8, {4, 2}))), Error);
}

TEST_CASE("a tensor of a safetensors file is read") {
  const Folder folder;
  const Tensor x = Tensor::of<double>({2, 1}, {0.5, -1});
  write_tensors(local_files(), folder.path("x.safetensors"), {{"left", counting({3})}, {"right", x}});
  Graph g;
  const auto read = [&](std::string_view name, DType dtype, const Shape& shape) {
    return folder.evaluate(g, read_safetensors(g, "x.safetensors", name, dtype, shape));
  };
  CHECK(read("right", DType::float64, {2, 1}).same_bits(x));
  CHECK(read("left", DType::int32, {3}).same_bits(counting({3})));
  CHECK_THROWS_WITH_AS(static_cast<void>(read("rigth", DType::float64, {2, 1})),
                       doctest::Contains("there is no tensor \"rigth\"\n  try: did you mean \"right\"?"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(read("right", DType::float32, {2, 1})),
                       doctest::Contains("holds \"F64\" of [2,1]; the graph declares float32[2,1]"), Error);
}

TEST_CASE("the rows of a LibSVM file have one number of places") {
  const Folder folder;
  local_files().write(folder.path("rows.txt"), std::string_view("1 3:1 9:0.5\n0:0.25\n-1 0:2 4:-1 5:3\n"));
  Graph g;
  const SparseRows rows = read_libsvm(g, "rows.txt", 3, 3, 10);
  CHECK(folder.evaluate(g, rows.labels).str() == "[1 0 -1]");
  CHECK(folder.evaluate(g, rows.values).str() == "[[1 0.5 0] [0 0 0] [2 -1 3]]");
  CHECK(folder.evaluate(g, rows.indices).str() == "[[3 9 0] [0 0 0] [0 4 5]]");
  CHECK(folder.evaluate(g, read_libsvm_weights(g, "rows.txt", 3, 3, 10)).str() == "[1 0.25 1]");
  const auto refused = [&](std::int64_t count, std::int64_t most, std::int64_t features, const char* why) {
    CHECK_THROWS_WITH_AS(
        static_cast<void>(folder.evaluate(g, read_libsvm(g, "rows.txt", count, most, features).values)),
        doctest::Contains(why), Error);
  };
  refused(4, 3, 10, "\"rows.txt\" holds 3 rows; the graph declares 4");
  refused(2, 3, 10, "rows.txt:3:1: more than 2 rows");
  refused(3, 2, 10, "rows.txt:3:13: more than 2 entries in a row");
  refused(3, 3, 9, "rows.txt:1:7: the index 9 is not below 9");
}

TEST_CASE("batches take every row once an epoch, or leave out the rest") {
  for (const Rest rest : {Rest::keep, Rest::drop}) {
    Graph g;
    const Values rows = batch(Values{g.constant(counting({10, 2})), g.constant(counting({10}))}, 3, {.rest = rest});
    CHECK(rows[0].shape().str() == (rest == Rest::keep ? "[3_of_10,2]" : "[3,2]"));
    test::Evaluator evaluator(g);
    std::set<std::string> orders;
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::set<std::int64_t> seen;
      std::string order;
      for (int step = 0; step < (rest == Rest::keep ? 4 : 3); ++step) {
        const auto got = evaluator.run(rows);
        const std::int64_t size = step == 3 ? 1 : 3;
        REQUIRE(got[0].sizes() == std::vector<std::int64_t>{size, 2});
        for (std::int64_t r = 0; r < size; ++r) {
          CHECK(got[0].integer(2 * r) == 2 * got[1].integer(r));
          seen.insert(got[1].integer(r));
        }
        order += got[1].str();
      }
      CHECK(seen.size() == (rest == Rest::keep ? 10 : 9));
      orders.insert(order);
    }
    CHECK(orders.size() == 3);
  }
}

/// Writes files of 23 rows in all formats (raw rows also as a folder of two files), and gives the ops that read them.
Values in_files(const Folder& folder, Graph& g) {
  const Tensor rows = counting({23, 2});
  write_npy(local_files(), folder.path("x.npy"), "<i4", rows.sizes(), rows.bytes());
  write_tensors(local_files(), folder.path("x.safetensors"), {{"before", counting({3})}, {"x", rows}});
  local_files().write(folder.path("x.raw"), rows.bytes());
  local_files().make_folders(folder.path("rows"));
  local_files().write(folder.path("rows/1"), rows.bytes().first(40));
  local_files().write(folder.path("rows/2"), rows.bytes().subspan(40));
  std::string idx("\0\0\x0c\x02\0\0\0\x17\0\0\0\x02", 12);
  for (char i = 0; i < 46; ++i) idx += std::string("\0\0\0", 3) + i;
  local_files().write(folder.path("x.idx"), idx);
  std::string table = "made by hand\nleft,right\r\n", sparse = "# made by hand\n\n";
  for (int i = 0; i < 23; ++i) {
    table += std::to_string(2 * i) + ", \"" + std::to_string(2 * i + 1) + "\"\n";
    sparse += std::to_string(i) + (i % 2 == 0 ? "" : ":" + std::to_string(i)) +
              (i % 3 == 0 ? "\n\n" : " 2:0.5 7:" + std::to_string(i) + " # row\n");
  }
  local_files().write(folder.path("x.csv"), table + "\n\n");
  local_files().write(folder.path("x.txt"), sparse);
  const Shape shape{23, 2};
  const SparseRows rows_of_text = read_libsvm(g, "x.txt", 23, 3, 8);
  return {read_csv(g, "x.csv", DType::int32, shape, 1),
          rows_of_text.labels,
          rows_of_text.values,
          rows_of_text.indices,
          read_libsvm_weights(g, "x.txt", 23, 3, 8),
          read_npy(g, "x.npy", DType::int32, shape),
          read_safetensors(g, "x.safetensors", "x", DType::int32, shape),
          read_raw(g, "x.raw", DType::int32, shape),
          read_raw(g, "rows/", DType::int32, shape),
          read_idx(g, "x.idx", DType::int32, shape)};
}

TEST_CASE("batches out of files are those of arrays in memory, from any step on") {
  const Folder folder;
  for (bool shuffle : {true, false}) {
    Graph g;
    const Values files = in_files(folder, g);
    Values rows = batch(files, 4, {.shuffle = shuffle, .seed = 3, .stream_from = 1, .prefetch = 3});
    const Values kept = batch(files, 4, {.shuffle = shuffle, .seed = 3, .stream_from = std::int64_t{1} << 40});
    for (const Value& streamed : rows) CHECK(streamed.op().def().name == "BatchFile");
    rows.insert(rows.end(), kept.begin(), kept.end());
    test::EvaluateOptions options;
    options.files = &local_files();
    options.data_folder = folder.path(".");
    test::Evaluator evaluator(g, options);
    for (std::int64_t step : {0, 1, 2, 3, 4, 5, 6, 14, 15, 2, 1000000}) {
      evaluator.step = step;
      const auto got = evaluator.run(rows);
      for (std::size_t i = 0; i < files.size(); ++i) CHECK(got[i].same_bits(got[files.size() + i]));
    }
  }
}

TEST_CASE("damaged rows of a text are named by file and line, when they are taken") {
  const Folder folder;
  test::EvaluateOptions options;
  options.files = &local_files();
  options.data_folder = folder.path(".");
  const auto refused = [&](const Value& array, std::int64_t step, const char* why) {
    Graph& g = array.graph();
    const Value row = batch(Values{array}, 1, {.shuffle = false, .stream_from = 1, .prefetch = 1})[0];
    test::Evaluator evaluator(g, options);
    evaluator.step = step;
    CHECK_THROWS_WITH_AS(static_cast<void>(evaluator.run({row})), doctest::Contains(why), Error);
  };
  local_files().write(folder.path("x.csv"), std::string_view("a,b\n1,2\n3,x\n5,6,7\n8.5,9\n"));
  local_files().write(folder.path("empty.csv"), std::string_view("1,2\n\n3,4\n"));
  local_files().write(folder.path("x.txt"), std::string_view("1 2:3\n\n1 2:x\n1 9:1\n1 1:1 2:2\n"));
  Graph g;
  const Value table = read_csv(g, "x.csv", DType::int32, {4, 2});
  refused(table, 1, "x.csv:3:3: \"x\" is not a number");
  refused(table, 2, "3 numbers in line 4; the graph declares int32[4,2]");
  refused(table, 3, "x.csv:5:1: \"8.5\" is not a whole number");
  refused(read_csv(g, "x.csv", DType::int32, {5, 2}), 0, "\"x.csv\" holds 4 rows");
  refused(read_csv(g, "empty.csv", DType::int32, {2, 2}), 0, "empty.csv:2:1: an empty line");
  const Value values = read_libsvm(g, "x.txt", 4, 1, 9).values;
  refused(values, 1, "x.txt:3:5: the value \"x\" is not a number");
  refused(values, 2, "x.txt:4:3: the index 9 is not below 9");
  refused(values, 3, "x.txt:5:7: more than 1 entries in a row");
}

/// The machine's files; records the offsets of the bytes that are read from opened ones.
class Recording final : public FileSystem {
 public:
  FileBytes read(const std::string& path, std::uint64_t limit) override { return local_files().read(path, limit); }
  std::unique_ptr<FileReader> open(const std::string& path) override { return local_files().open(path); }
  FileBytes read_beneath(const std::string& root, std::string_view path, std::uint64_t limit) override {
    return local_files().read_beneath(root, path, limit);
  }
  std::unique_ptr<FileReader> open_beneath(const std::string& root, std::string_view path) override {
    return std::make_unique<Reader>(local_files().open_beneath(root, path), *this);
  }
  void write(const std::string& path, std::span<const std::span<const std::byte>> pieces) override {
    local_files().write(path, pieces);
  }
  void append(const std::string& path, std::string_view content) override { local_files().append(path, content); }
  void make_folders(const std::string& path) override { local_files().make_folders(path); }
  bool exists(const std::string& path) override { return local_files().exists(path); }
  bool is_folder(const std::string& path) override { return local_files().is_folder(path); }
  bool is_link(const std::string& path) override { return local_files().is_link(path); }
  std::vector<std::string> list(const std::string& path) override { return local_files().list(path); }
  void rename_folder(const std::string& from, const std::string& to) override { local_files().rename_folder(from, to); }
  void move_file(const std::string& from, const std::string& to) override { local_files().move_file(from, to); }
  void remove(const std::string& path) override { local_files().remove(path); }

  [[nodiscard]] std::set<std::uint64_t> taken() {
    const std::lock_guard lock(mutex_);
    return read_;
  }

 private:
  class Reader final : public FileReader {
   public:
    Reader(std::unique_ptr<FileReader> file, Recording& files) : file_(std::move(file)), files_(files) {}
    const std::string& name() const override { return file_->name(); }
    std::uint64_t size() const override { return file_->size(); }
    void read(std::uint64_t begin, std::span<std::byte> target) const override {
      const std::lock_guard lock(files_.mutex_);
      for (std::uint64_t at = begin; at < begin + target.size(); ++at) files_.read_.insert(at);
      file_->read(begin, target);
    }

   private:
    std::unique_ptr<FileReader> file_;
    Recording& files_;
  };
  std::mutex mutex_;
  std::set<std::uint64_t> read_;
};

TEST_CASE("a task reads the rows of its part, and at most so many steps ahead") {
  const Folder folder;
  local_files().write(folder.path("rows"), std::string_view("abcdefghijklmnopqrstuvwxyz"));
  Recording files;
  const Kernel* kernel = cpu_kernels().find("BatchFile");
  Graph g;
  const Attrs& attrs =
      batch(Values{read_raw(g, "rows", DType::uint8, {26})}, 4, {.shuffle = false, .stream_from = 1, .prefetch = 1})[0]
          .op()
          .attrs();
  const std::string root = folder.path(".");
  const auto state = kernel->prepare({"b", attrs, {}, {}, &files, root, 0, true});
  char part[2] = {};
  std::int64_t sizes[] = {2};
  const std::int64_t whole[] = {4}, begin[] = {1};
  Array out{reinterpret_cast<std::byte*>(part), DType::uint8, sizes, whole, begin};
  test::Threads parallel;
  for (std::int64_t step : {0, 1, 2}) {
    KernelRun run{{}, {&out, 1}, state.get(), {}, parallel, false, step, {}};
    kernel->run(run);
    CHECK(std::string(part, 2) == std::string{static_cast<char>('b' + 4 * step), static_cast<char>('c' + 4 * step)});
  }
  const std::set<std::uint64_t> taken = files.taken();
  for (const std::uint64_t byte : taken) CHECK(std::set<std::uint64_t>{1, 2, 5, 6, 9, 10, 13, 14}.contains(byte));
  CHECK(taken.size() >= 6);
}

TEST_CASE("only large arrays of files that are not packed are streamed") {
  Graph g;
  const auto op = [&](const Value& array, std::int64_t from) {
    return batch(Values{array, g.constant(counting({100}))}, 4, {.stream_from = from})[0].op().def().name;
  };
  const Shape shape{100, 2};
  CHECK(op(read_npy(g, "x.npy", DType::int32, shape), 800) == "BatchFile");
  CHECK(op(read_npy(g, "x.npy", DType::int32, shape), 801) == "Batch");
  CHECK(op(read_npy(g, "x.npy.gz", DType::int32, shape), 1) == "Batch");
  CHECK(op(read_libsvm(g, "x.txt", 100, 9, 9).labels, 7600) == "BatchFile");
  CHECK(op(read_libsvm(g, "x.txt", 100, 9, 9).labels, 7601) == "Batch");
  CHECK(op(g.constant(counting({100, 2})), 1) == "Batch");
  CHECK_THROWS_WITH_AS(batch(Values{read_npy(g, "x.npy", DType::int32, shape)}, 101, {.stream_from = 1}),
                       doctest::Contains("a batch of 101 of 100 rows"), Error);
  CHECK_THROWS_WITH_AS(batch(Values{read_npy(g, "x.npy", DType::int32, shape)}, 1, {.stream_from = 1, .prefetch = 0}),
                       doctest::Contains("a prefetch of 0 batches"), Error);
}

TEST_CASE("batches go on from a restored step, and in order without shuffling") {
  Graph g;
  const Value row = batch(Values{g.constant(counting({10}))}, 3)[0];
  const Value next = batch(Values{g.constant(counting({10}))}, 3, {.shuffle = false})[0];
  test::Evaluator evaluator(g);
  Tensor last;
  for (int step = 0; step < 6; ++step) last = evaluator.run({row})[0];
  test::Evaluator later(g);
  later.step = 5;  // the second of the second epoch
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
