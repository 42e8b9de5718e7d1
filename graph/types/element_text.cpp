#include "graph/types/element_text.hpp"

#include <cstring>
#include <type_traits>

namespace ferry {

NumberFault parse_element(std::string_view text, DType dtype, std::byte* element) {
  return dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T parsed{};
    NumberFault fault = NumberFault::none;
    if constexpr (std::is_integral_v<T>) {
      fault = parse_integer(text, parsed);
    } else if constexpr (std::is_floating_point_v<T>) {
      fault = parse_real(text, parsed);
    } else {
      double number = 0;
      fault = parse_real(text, number);
      if (fault == NumberFault::none && !holds(dtype, number)) fault = NumberFault::out_of_range;
      parsed = static_cast<T>(number);
    }
    if (fault == NumberFault::none) std::memcpy(element, &parsed, sizeof parsed);
    return fault;
  });
}

}  // namespace ferry
