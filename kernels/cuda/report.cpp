#include "kernels/cuda/report.hpp"

#include "kernels/indices.hpp"

namespace ferry::cuda {

BadValue bad_value(const BadRecord& record) {
  const auto input = static_cast<std::size_t>(record.input);
  switch (record.what) {
    case Bad::zero_divisor: {
      BadValue error(input, "an integer is divided by zero");
      error.hint("cast to float32 first, or use select");
      return error;
    }
    case Bad::row:
      return {input, not_a_row(record.value, record.size)};
    case Bad::index:
      break;
  }
  return {input, not_in_dim(record.value, record.size)};
}

}  // namespace ferry::cuda
