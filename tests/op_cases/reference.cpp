#include "tests/op_cases/reference.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace ferry::test {
namespace {

std::int64_t count_of(const Sizes& sizes) {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) count *= size;
  return count;
}

/// Calls f(index) for each index of an array, the last dim fastest.
template <class F>
void for_indices(const Sizes& sizes, const F& f) {
  Sizes index(sizes.size());
  for (std::int64_t left = count_of(sizes); left > 0; --left) {
    f(index);
    for (std::size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
}

Sizes broadcast_sizes(const std::vector<Nd>& inputs) {
  Sizes result;
  for (const Nd& input : inputs) {
    while (result.size() < input.sizes.size()) result.insert(result.begin(), 1);
    for (std::size_t d = 0; d < input.sizes.size(); ++d) {
      std::int64_t& size = result[result.size() - input.sizes.size() + d];
      if (size == 1) size = input.sizes[d];
    }
  }
  return result;
}

}  // namespace

Counted& counted() {
  thread_local Counted kCounted;
  return kCounted;
}

Nd::Nd(Sizes given, const std::function<Real(const Sizes&)>& element) : sizes(std::move(given)) {
  data.reserve(static_cast<std::size_t>(count_of(sizes)));
  for_indices(sizes, [&](const Sizes& index) { data.push_back(element(index)); });
}

Nd::Nd(const Tensor& tensor) : sizes(tensor.sizes()) {
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    data.push_back(tensor.dtype() == DType::uint64 ? static_cast<Real>(static_cast<std::uint64_t>(tensor.integer(i)))
                   : is_integer(tensor.dtype())    ? static_cast<Real>(tensor.integer(i))
                                                   : static_cast<Real>(tensor.number(i)));
}

Real Nd::at(const Sizes& index) const {
  std::int64_t flat = 0;
  const std::size_t missing = index.size() - sizes.size();
  for (std::size_t d = 0; d < sizes.size(); ++d) flat = flat * sizes[d] + (sizes[d] == 1 ? 0 : index[d + missing]);
  return data[flat];
}

Real& element(Nd& nd, const Sizes& index) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < index.size(); ++d) flat = flat * nd.sizes[d] + index[d];
  return nd.data[flat];
}

Reference elements(Real (*f)(Real)) {
  return {[f](const std::vector<Nd>& in) {
            return std::vector{Nd(in[0].sizes, [&](const Sizes& i) {
              ++counted().operations;
              return f(in[0].at(i));
            })};
          },
          true};
}

Reference elements(Real (*f)(Real, Real)) {
  return {[f](const std::vector<Nd>& in) {
            return std::vector{Nd(broadcast_sizes(in), [&](const Sizes& i) {
              ++counted().operations;
              return f(in[0].at(i), in[1].at(i));
            })};
          },
          true};
}

Reference elements(Real (*f)(Real, Real, Real)) {
  return {[f](const std::vector<Nd>& in) {
            return std::vector{Nd(broadcast_sizes(in), [&](const Sizes& i) {
              ++counted().operations;
              return f(in[0].at(i), in[1].at(i), in[2].at(i));
            })};
          },
          true};
}

Reference einsum(std::string_view notation) {
  std::vector<std::string> terms(1);
  for (char c : notation) {
    if (c == ',' || c == '>')
      terms.emplace_back();
    else if (c != '-')
      terms.back() += c;
  }
  return [terms](const std::vector<Nd>& in) {
    std::map<char, std::int64_t> size;
    std::string letters = terms.back();  // first the output's letters, then those that are summed over
    for (std::size_t i = 0; i < in.size(); ++i)
      for (std::size_t d = 0; d < terms[i].size(); ++d) {
        if (letters.find(terms[i][d]) == std::string::npos) letters += terms[i][d];
        std::int64_t& known = size.emplace(terms[i][d], 1).first->second;
        if (known == 1) known = in[i].sizes[d];
      }
    Sizes out_sizes, summed;
    for (std::size_t k = 0; k < letters.size(); ++k)
      (k < terms.back().size() ? out_sizes : summed).push_back(size[letters[k]]);
    // Where a term's letters stand among all.
    std::vector<std::vector<std::size_t>> places(in.size());
    std::vector<Sizes> index(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      for (char letter : terms[i]) places[i].push_back(letters.find(letter));
      index[i].resize(terms[i].size());
    }
    return std::vector{Nd(out_sizes, [&](const Sizes& out_index) {
      Sizes all = out_index;
      all.resize(letters.size());
      Real sum = 0;
      for_indices(summed, [&](const Sizes& inner) {
        std::ranges::copy(inner, all.end() - std::ssize(inner));
        Real product = 1;
        for (std::size_t i = 0; i < in.size(); ++i) {
          for (std::size_t d = 0; d < index[i].size(); ++d) index[i][d] = all[places[i][d]];
          product *= in[i].at(index[i]);
        }
        sum += product;
        ++counted().operations;
      });
      return sum;
    })};
  };
}

Reference folded(Sizes axes, Real start, Real (*join)(Real, Real)) {
  return [axes, start, join](const std::vector<Nd>& in) {
    Sizes kept, gone;
    const auto is_gone = [&](std::size_t d) {
      return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
    };
    for (std::size_t d = 0; d < in[0].sizes.size(); ++d) (is_gone(d) ? gone : kept).push_back(in[0].sizes[d]);
    return std::vector{Nd(kept, [&](const Sizes& outer) {
      Real result = start;
      Sizes index(in[0].sizes.size());
      for_indices(gone, [&](const Sizes& inner) {
        std::size_t o = 0, i = 0;
        for (std::size_t d = 0; d < index.size(); ++d) index[d] = is_gone(d) ? inner[i++] : outer[o++];
        result = join(result, in[0].at(index));
        ++counted().operations;
      });
      return result;
    })};
  };
}

Reference indexed(Sizes (*sizes)(const std::vector<Nd>&), Real (*element)(const std::vector<Nd>&, const Sizes&)) {
  return [sizes, element](const std::vector<Nd>& in) {
    return std::vector{Nd(sizes(in), [&](const Sizes& index) { return element(in, index); })};
  };
}

Reference rows(std::vector<Real> (*f)(const std::vector<Real>&)) {
  return [f](const std::vector<Nd>& in) {
    Nd out = in[0];
    const std::int64_t n = in[0].sizes.back();
    for (std::int64_t at = 0; n > 0 && at < static_cast<std::int64_t>(out.data.size()); at += n) {
      const std::vector<Real> row = f({out.data.begin() + at, out.data.begin() + at + n});
      std::copy(row.begin(), row.end(), out.data.begin() + at);
      counted().operations += n;
    }
    return std::vector{out};
  };
}

}  // namespace ferry::test
