// Columns of an image under the taps of a filter (im2col).
#pragma once

#include <algorithm>

#include "kernels/cpu/conv/conv.hpp"

namespace ferry::cpu {

/// For tap (u,v), calls body(row, inside, from) for each row of the output positions [begin, end). `row` is the range
/// of its positions, and `inside` the range of positions with the tap inside the image, both counted from `begin`.
/// `from` is the offset in the channel of the element under the tap at the first position of `inside`.
template <class Body>
void for_rows(const Convolution& conv, std::int64_t u, std::int64_t v, std::int64_t begin, std::int64_t end,
              const Body& body) {
  const Span inside = conv.slide.columns.inside(v, conv.image.columns, conv.output.columns);
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t p = at / conv.output.columns, q = at % conv.output.columns;
    const std::int64_t q_end = std::min(conv.output.columns, q + end - at);
    const std::int64_t row = conv.slide.rows.position(p, u);
    const std::int64_t here = at - begin;
    Span filled{here, here};
    std::int64_t from = 0;
    if (row >= 0 && row < conv.image.rows) {
      const std::int64_t first = std::clamp(inside.begin, q, q_end);
      filled = {here + first - q, here + std::clamp(inside.end, first, q_end) - q};
      from = row * conv.image.columns + conv.slide.columns.position(first, v);
    }
    body(Span{here, here + q_end - q}, filled, from);
    at += q_end - q;
  }
}

/// Copies the elements of a channel under one tap at the output positions [begin, end). Positions in the padding get
/// `outside`.
template <class T>
void copy_taps(const Convolution& conv, const T* channel, std::int64_t u, std::int64_t v, std::int64_t begin,
               std::int64_t end, T outside, T* to) {
  const std::int64_t stride = conv.slide.columns.stride;
  for_rows(conv, u, v, begin, end, [&](const Span& row, const Span& filled, std::int64_t from) {
    std::fill(to + row.begin, to + filled.begin, outside);
    if (stride == 1)
      std::copy_n(channel + from, filled.size(), to + filled.begin);
    else
      for (std::int64_t i = 0; i < filled.size(); ++i) to[filled.begin + i] = channel[from + i * stride];
    std::fill(to + filled.end, to + row.end, outside);
  });
}

}  // namespace ferry::cpu
