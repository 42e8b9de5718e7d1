// Batches from files in sessions: the same rows on any number of tasks, little memory, errors that name the file.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/files/compress.hpp"
#include "base/files/npy.hpp"
#include "executor/session/session.hpp"
#include "ops/array/reshape.hpp"
#include "ops/data/data.hpp"
#include "ops/image/augment.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

Cluster tasks(int count) {
  return Cluster::connect(ClusterOptions{.tasks = count, .threads = 1, .jobs = ""});
}

SessionOptions reading(const test::TempFolder& folder) {
  SessionOptions options;
  options.run.seed = 7;
  options.run.data_folder = folder.path();
  return options;
}

/// Images with elements that count up.
Tensor counting(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::float32, std::move(sizes));
  float next = 0;
  for (float& x : tensor.mutable_data<float>()) x = next++;
  return tensor;
}

/// The fetches of each of six steps, which reach into the second epoch.
std::vector<Tensor> steps_on(int count, const test::TempFolder& folder, std::int64_t stream_from) {
  Graph g;
  const auto everywhere = g.on(g.mesh("dp"));
  const Value images = read_npy(g, "images.npy", DType::float32, {23, 3, 4, 1});
  const Value rows = batch(Values{images}, 5, {.stream_from = stream_from})[0].named("rows");
  const Value changed = random_crop(random_flip(rows, 1).named("flip"), 1).named("crop");
  const Value shown = (changed * 1.0F).laid({split(0)});
  Session session(g, tasks(count), reading(folder));
  std::vector<Tensor> all;
  for (int step = 0; step < 6; ++step) all.push_back(session.run({shown})[0]);
  return all;
}

/// The peak of the process's resident memory since reset_peak(), in bytes; -1 if it is not known.
std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  return -1;
}
bool reset_peak() {
  return static_cast<bool>(std::ofstream("/proc/self/clear_refs") << "5" << std::flush);
}

}  // namespace

TEST_CASE("streamed and changed images are the same on any number of tasks, and those of an array in memory") {
  const test::TempFolder folder;
  const Tensor images = counting({23, 3, 4, 1});
  write_npy(local_files(), folder / "images.npy", "<f4", images.sizes(), images.bytes());
  const std::vector<Tensor> wanted = steps_on(1, folder, 1 << 30);
  CHECK_FALSE(wanted[0].same_bits(wanted[4]));
  for (const int count : {1, 2, 3, 4}) {
    const std::vector<Tensor> got = steps_on(count, folder, 1);
    for (std::size_t step = 0; step < wanted.size(); ++step) CHECK(got[step].same_bits(wanted[step]));
  }
}

TEST_CASE("a file of 256 MB is read in a few MB") {
  constexpr std::int64_t kRows = 32768, kColumns = 2048, kBatch = 64;
  const test::TempFolder folder;
  const std::int64_t sizes[] = {kRows, kColumns};
  std::ofstream(folder / "large.npy", std::ios::binary) << npy_header("<f4", sizes);
  std::filesystem::resize_file(folder / "large.npy",
                               std::filesystem::file_size(folder / "large.npy") + kRows * kColumns * sizeof(float));
  Graph g;
  const Value rows = batch(Values{read_npy(g, "large.npy", DType::float32, {kRows, kColumns})}, kBatch)[0];
  REQUIRE(rows.op().def().name == "BatchFile");
  const Value total = sum(rows);
  Session session(g, tasks(1), reading(folder));
  if (!reset_peak()) return;
  const std::int64_t before = peak_bytes();
  RunRequest request;
  request.fetches = {total};
  request.steps = kRows / kBatch;
  CHECK(session.run(request)[0].number(0) == 0);
  CHECK(peak_bytes() - before < std::int64_t{48} << 20);
}

TEST_CASE("what cannot do with the smaller batch of an epoch is refused before the first step") {
  Graph g;
  const Value rows = batch(Values{g.constant(counting({10, 4}))}, 4)[0];
  const Value square = reshape(rows, {4, 2, 2});
  Session session(g, tasks(2));
  for (int times = 0; times < 2; ++times) {
    const Error error = test::error_of([&] { static_cast<void>(session.run({sum(square)})); });
    CHECK(error.code() == Code::plan);
    for (const char* part :
         {"the elements of [2,4] do not fit [4,2,2]", "data_test.cpp", "where 4_of_10 leaves 2 rows", "Rest::drop"})
      CHECK(test::says(error, part));
  }
  CHECK(session.run({sum(rows)}).size() == 1);
}

TEST_CASE("a file that is cut while it is read is named, with the op and the line") {
  const test::TempFolder folder;
  const Tensor rows = counting({1000, 4});
  write_npy(local_files(), folder / "rows.npy", "<f4", rows.sizes(), rows.bytes());
  Graph g;
  const Value taken = batch(Values{read_npy(g, "rows.npy", DType::float32, {1000, 4})}, 1, {.stream_from = 1})[0];
  Session session(g, tasks(1), reading(folder));
  static_cast<void>(session.run({taken}));
  std::filesystem::resize_file(folder / "rows.npy", 200);
  const Error error = test::error_of([&] {
    for (int step = 0; step < 10; ++step) static_cast<void>(session.run({taken}));
  });
  CHECK(error.code() == Code::file);
  for (const char* part :
       {"\"rows.npy\" in", "changed while it was read: of 16 bytes from byte", "BatchFile", "data_test.cpp"})
    CHECK(test::says(error, part));
}

TEST_CASE("the sizes of a file are known while the graph is built, as its reader finds them") {
  const test::TempFolder folder;
  const std::string csv = folder / "a.csv", npy = folder / "a.npy";
  local_files().write(csv, "made in 2026\nx,y,z\n1,2,3\n4,5,6\n");
  write_npy(local_files(), npy, "<f4", counting({2, 3}).sizes(), counting({2, 3}).bytes());
  for (const auto& [plain, packed] : {std::pair(csv, folder / "b.csv.gz"), std::pair(npy, folder / "b.npy.gz")})
    local_files().write(packed, gzip(local_files().read(plain).span()).text());
  CHECK(csv_shape(csv, 1).str() == "[2,3]");
  CHECK(csv_shape(folder / "b.csv.gz", 1).str() == "[2,3]");
  CHECK(npy_shape(npy).str() == "[2,3]");
  CHECK(npy_shape(folder / "b.npy.gz").str() == "[2,3]");
  // The readers look at the content of a file, not at its name, and take Fortran order; so does npy_shape().
  std::string fortran(local_files().read(npy).text());
  fortran.replace(fortran.find("False,"), 6, "True, ");
  local_files().write(folder / "fortran.npy", fortran);
  local_files().write(folder / "packed.npy", gzip(local_files().read(npy).span()).text());
  for (const char* name : {"fortran.npy", "packed.npy"}) CHECK(npy_shape(folder / name).str() == "[2,3]");
  Graph g;
  const Value table = read_csv(g, "a.csv", csv_shape(csv, 1), 1), array = read_npy(g, "a.npy", npy_shape(npy));
  Session session(g, tasks(1), reading(folder));
  CHECK(session.run({table + array})[0].str() == "[[1 3 5] [7 9 11]]");
  Graph other;
  const Value by_columns = read_npy(other, "fortran.npy", npy_shape(folder / "fortran.npy"));
  const Value unpacked = read_npy(other, "packed.npy", npy_shape(folder / "packed.npy"));
  Session reader(other, tasks(1), reading(folder));
  const std::vector<Tensor> read = reader.run({by_columns, unpacked});
  CHECK(read[0].str() == "[[0 2 4] [1 3 5]]");
  CHECK(read[1].str() == "[[0 1 2] [3 4 5]]");
  local_files().write(folder / "other.csv", "1;2\n3;4\n");
  CHECK(test::says(test::error_of([&] { static_cast<void>(csv_shape(folder / "other.csv")); }), "separated by \";\""));
  local_files().write(folder / "words.csv", "a,b\n1,2\nx,4\n");
  CHECK(
      test::says(test::error_of([&] { static_cast<void>(csv_shape(folder / "words.csv")); }), "\"x\" is not a number"));
  const Error bfloat16 = test::error_of([&] { read_npy(other, "a.npy", DType::bfloat16, {2, 3}); });
  CHECK(bfloat16.code() == Code::plan);
  CHECK(test::says(bfloat16, "npy files have no bfloat16; save the array as float32"));
  const Error missing = test::error_of([&] { static_cast<void>(csv_shape(folder / "none.csv")); });
  CHECK(missing.code() == Code::file);
  CHECK(test::says(missing, "none.csv"));
  CHECK(test::says(missing, "data_test.cpp:"));
  CHECK(missing.text().find("--data") == std::string::npos);
  for (const std::string data : {"", "/folder-that-is-not-there"})  // a program without --data makes such a path
    CHECK(test::says(test::error_of([&] { static_cast<void>(npy_shape(data + "/train-that-is-not-there.npy")); }),
                     "if the path begins with an empty data folder: give the program --data DIR"));
  CHECK(test::says(test::error_of([&] { read_csv(g, "a.csv", {"n", 3}); }), "csv_shape()"));
}

TEST_CASE("the rows of raw files are known while the graph is built") {
  const test::TempFolder folder;
  local_files().write(folder / "raw", counting({3, 2}).bytes());
  local_files().make_folders(folder / "frames");
  for (const char* name : {"0", "1"}) local_files().write(folder / ("frames/" + std::string(name)), "abcdef");
  CHECK(raw_shape(folder / "raw", {2}).str() == "[3,2]");
  CHECK(raw_shape(folder / "raw", DType::uint8, {}).str() == "[24]");
  Graph g;
  const Shape frames = raw_shape(folder / "frames/", DType::uint8, {1, 3});
  CHECK(frames.str() == "[4,1,3]");
  const Value read = read_raw(g, "frames/", DType::uint8, frames);
  Session session(g, tasks(1), reading(folder));
  CHECK(session.run({read})[0].str() == "[[[97 98 99]] [[100 101 102]] [[97 98 99]] [[100 101 102]]]");
  const Error part = test::error_of([&] { static_cast<void>(raw_shape(folder / "frames/", DType::uint8, {4})); });
  CHECK(part.code() == Code::file);
  for (const char* text : {"frames/0\" has 6 bytes, which are not whole rows of uint8[4]: 4 bytes", "data_test.cpp:"})
    CHECK(test::says(part, text));
  for (const Shape& row : {Shape{std::int64_t{0}}, Shape{"n"}})
    CHECK(test::error_of([&] { static_cast<void>(raw_shape(folder / "raw", row)); }).code() == Code::plan);
}

}  // namespace ferry
