#include "kernels/shared/bad_values.hpp"

#include <string>

namespace ferry {
namespace {

/// "-3 to 2": the valid indices for the given number of elements.
std::string range_of(std::int64_t size) {
  return std::to_string(-size) + " to " + std::to_string(size - 1);
}

}  // namespace

BadValue bad_divisor(std::size_t input) {
  BadValue error(input, "an integer is divided by zero");
  error.hint("cast to float32 first, or use select");
  return error;
}

BadValue bad_label(std::size_t input, std::int64_t label, std::int64_t classes) {
  return {input, "the label " + std::to_string(label) + " is not one of " + std::to_string(classes) +
                     " classes, 0 to " + std::to_string(classes - 1)};
}

BadValue bad_length(std::size_t input, std::int64_t sequence, std::int64_t length, std::int64_t steps) {
  return {input, "the length " + std::to_string(length) + " of sequence " + std::to_string(sequence) +
                     " is out of range for " + std::to_string(steps) + " steps"};
}

BadValue bad_image(std::size_t input, std::int64_t region, std::int64_t image, std::int64_t images) {
  return {input, "the image " + std::to_string(image) + " of region " + std::to_string(region) +
                     " is out of range for " + std::to_string(images) + " images"};
}

BadValue bad_position(std::size_t input, std::int64_t position, std::int64_t size) {
  return {input, "the position " + std::to_string(position) + " is not one of " + std::to_string(size) + ", 0 to " +
                     std::to_string(size - 1)};
}

BadValue bad_row(std::size_t input, std::int64_t index, std::int64_t rows) {
  return {input, "the index " + std::to_string(index) + " is out of range for " +
                     (rows == 0 ? "no rows" : std::to_string(rows) + " rows, " + range_of(rows))};
}

BadValue bad_index(std::size_t input, std::int64_t index, std::int64_t size) {
  return {input, "the index " + std::to_string(index) + " is out of range for a dim of " + std::to_string(size) + ", " +
                     range_of(size)};
}

}  // namespace ferry
