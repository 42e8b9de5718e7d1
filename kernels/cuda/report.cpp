#include "kernels/cuda/report.hpp"

#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/indices.hpp"

namespace ferry::cuda {

BadValue bad_value(const BadRecord& record) {
  const auto input = static_cast<std::size_t>(record.input);
  switch (record.what) {
    case Bad::zero_divisor: {
      BadValue error(input, "an integer is divided by zero");
      error.hint("cast to float32 first, or use select");
      return error;
    }
    case Bad::label:
      return bad_label(input, record.value, record.size);
    case Bad::length:
      return bad_length(input, record.place, record.value, record.size);
    case Bad::image:
      return bad_image(input, record.place, record.value, record.size);
    case Bad::row:
      return {input, not_a_row(record.value, record.size)};
    case Bad::index:
      break;
  }
  return {input, not_in_dim(record.value, record.size)};
}

}  // namespace ferry::cuda
