#include "kernels/cuda/report.hpp"

#include "kernels/shared/bad_values.hpp"

namespace ferry::cuda {

BadValue bad_value(const BadRecord& record) {
  const auto input = static_cast<std::size_t>(record.input);
  switch (record.what) {
    case Bad::zero_divisor:
      return bad_divisor(input);
    case Bad::label:
      return bad_label(input, record.value, record.size);
    case Bad::length:
      return bad_length(input, record.place, record.value, record.size);
    case Bad::image:
      return bad_image(input, record.place, record.value, record.size);
    case Bad::position:
      return bad_position(input, record.value, record.size);
    case Bad::row:
      return bad_row(input, record.value, record.size);
    case Bad::index:
      break;
  }
  return bad_index(input, record.value, record.size);
}

}  // namespace ferry::cuda
