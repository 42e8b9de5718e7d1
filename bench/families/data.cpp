// Training images from a folder of JPEG files. Both sides decode, randomly crop, scale and mirror them: ferry with some
// threads, PyTorch's DataLoader with the same number of worker processes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <jpeglib.h>

#include "base/system/clock.hpp"
#include "base/system/limits.hpp"
#include "bench/benchmark.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "executor/session/session.hpp"
#include "ops/data/data.hpp"

namespace ferry::bench {
namespace {

constexpr int kPictures = 320, kPictureClasses = 4, kPictureWidth = 500, kPictureHeight = 375;
constexpr std::int64_t kPicturesTaken = 64, kPictureSide = 224;
constexpr std::int64_t kStepsTimed = 60;  // timed steps of a measurement, after kStepsBefore untimed steps
constexpr std::int64_t kStepsBefore = 10;

/// Random numbers in [-1, 1), by the generator of Park and Miller (1988).
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed) {}
  float operator()() {
    state_ = state_ * 48271 % 2147483647;
    return static_cast<float>(state_) * (2.0F / 2147483648.0F) - 1;
  }

 private:
  std::uint64_t state_;
};

/// Adds noise that is smooth within cells of `cell` pixels.
void add_noise(std::vector<float>& pixels, std::size_t cell, float height, Noise& noise) {
  const std::size_t columns = kPictureWidth / cell + 2, rows = kPictureHeight / cell + 2;
  std::vector<float> corners(columns * rows * 3);
  for (float& corner : corners) corner = height * noise();
  float* pixel = pixels.data();
  for (std::size_t y = 0; y < kPictureHeight; ++y)
    for (std::size_t x = 0; x < kPictureWidth; ++x) {
      const float across = static_cast<float>(x % cell) / static_cast<float>(cell);
      const float down = static_cast<float>(y % cell) / static_cast<float>(cell);
      const float* corner = &corners[(y / cell * columns + x / cell) * 3];
      const float* below = corner + columns * 3;
      for (int channel = 0; channel < 3; ++channel, ++corner, ++below)
        *pixel++ += (corner[0] * (1 - across) + corner[3] * across) * (1 - down) +
                    (below[0] * (1 - across) + below[3] * across) * down;
    }
}

/// An image similar to a photograph: strong coarse shapes, weaker fine shapes, and a little noise.
std::vector<JSAMPLE> picture(std::uint64_t seed) {
  Noise noise(seed);
  std::vector<float> pixels(std::size_t{kPictureWidth} * kPictureHeight * 3, 128);
  for (const auto& [cell, height] :
       {std::pair{128, 90.0F}, {64, 50.0F}, {32, 28.0F}, {16, 16.0F}, {8, 10.0F}, {4, 8.0F}, {1, 10.0F}})
    add_noise(pixels, static_cast<std::size_t>(cell), height, noise);
  std::vector<JSAMPLE> bytes(pixels.size());
  std::transform(pixels.begin(), pixels.end(), bytes.begin(),
                 [](float value) { return static_cast<JSAMPLE>(std::clamp(value, 0.0F, 255.0F)); });
  return bytes;
}

void write_jpeg(const std::string& path, std::vector<JSAMPLE> pixels) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = kPictureWidth;
  jpeg.image_height = kPictureHeight;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 90, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < kPictureHeight) {
    JSAMPROW row = &pixels[std::size_t{jpeg.next_scanline} * kPictureWidth * 3];
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  std::free(bytes);  // NOLINT(cppcoreguidelines-no-malloc): libjpeg allocated it
}

void write_images(const std::string& folder) {
  for (int i = 0; i < kPictures; ++i) {
    const std::filesystem::path of_class = std::filesystem::path(folder) / std::to_string(i % kPictureClasses);
    std::filesystem::create_directories(of_class);
    write_jpeg(of_class / (std::to_string(i) + ".jpg"), picture(static_cast<std::uint64_t>(i) + 1));
  }
}

/// Images per second of the DataLoader; nullopt if PyTorch or torchvision is not installed. `decoder` is "pillow" (the
/// usual decoder) or "tensors" (torchvision's own decoder).
std::optional<double> by_loader(const std::string& folder, const char* decoder, int cores) {
  const std::string rate =
      run_program({"python3", "-W", "ignore", beside_this_program("data.py"), folder, decoder, std::to_string(cores),
                   std::to_string(kPicturesTaken), std::to_string(kPictureSide), std::to_string(kStepsBefore),
                   std::to_string(kStepsTimed)})
          .output;
  if (rate.empty()) return std::nullopt;
  return std::stod(rate);
}

std::vector<Figure> jpeg() {
  const ScratchFolder folder;
  write_images(folder.file("train"));
  const int cores = std::max(1, static_cast<int>(affinity_mask().size()));
  Graph g;
  const ImageRows rows =
      read_images(g, "train", {kPictures, kPictureSide, kPictureSide, 3}, kPictureClasses, {.augment = true});
  RunRequest request;
  request.targets = batch({rows.images, rows.labels}, kPicturesTaken);
  ClusterOptions options;
  options.transport = "inproc";
  options.threads = cores;
  Session session(g, Cluster::connect(options),
                  {.plan = {.default_device = DeviceKind::cpu}, .run = {.data_folder = folder.path()}});
  const auto ferry = [&] {
    request.steps = kStepsBefore;
    session.run(request);
    request.steps = kStepsTimed;
    const TimePoint start = system_clock().now();
    session.run(request);
    return static_cast<double>(kStepsTimed * kPicturesTaken) /
           std::chrono::duration<double>(system_clock().now() - start).count();
  };
  const std::string images = folder.file("train");
  if (!by_loader(images, "pillow", cores)) return {measure_alone(kPairs, ferry)};
  std::vector<Figure> figures;
  for (const auto& [part, decoder] : {std::pair{"", "pillow"}, std::pair{"tensors", "tensors"}}) {
    figures.push_back(compare(kPairs, ferry, [&, decoder = decoder] { return *by_loader(images, decoder, cores); }));
    figures.back().part = part;
  }
  return figures;
}

}  // namespace

std::vector<Benchmark> data_benchmarks() {
  return {{"data.jpeg", "images/s", Benchmark::Better::higher, "DataLoader", jpeg}};
}

}  // namespace ferry::bench
