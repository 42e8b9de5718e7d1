// ImageFolder: the rows of a folder that has a folder of images for each class.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/data/array_file.hpp"
#include "kernels/cpu/data/image.hpp"

namespace ferry::cpu {

/// The key of the random numbers that augment the images of an op. It depends on the op's seed and the session's seed.
[[nodiscard]] std::uint64_t image_key(const KernelSetup& setup);

/// The images in CLASS/*.jpg, .jpeg and .png of a folder, sorted by class and name. A row is an image, scaled to the
/// declared size, or the number of its class. Classes are numbered in the order of their names. The constructor lists
/// the folders. It keeps the names in memory, and 8 bytes for each name.
class ImageFolder final : public RowFile {
 public:
  /// Throws Error(file) if the numbers of classes or images are not as declared, or a class has no images.
  ImageFolder(FileSystem& files, std::string_view folder, DeclaredArray declared);
  void read(std::int64_t first, std::int64_t count, std::byte* target, std::int64_t epoch) const override;
  /// All threads of the task decode images. Labels need one reader.
  [[nodiscard]] int readers(int threads, int /*ahead*/) const override { return labels_ ? 1 : threads; }

 private:
  struct Class {
    std::string path;
    std::int64_t end = 0;  // its last row + 1
  };
  void list(const std::string& name);
  [[nodiscard]] std::size_t class_of(std::int64_t row) const;
  [[nodiscard]] std::string path_of(std::int64_t row) const;
  void read_image(std::int64_t row, std::int64_t epoch, std::uint8_t* rgb) const;

  FileSystem& files_;
  std::string folder_;
  bool labels_;
  std::vector<Class> classes_;
  std::string names_;                // of all images, one after another
  std::vector<std::uint64_t> ends_;  // the end of each name in names_
};

}  // namespace ferry::cpu
