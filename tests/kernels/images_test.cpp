// Folders of JPEG and PNG images: their rows, scaling, augmentation, and refusals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/files/files.hpp"
#include "ops/data/data.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/threads.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using test::jpeg_file;
using test::png_file;
using test::Rgb;
using Colours = test::JpegOptions::Colours;

class Folder {
 public:
  void write(const std::string& name, std::string_view content) const {
    const std::string path = folder_ / name;
    local_files().make_folders(std::filesystem::path(path).parent_path());
    local_files().write(path, content);
  }
  [[nodiscard]] std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Value>& values,
                                             std::int64_t step = 0, int threads = 1) const {
    test::Threads parallel(threads);
    test::EvaluateOptions options;
    options.parallel = &parallel;
    options.files = &local_files();
    options.data_folder = folder_.path();
    test::Evaluator evaluator(graph, options);
    evaluator.step = step;
    return evaluator.run(values);
  }
  /// The one image of a folder "one/class/image.png" or the like, made `height` x `width`.
  [[nodiscard]] Tensor image(const std::string& content, std::int64_t height, std::int64_t width,
                             const ImageOptions& options = {}) const {
    write("one/class/image.png", content);
    Graph g;
    return evaluate(g, {read_images(g, "one", {1, height, width, 3}, 1, options).images})[0];
  }

 private:
  test::TempFolder folder_;
};

/// The same colour everywhere.
test::PixelAt plain(Rgb colour) {
  return [colour](int, int) { return colour; };
}

/// Some colours without order.
Rgb speckled(int x, int y) {
  const auto of = [&](int a, int b) { return (x * a + y * b + x * y * 7) % 256; };
  return {of(91, 57), of(13, 201), of(77, 5)};
}

int channel_of(const Rgb& colour, int channel) {
  return channel == 0 ? colour.red : channel == 1 ? colour.green : colour.blue;
}

/// The weight of a pixel in a place of the result, by a triangle as wide as the scale.
double weight(double begin, double scale, std::int64_t place, int pixel) {
  const double centre = begin + (static_cast<double>(place) + 0.5) * scale;
  return std::max(0.0, 1 - std::abs(pixel + 0.5 - centre) / std::max(scale, 1.0));
}

/// Element [y, x, channel] of the middle part of speckled() images, computed from all pixels that the part touches.
double scaled(int width, int height, std::int64_t to_width, std::int64_t to_height, double scale, std::int64_t y,
              std::int64_t x, int channel) {
  const double left = (width - scale * static_cast<double>(to_width)) / 2;
  const double top = (height - scale * static_cast<double>(to_height)) / 2;
  const auto within = [&](double begin, std::int64_t count, int pixel) {
    return pixel + 1 > begin && pixel < begin + scale * static_cast<double>(count);
  };
  double sum = 0, weights = 0;
  for (int v = 0; v < height; ++v)
    for (int u = 0; u < width; ++u) {
      if (!within(left, to_width, u) || !within(top, to_height, v)) continue;
      const double w = weight(left, scale, x, u) * weight(top, scale, y, v);
      sum += w * channel_of(speckled(u, v), channel);
      weights += w;
    }
  return sum / weights;
}

/// The largest difference of any element from `wanted(y, x, channel)`.
template <class F>
double farthest(const Tensor& image, const F& wanted) {
  double most = 0;
  std::int64_t element = 0;
  for (std::int64_t y = 0; y < image.sizes()[1]; ++y)
    for (std::int64_t x = 0; x < image.sizes()[2]; ++x)
      for (int channel = 0; channel < 3; ++channel)
        most = std::max(most, std::abs(image.number(element++) - wanted(y, x, channel)));
  return most;
}

}  // namespace

TEST_CASE("images of a folder are rows by class and name, with the numbers of their classes") {
  const Folder folder;
  folder.write("train/cat/2.PNG", png_file(2, 2, plain({20, 21, 22})));
  folder.write("train/cat/10.jpeg", jpeg_file(8, 8, plain({90, 90, 90})));
  folder.write("train/ape/b.png", png_file(3, 1, plain({10, 11, 12})));
  folder.write("train/ape/.b.png", "hidden");
  folder.write("train/ape/notes.txt", "not an image");
  folder.write("train/readme.png", "in no class");
  folder.write("train/.git/x.png", "hidden");
  for (const char* path : {"train", "train/"}) {
    Graph g;
    const ImageRows rows = read_images(g, path, {3, 1, 2, 3}, 2);
    const std::vector<Tensor> got = folder.evaluate(g, {rows.images, rows.labels});
    CHECK(got[0].str() == "[[[[10 11 12] [10 11 12]]] [[[90 90 90] [90 90 90]]] [[[20 21 22] [20 21 22]]]]");
    CHECK(got[1].type() == Type{DType::int32, {3}});
    CHECK(got[1].str() == "[0 1 1]");
  }
}

TEST_CASE("grey, palette, CMYK, deep and transparent images become RGB") {
  const Folder folder;
  const Rgb colour{102, 34, 200};
  const auto all = [](Rgb wanted) { return [wanted](auto, auto, int channel) { return channel_of(wanted, channel); }; };
  const auto grey = all({102, 102, 102});
  for (const bool deep : {false, true}) {
    CHECK(farthest(folder.image(png_file(5, 4, plain(colour), 0, deep), 4, 5), grey) == 0);
    CHECK(farthest(folder.image(png_file(5, 4, plain(colour), 4, deep), 4, 5), grey) == 0);
    CHECK(farthest(folder.image(png_file(5, 4, plain(colour), 2, deep), 4, 5), all(colour)) == 0);
    CHECK(farthest(folder.image(png_file(5, 4, plain(colour), 6, deep), 4, 5), all(colour)) == 0);
  }
  CHECK(farthest(folder.image(png_file(5, 4, plain(colour), 3), 4, 5), grey) == 0);
  for (const bool progressive : {false, true}) {
    const auto jpeg = [&](Colours colours) {
      return folder.image(jpeg_file(50, 40, plain(colour), {.colours = colours, .progressive = progressive}), 40, 50);
    };
    CHECK(farthest(jpeg(Colours::rgb), all(colour)) <= 2);
    CHECK(farthest(jpeg(Colours::grey), grey) <= 2);
    CHECK(farthest(jpeg(Colours::cmyk), all(colour)) <= 4);
  }
}

TEST_CASE("what a PNG file says of gamma does not change its numbers, as in Pillow") {
  using namespace std::string_literals;
  constexpr std::size_t kHeader = 8 + 25;  // the signature and the chunk IHDR
  const Folder folder;
  const std::string plain_file = png_file(5, 4, speckled);
  for (const std::string& gamma :
       {"\0\0\0\4gAMA\0\0\xd9\x04\xdc\xb2\xda\x02"s, "\0\0\0\4gAMA\0\1\x86\xa0\x31\xe8\x96\x5f"s}) {
    std::string file = plain_file;
    file.insert(kHeader, gamma);
    CHECK(folder.image(file, 4, 5).same_bits(folder.image(plain_file, 4, 5)));
  }
}

TEST_CASE("an image is scaled by a triangle filter") {
  struct Scaling {
    int width, height;
    std::int64_t to_height, to_width, resize;
    double scale;  // pixels for each of the result
  };
  const Folder folder;
  for (const Scaling& s : {Scaling{13, 9, 9, 9, 0, 1}, Scaling{13, 9, 4, 5, 0, 2.25}, Scaling{9, 13, 4, 6, 8, 1.125},
                           Scaling{13, 9, 30, 30, 0, 0.3}, Scaling{1, 1, 3, 2, 0, 1.0 / 3},
                           Scaling{200, 150, 2, 2, 3, 50}, Scaling{100, 20, 8, 8, 4000, 0.005}}) {
    CAPTURE(s.width);
    CAPTURE(s.to_width);
    const Tensor got =
        folder.image(png_file(s.width, s.height, speckled), s.to_height, s.to_width, {.resize = s.resize});
    const auto wanted = [&](std::int64_t y, std::int64_t x, int channel) {
      return scaled(s.width, s.height, s.to_width, s.to_height, s.scale, y, x, channel);
    };
    CHECK(farthest(got, wanted) < 0.75);
  }
}

TEST_CASE("of a large JPEG image fewer pixels are decoded, of which those in the middle are the same") {
  const Folder folder;
  const auto slope = [](int x, int y) { return Rgb{x * 255 / 799, y * 255 / 599, 128}; };
  for (const bool progressive : {false, true})
    for (const std::int64_t side : {600, 400, 250, 140, 60, 7}) {
      const Tensor got = folder.image(jpeg_file(800, 600, slope, {.progressive = progressive}), side, side);
      CAPTURE(side);
      const auto wanted = [&](std::int64_t y, std::int64_t x, int channel) {
        const auto at = [&](std::int64_t i) {
          return (static_cast<double>(i) + 0.5) * 600 / static_cast<double>(side);
        };
        return channel == 0 ? (at(x) + 100) * 255 / 799 : channel == 1 ? at(y) * 255 / 599 : 128;
      };
      CHECK(farthest(got, wanted) < 5);
    }
}

namespace {

/// A folder "train" with `classes` x `images` JPEG images; in each, red grows along x and green along y. Blue is the
/// image's row.
void write_slopes(const Folder& folder, int classes, int images) {
  for (int row = 0; row < classes * images; ++row) {
    const auto slope = [row](int x, int y) { return Rgb{x * 2, y * 2, row * 8}; };
    const std::string name = "train/" + std::to_string(row / images) + "/" + std::to_string(100 + row);
    if (row % 2 == 0)
      folder.write(name + ".jpg", jpeg_file(120, 90, slope));
    else
      folder.write(name + ".png", png_file(120, 90, slope));
  }
}

}  // namespace

TEST_CASE("augmented images are random parts, other ones in each epoch, the same from any step on") {
  constexpr std::int64_t kRows = 24, kSide = 12;
  const Folder folder;
  write_slopes(folder, 3, 8);
  Graph g;
  const ImageRows rows = read_images(g, "train", {kRows, kSide, kSide, 3}, 3, {.augment = true});
  const Values taken = batch({rows.images, rows.labels}, 5, {.seed = 3, .prefetch = 2});
  for (const Value& value : taken) CHECK(value.op().def().name == "BatchFile");
  std::map<std::int64_t, std::set<std::string>> seen;
  std::set<bool> mirrored;
  double least = 1, most = 0;
  for (std::int64_t step = 0; step < 20; ++step) {
    const std::vector<Tensor> got = folder.evaluate(g, taken, step, 1 + static_cast<int>(step % 3));
    const std::int64_t count = got[1].sizes()[0];
    CHECK(count == (step % 5 == 4 ? 4 : 5));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = [&](std::int64_t y, std::int64_t x, int channel) {
        return got[0].number(((i * kSide + y) * kSide + x) * 3 + channel);
      };
      const auto row = static_cast<std::int64_t>(std::lround(at(6, 6, 2) / 8));
      CHECK(got[1].integer(i) == row / 8);
      const double across = at(6, kSide - 1, 0) - at(6, 0, 0), down = at(kSide - 1, 6, 1) - at(0, 6, 1);
      mirrored.insert(across < 0);
      const double width = std::abs(across) / 2 * kSide / (kSide - 1), height = down / 2 * kSide / (kSide - 1);
      CHECK(width / height == doctest::Approx(1).epsilon(0.45));
      least = std::min(least, width * height / (120 * 90));
      most = std::max(most, width * height / (120 * 90));
      CHECK(seen[row]
                .insert(std::to_string(at(0, 0, 0)) + " " + std::to_string(across) + " " + std::to_string(down))
                .second);
    }
  }
  CHECK(seen.size() == kRows);  // four epochs; in each, a row comes once
  for (const auto& [row, views] : seen) CHECK(views.size() == 4);
  CHECK(mirrored.size() == 2);
  CHECK(least > 0.05);
  CHECK(least < 0.25);
  CHECK(most > 0.75);
  CHECK(most < 1.05);
}

TEST_CASE("images that are not augmented are kept in memory if they are few, with the same bits") {
  const Folder folder;
  write_slopes(folder, 2, 6);
  Graph g;
  const ImageRows rows = read_images(g, "train", {12, 32, 48, 3}, 2, {.resize = 60});
  Values all = batch({rows.images, rows.labels}, 5);
  CHECK(all[0].op().def().name == "Batch");
  for (const Value& value : batch({rows.images, rows.labels}, 5, {.stream_from = 1})) all.push_back(value);
  CHECK(all[2].op().def().name == "BatchFile");
  for (const std::int64_t step : {0, 1, 2, 3, 77}) {
    const std::vector<Tensor> got = folder.evaluate(g, all, step, 2);
    CHECK(got[0].same_bits(got[2]));
    CHECK(got[1].same_bits(got[3]));
  }
}

TEST_CASE("a pixel with a color beyond the palette is refused") {
  const Folder folder;
  const auto stripes = [](int x, int) { return x == 3 ? Rgb{119, 0, 0} : Rgb{34, 0, 0}; };  // colors 7 and 2
  CHECK(folder.image(png_file(4, 2, stripes, 3, false, 8), 2, 4).number(9) == 119);
  const Error error =
      test::error_of([&] { static_cast<void>(folder.image(png_file(4, 2, stripes, 3, false, 7), 2, 4)); });
  CHECK(error.code() == Code::file);
  CHECK(test::says(error, "image.png"));
  CHECK(test::says(error, "a pixel has color 7 of a palette of 7, 0 to 6"));
  CHECK(test::says(error, "replace the file or remove it"));
}

TEST_CASE("images that cannot be read are refused, with the file's name and what to do") {
  const Folder folder;
  const std::string jpeg = jpeg_file(64, 64, speckled), png = png_file(64, 64, speckled);
  const auto refused = [&](std::string_view content, std::initializer_list<const char*> parts) {
    const Error error = test::error_of([&] { static_cast<void>(folder.image(std::string(content), 8, 8)); });
    CHECK(error.code() == Code::file);
    CHECK(test::says(error, "\"one/class/image.png\""));
    CHECK(test::says(error, "\n  try: "));
    for (const char* part : parts) CHECK(test::says(error, part));
  };
  refused("", {"is empty"});
  refused("GIF89a, which is no such format", {"is neither a JPEG nor a PNG image", "convert the file or remove it"});
  refused("\xff\xd8\xff", {"no JPEG image that can be read"});
  for (const std::size_t left : {jpeg.size() - 2, jpeg.size() / 2})
    refused(jpeg.substr(0, left), {"is no JPEG image that can be read: it is cut short", "replace the file"});
  refused(jpeg.substr(0, 100), {"is no JPEG image that can be read"});
  refused(jpeg.substr(0, jpeg.size() / 2) + "\xff\xd9", {"is no JPEG image that can be read: ", "premature end"});
  for (const std::size_t left : {std::size_t{20}, png.size() / 2})
    refused(png.substr(0, left), {"is no PNG image that can be read: "});
  refused(png.substr(0, png.size() - 12), {"is no PNG image that can be read: it is cut short, its end is missing"});
  std::string changed = png;
  changed[png.size() / 2] ^= 1;
  refused(changed, {"is no PNG image that can be read: "});
  // Headers of images of 100,000 x 100,000, of 65,500 x 65,500, and without a row.
  const std::string header(
      "\0\0\0\x0d"
      "IHDR\0\x01\x86\xa0\0\x01\x86\xa0\x08\x02\0\0\0"
      "\x27\x30\x9c\x9f",
      25);
  refused(png.substr(0, 8) + header + png.substr(33),
          {"claims 100000 x 100000 pixels, and an image may have 134217728"});
  std::string tall = jpeg;
  const std::size_t frame = tall.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  tall.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  refused(tall, {"claims 65500 x 65500 pixels, and an image may have 134217728"});
  tall.replace(frame + 5, 2, std::string(2, '\0'));
  refused(tall, {"is no JPEG image that can be read: "});
}

TEST_CASE("folders that are not as declared are refused") {
  const Folder folder;
  const std::string png = png_file(2, 2, speckled);
  const auto refused = [&](const char* path, std::int64_t images, std::int64_t classes, const char* why) {
    Graph g;
    const ImageRows rows = read_images(g, path, {images, 8, 8, 3}, classes);
    for (const Value& value : {rows.labels, batch({rows.images}, 1, {.stream_from = 1})[0]}) {
      const Error error = test::error_of([&] { static_cast<void>(folder.evaluate(g, {value})); });
      CHECK(error.code() == Code::file);
      CHECK(test::says(error, why));
    }
  };
  refused("absent", 1, 1, "absent");
  folder.write("flat/image.png", png);
  refused("flat", 1, 1, "\"flat\" has no folders, and should have one for each class");
  refused("flat", 1, 1, "try: put the images of a class into flat/CLASS/");
  folder.write("two/a/1.png", png);
  folder.write("two/b/1.png", png);
  refused("two", 2, 3, "\"two\" has folders of 2 classes; the graph declares 3");
  refused("two", 3, 2, "\"two\" holds 2 images; the graph declares uint8[3,8,8,3]");
  folder.write("two/c/notes.txt", "none");
  refused("two", 2, 3, "the class \"two/c/\" has no images (.jpg, .jpeg, .png)");
}

TEST_CASE("images that cannot be made are refused when the graph is built") {
  Graph g;
  const auto refused = [&](const Shape& shape, std::int64_t classes, const ImageOptions& options, const char* why) {
    CHECK_THROWS_WITH_AS(static_cast<void>(read_images(g, "train", shape, classes, options)), doctest::Contains(why),
                         Error);
  };
  refused({9, 8, 8}, 2, {}, "images are [n, height, width, 3], not [9,8,8]");
  refused({9, 8, 8, 1}, 2, {}, "images are [n, height, width, 3], not [9,8,8,1]");
  refused({"n", 8, 8, 3}, 2, {}, "images are [n, height, width, 3]");
  refused({9, std::int64_t{0}, 8, 3}, 2, {}, "have no pixels");
  refused({9, 8, 8, 3}, 0, {}, "0 classes");
  refused({9, 8, 8, 3}, 2, {.resize = 7}, "a resize of 7 leaves too little for [9,8,8,3]");
  refused({9, 8, 8, 3}, 2, {.resize = -1}, "resize is negative");
  refused({9, 8, 8, 3}, 2, {.augment = true, .resize = 9}, "resize is for images that are not augmented");
  CHECK_THROWS_WITH_AS(static_cast<void>(read_images(g, "../train", {9, 8, 8, 3}, 2)),
                       doctest::Contains("is not one beneath the data folder"), Error);
  const Folder folder;
  const Value whole = read_images(g, "train", {9, 8, 8, 3}, 2, {.augment = true}).images;
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.evaluate(g, {whole})), doctest::Contains("take them by batch()"),
                       Error);
}

}  // namespace ferry
