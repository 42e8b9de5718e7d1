// Draws the fetches of the entry `show` of the sample `fashion`: each image with its label, and the guess in red if it
// is wrong.
//
//     build/samples/contact_sheet shown sheet.svg
#include <ferry/base/error.hpp>
#include <ferry/base/files.hpp>
#include <ferry/base/npy.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr std::array kNames{"T-shirt", "Trouser", "Pullover", "Dress", "Coat",
                            "Sandal",  "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
constexpr int kSide = 28, kScale = 3, kCell = kSide * kScale + 8, kColumns = 8, kText = 30;

/// An image as SVG: a rectangle for each run of equal pixels, in 16 levels of grey.
std::string drawn(const std::byte* pixels, int left, int top) {
  std::string svg;
  const auto level = [&](int row, int column) { return std::to_integer<int>(pixels[row * kSide + column]) / 16; };
  for (int row = 0; row < kSide; ++row)
    for (int column = 0, end = 0; column < kSide; column = end) {
      for (end = column + 1; end < kSide && level(row, end) == level(row, column);) ++end;
      if (level(row, column) == 0) continue;
      const int grey = 255 - level(row, column) * 17;
      char rect[160];
      std::snprintf(rect, sizeof rect, "<rect x='%d' y='%d' width='%d' height='%d' fill='#%02x%02x%02x'/>\n",
                    left + column * kScale, top + row * kScale, (end - column) * kScale, kScale, grey, grey, grey);
      svg += rect;
    }
  return svg;
}

std::string text(int left, int top, const char* what, const char* colour) {
  return "<text x='" + std::to_string(left) + "' y='" + std::to_string(top) +
         "' font-family='sans-serif' font-size='11' fill='" + colour + "'>" + what + "</text>\n";
}

ferry::NpyArray loaded(const std::string& folder, const char* name, const char* descr) {
  ferry::NpyArray array = ferry::read_npy(ferry::local_files(), folder + "/" + name + ".npy");
  if (array.descr != descr)
    throw ferry::Error(ferry::Code::file,
                       folder + "/" + name + ".npy: its elements are " + array.descr + ", not " + descr);
  return array;
}

int sheet(const std::string& folder, const std::string& file) {
  const ferry::NpyArray images = loaded(folder, "images", "|u1");
  const ferry::NpyArray labels = loaded(folder, "labels", "|u1");
  const ferry::NpyArray guesses = loaded(folder, "guesses", "<i8");
  const auto count = static_cast<int>(labels.bytes.size());
  if (images.bytes.size() != labels.bytes.size() * kSide * kSide || guesses.bytes.size() != labels.bytes.size() * 8)
    throw ferry::Error(ferry::Code::file, folder + ": images, labels and guesses differ in number");
  const int rows = (count + kColumns - 1) / kColumns;
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' width='" + std::to_string(kColumns * kCell + 8) +
                    "' height='" + std::to_string(rows * (kCell + kText) + 8) +
                    "'>\n<rect width='100%' height='100%' fill='#ffffff'/>\n";
  int right = 0;
  for (int i = 0; i < count; ++i) {
    const int left = 8 + i % kColumns * kCell, top = 8 + i / kColumns * (kCell + kText);
    const auto label = std::to_integer<std::size_t>(labels.bytes[i]);
    std::int64_t guess = 0;
    std::memcpy(&guess, guesses.bytes.data() + static_cast<std::size_t>(i) * 8, 8);
    const bool good = guess == static_cast<std::int64_t>(label);
    right += good ? 1 : 0;
    svg += drawn(images.bytes.data() + static_cast<std::size_t>(i) * kSide * kSide, left, top);
    svg += text(left, top + kCell + 4, kNames.at(label), "#333333");
    svg += text(left, top + kCell + 17, kNames.at(static_cast<std::size_t>(guess)), good ? "#2a7d2a" : "#c02020");
  }
  svg += "</svg>\n";
  ferry::local_files().write(file, svg);
  std::printf("%d of %d right: %s\n", right, count, file.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FOLDER SHEET.svg\n", argv[0]);
    return 2;
  }
  try {
    return sheet(argv[1], argv[2]);
  } catch (const ferry::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
