#include "kernels/cpu/data/image_folder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "kernels/cpu/data/data_kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/philox.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

constexpr std::string_view kEndings[] = {".jpg", ".jpeg", ".png"};
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;

bool names_image(std::string name) {
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return !name.starts_with('.') && std::any_of(std::begin(kEndings), std::end(kEndings),
                                               [&](std::string_view ending) { return name.ends_with(ending); });
}

/// A part of an image with the aspect ratio of the target, and whether to mirror it.
struct View {
  ImageBox box;
  bool mirrored = false;
};

ImageBox middle(const ImageSize& image, double width, double height) {
  return {(static_cast<double>(image.width) - width) / 2, (static_cast<double>(image.height) - height) / 2, width,
          height};
}

/// The middle of an image after its shorter side has been scaled to `resize`; a smaller part if the image is too small.
View middle_of(const ImageSize& image, const ImageSize& target, std::int64_t resize) {
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  double scale = std::min(width / static_cast<double>(target.width), height / static_cast<double>(target.height));
  if (resize > 0) scale = std::min(scale, std::min(width, height) / static_cast<double>(resize));
  return {middle(image, scale * static_cast<double>(target.width), scale * static_cast<double>(target.height))};
}

constexpr double kLeastArea = 0.08;                 // the least share of the image's area
constexpr double kLogRatio = 0.287682072451780927;  // log(4/3): width / height is 3/4 to 4/3, with a uniform logarithm
constexpr int kTries = 10;
constexpr std::uint64_t kBlocks = 16;  // random blocks for each image

/// Maps a random number to a number from 0 to `count` - 1. `count` is at least 1.
std::int64_t below(std::uint32_t drawn, std::int64_t count) {
  return static_cast<std::int64_t>(drawn * static_cast<std::uint64_t>(count) >> 32);
}

/// A random part of an image, by the rules of Inception (C. Szegedy et al., "Going deeper with convolutions", 2014),
/// like torchvision's RandomResizedCrop and RandomHorizontalFlip.
View random_part(const ImageSize& image, const Philox& philox, std::int64_t row) {
  const std::uint64_t first = static_cast<std::uint64_t>(row) * kBlocks;
  const bool mirrored = (philox.block(first + kTries)[0] & 1) != 0;
  const auto area = static_cast<double>(image.width) * static_cast<double>(image.height);
  for (std::uint64_t turn = 0; turn < kTries; ++turn) {
    const Philox::Block drawn = philox.block(first + turn);
    const double part = area * (kLeastArea + (1 - kLeastArea) * unit_float(drawn[0]));
    const double ratio = math::exp(kLogRatio * (2 * static_cast<double>(unit_float(drawn[1])) - 1));
    const std::int64_t width = std::lround(std::sqrt(part * ratio));
    const std::int64_t height = std::lround(std::sqrt(part / ratio));
    if (width < 1 || height < 1 || width > image.width || height > image.height) continue;
    return {{static_cast<double>(below(drawn[2], image.width - width + 1)),
             static_cast<double>(below(drawn[3], image.height - height + 1)), static_cast<double>(width),
             static_cast<double>(height)},
            mirrored};
  }
  // No try fits, for example in a narrow strip: takes the largest middle part with an allowed ratio.
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  return {middle(image, std::min(width, height * 4 / 3), std::min(height, width * 4 / 3)), mirrored};
}

// ---- ReadImages ----

/// The files, and the declarations of the two arrays of ReadImages.
struct ImageArrays {
  FileSystem* files;
  std::string folder;
  DeclaredArray parts[2];
};

std::unique_ptr<KernelState> prepare_images(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  const auto& path = attrs.get<std::string>("path");
  require_folder(setup, path);
  if (attrs.get<bool>("augment"))
    throw Error(Code::plan, std::string(setup.name) + ": augmented images are other ones in each epoch")
        .hint("take them by batch()");
  const Shape& shape = attrs.get<Shape>("shape");
  ImageArrays arrays{setup.files, std::string(setup.data_folder), {}};
  arrays.parts[0].tensor = "images";
  arrays.parts[0].type = {DType::uint8, shape};
  arrays.parts[1].tensor = "labels";
  arrays.parts[1].type = {DType::int32, {shape[0]}};
  for (DeclaredArray& part : arrays.parts) {
    part.path = path;
    part.classes = attrs.get<std::int64_t>("classes");
    part.resize = attrs.get<std::int64_t>("resize");
  }
  return keep(std::move(arrays));
}

void read_images(KernelRun& run) {
  const auto& [files, folder, parts] = kept<ImageArrays>(run);
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const ImageFolder rows(*files, folder, parts[i]);
    const Array& output = run.outputs[i];
    const std::int64_t count = output.sizes[0];
    FileBytes all(static_cast<std::uint64_t>(count) * rows.row_bytes());
    for_chunks(run.parallel, count, 1, [&](std::int64_t begin, std::int64_t end) {
      rows.read(output.begin[0] + begin, end - begin, all.data() + static_cast<std::uint64_t>(begin) * rows.row_bytes(),
                0);
    });
    copy_part(run, output, all.data(), output.begin[0]);
  }
}

constexpr Kernel kKernels[] = {
    {.op = "ReadImages", .run = read_images, .prepare = prepare_images, .takes = kAnyType},
};

}  // namespace

std::uint64_t image_key(const KernelSetup& setup) {
  return Hasher().add("ReadImages").add(setup.attrs.get<std::int64_t>("seed")).add(setup.seed).digest();
}

ImageFolder::ImageFolder(FileSystem& files, std::string_view folder, DeclaredArray declared)
    : RowFile(std::move(declared)), files_(files), folder_(folder), labels_(declared_.tensor == "labels") {
  const std::string root = declared_.path.ends_with('/') ? declared_.path : declared_.path + "/";
  for (const std::string& name : files.list(folder_ + "/" + root))
    if (name.front() != '.' && files.is_folder(folder_ + "/" + root + name)) list(root + name + "/");
  const auto classes = static_cast<std::int64_t>(classes_.size());
  if (classes == 0)
    throw Error(Code::file, "{:?} has no folders, and should have one for each class", declared_.path)
        .hint("put the images of a class into " + root + "CLASS/");
  if (classes != declared_.classes)
    throw Error(Code::file, "{:?} has folders of {} classes; the graph declares {}", declared_.path, classes,
                declared_.classes);
  if (const std::int64_t found = classes_.back().end; found != rows())
    declared_.throw_mismatch(std::to_string(found) + " images");
}

void ImageFolder::list(const std::string& path) {
  std::int64_t end = classes_.empty() ? 0 : classes_.back().end;
  const std::int64_t first = end;
  for (const std::string& name : files_.list(folder_ + "/" + path)) {
    if (!names_image(name)) continue;
    ++end;
    if (labels_) continue;
    names_ += name;
    ends_.push_back(names_.size());
  }
  if (end == first)
    throw Error(Code::file, "the class {:?} has no images (.jpg, .jpeg, .png)", path)
        .hint("put its images there, or remove the folder");
  classes_.push_back({path, end});
}

std::size_t ImageFolder::class_of(std::int64_t row) const {
  const auto found = std::upper_bound(classes_.begin(), classes_.end(), row,
                                      [](std::int64_t wanted, const Class& c) { return wanted < c.end; });
  return static_cast<std::size_t>(found - classes_.begin());
}

std::string ImageFolder::path_of(std::int64_t row) const {
  const auto i = static_cast<std::size_t>(row);
  const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
  return classes_[class_of(row)].path + names_.substr(begin, ends_[i] - begin);
}

void ImageFolder::read(std::int64_t first, std::int64_t count, std::byte* target, std::int64_t epoch) const {
  for (std::int64_t row = first; row < first + count; ++row, target += row_bytes_)
    if (labels_)
      *reinterpret_cast<std::int32_t*>(target) = static_cast<std::int32_t>(class_of(row));
    else
      read_image(row, epoch, reinterpret_cast<std::uint8_t*>(target));
}

void ImageFolder::read_image(std::int64_t row, std::int64_t epoch, std::uint8_t* rgb) const {
  const std::string path = path_of(row);
  const FileBytes file = files_.read_beneath(folder_, path, kMostFileBytes);
  const std::unique_ptr<Image> image = open_image(file.span(), path);
  const ImageSize target{declared_.type.shape[2].size(), declared_.type.shape[1].size()};
  const View view = declared_.augment
                        ? random_part(image->size(), {declared_.key, static_cast<std::uint64_t>(epoch)}, row)
                        : middle_of(image->size(), target, declared_.resize);
  scale_image(image->read(view.box, target), target, view.mirrored, rgb);
}

std::span<const Kernel> image_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
