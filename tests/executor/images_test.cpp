// Images in sessions: the same bits on any number of tasks and threads, each row once an epoch, and errors.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "base/files/files.hpp"
#include "executor/session/session.hpp"
#include "ops/data/data.hpp"
#include "ops/math/math.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kRows = 22, kClasses = 2;

/// 22 images; the blue of each is its row.
void write_images(const test::TempFolder& folder) {
  for (int row = 0; row < kRows; ++row) {
    const std::string name = "train/" + std::to_string(row * kClasses / kRows);
    local_files().make_folders(folder / name);
    const auto pixel = [row](int x, int y) { return test::Rgb{x * 2, x * y / 24, row * 10}; };
    local_files().write(folder / (name + "/" + std::to_string(10 + row) + ".jpg"),
                        std::string_view(test::jpeg_file(70 + row, 60, pixel)));
  }
}

SessionOptions reading(const test::TempFolder& folder) {
  SessionOptions options;
  options.run.seed = 7;
  options.run.data_folder = folder.path();
  return options;
}

/// The images and labels of nine steps; an epoch has four.
std::vector<Tensor> steps_on(int tasks, int threads, const test::TempFolder& folder) {
  Graph g;
  const auto everywhere = g.on(g.mesh("dp"));
  const ImageRows rows = read_images(g, "train", {kRows, 16, 24, 3}, kClasses, {.augment = true});
  const Values taken = batch({rows.images, rows.labels}, 6, {.prefetch = 2});
  const Value images = (taken[0] + 0).laid({split(0)});
  const Value labels = (taken[1] + 0).laid({split(0)});
  Session session(g, Cluster::connect(ClusterOptions{.tasks = tasks, .threads = threads, .jobs = ""}), reading(folder));
  std::vector<Tensor> all;
  for (int step = 0; step < 9; ++step)
    for (Tensor& got : session.run({images, labels})) all.push_back(std::move(got));
  return all;
}

}  // namespace

TEST_CASE("images have the same bits on any number of tasks and threads, and come once an epoch") {
  const test::TempFolder folder;
  write_images(folder);
  const std::vector<Tensor> wanted = steps_on(1, 1, folder);
  for (const auto& tasks_and_threads : {std::pair{1, 2}, {2, 1}, {2, 2}, {3, 1}}) {
    const int tasks = tasks_and_threads.first, threads = tasks_and_threads.second;
    CAPTURE(tasks);
    CAPTURE(threads);
    const std::vector<Tensor> got = steps_on(tasks, threads, folder);
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(got[i].same_bits(wanted[i]));
  }
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    std::set<std::int64_t> rows;
    for (std::size_t step = epoch * 4; step < epoch * 4 + 4; ++step)
      for (std::int64_t i = 0; i < wanted[2 * step + 1].count(); ++i) {
        const auto blue = wanted[2 * step].number(i * 16 * 24 * 3 + 2);
        const auto row = static_cast<std::int64_t>((blue + 5) / 10);
        CHECK(wanted[2 * step + 1].integer(i) == row * kClasses / kRows);
        rows.insert(row);
      }
    CHECK(rows.size() == kRows);
  }
}

TEST_CASE("a damaged image is named, with the op and the line") {
  const test::TempFolder folder;
  write_images(folder);
  local_files().write(folder / "train/0/13.jpg", std::string_view("no image"));
  const Error error = test::error_of([&] { static_cast<void>(steps_on(2, 1, folder)); });
  CHECK(error.code() == Code::file);
  for (const char* part :
       {"\"train/0/13.jpg\" is neither a JPEG nor a PNG image", "BatchFile", "images_test.cpp", "try: "})
    CHECK(test::says(error, part));
}

}  // namespace ferry
