#include "graph/op/index_notation.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.hpp"

namespace ferry {
namespace {

struct Letter {
  char name;  // 0: the ellipsis "..."
  bool whole = false;
  bool implied = false;
};
using Term = std::vector<Letter>;

Term parse_term(std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      term.push_back({.name = 0});
      i += 2;
    } else if (text[i] == '[' || text[i] == '(') {
      term.push_back({.name = text[i + 1], .whole = true, .implied = text[i] == '('});
      i += 2;
    } else {
      term.push_back({.name = text[i]});
    }
  }
  return term;
}

std::vector<Term> parse_terms(std::string_view text) {
  std::vector<Term> terms;
  if (text.empty()) return terms;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view term = text.substr(0, comma);
    terms.push_back(parse_term(term == "." ? "" : term));
    if (comma == std::string_view::npos) return terms;
    text.remove_prefix(comma + 1);
  }
}

bool has_ellipsis(const Term& term) {
  return std::any_of(term.begin(), term.end(), [](const Letter& l) { return l.name == 0; });
}

/// Assigns letters to the dims of inputs and outputs. Dims under an ellipsis get letters of their own, counted from the
/// right end of the ellipsis, so that they align like numpy's broadcasting.
class Binder {
 public:
  Binder(std::string_view notation, const OpFacts& facts) : facts_(facts) {
    const std::size_t arrow = notation.find("->");
    FERRY_ASSERT(arrow != std::string_view::npos, "index notation without '->': " + std::string(notation));
    inputs_ = parse_terms(notation.substr(0, arrow));
    outputs_ = parse_terms(notation.substr(arrow + 2));
    letters_.fill(-1);
  }

  IndexSpace bind() {
    FERRY_ASSERT(static_cast<int>(inputs_.size()) == facts_.inputs(), "index notation and inputs differ in number");
    for (std::size_t i = 0; i < inputs_.size(); ++i) bind_input(i);
    for (const Term& term : outputs_) bind_output(term);
    for (std::size_t i = 0; i < inputs_.size(); ++i) mark_broadcast(i);
    return std::move(space_);
  }

 private:
  void bind_input(std::size_t i) {
    const Term& term = inputs_[i];
    const Shape& shape = facts_.shape(static_cast<int>(i));
    const int spread = shape.rank() - static_cast<int>(term.size()) + (has_ellipsis(term) ? 1 : 0);
    if (spread < 0 || (spread > 0 && !has_ellipsis(term)))
      OpFacts::fail("input " + std::to_string(i) + " has rank " + std::to_string(shape.rank()) + ", expected " +
                    (has_ellipsis(term) ? "at least " + std::to_string(term.size() - 1) : std::to_string(term.size())));
    std::vector<int> dims;
    for (const Letter& letter : term) {
      if (letter.name == 0) {
        for (int k = spread; k > 0; --k) dims.push_back(bind_ellipsis(k - 1, shape[static_cast<int>(dims.size())]));
      } else {
        dims.push_back(bind_letter(letter, shape[static_cast<int>(dims.size())]));
      }
    }
    space_.inputs.push_back(std::move(dims));
  }

  void bind_output(const Term& term) {
    std::vector<int> dims;
    for (const Letter& letter : term) {
      if (letter.name == 0) {
        for (std::size_t k = ellipsis_.size(); k > 0; --k) dims.push_back(ellipsis_[k - 1]);
      } else {
        dims.push_back(id_of(letter));
      }
    }
    space_.outputs.push_back(std::move(dims));
  }

  void mark_broadcast(std::size_t i) {
    const Shape& shape = facts_.shape(static_cast<int>(i));
    std::vector<bool> spread;
    for (int d = 0; d < shape.rank(); ++d) {
      const Dim& size = space_.sizes[space_.inputs[i][d]];
      spread.push_back(shape[d].size() == 1 && !shape[d].bounded() && size.size() != 1);
    }
    space_.broadcast.push_back(std::move(spread));
  }

  int new_letter(bool whole) {
    space_.sizes.push_back(Dim::unknown());
    space_.whole.push_back(whole);
    space_.implied.push_back(false);
    space_.divisor.push_back(0);
    return static_cast<int>(space_.sizes.size()) - 1;
  }

  int id_of(const Letter& letter) {
    int& id = letters_[static_cast<unsigned char>(letter.name)];
    if (id < 0) id = new_letter(letter.whole);
    if (letter.whole) space_.whole[id] = true;
    if (letter.implied) space_.implied[id] = true;
    return id;
  }

  int bind_letter(const Letter& letter, const Dim& dim) {
    const bool fresh = letters_[static_cast<unsigned char>(letter.name)] < 0;
    const int id = id_of(letter);
    Dim& size = space_.sizes[id];
    if (fresh)
      size = dim;
    else if (!unify(size, dim))
      OpFacts::fail("sizes differ: " + std::string(1, letter.name) + " is " + size.str() + " and " + dim.str());
    return id;
  }

  int bind_ellipsis(int from_right, const Dim& dim) {
    const auto k = static_cast<std::size_t>(from_right);
    while (ellipsis_.size() <= k) {
      ellipsis_.push_back(new_letter(false));
      space_.sizes.back() = Dim(1);
    }
    Dim& size = space_.sizes[ellipsis_[k]];
    const auto is_one = [](const Dim& d) { return d.size() == 1 && !d.bounded(); };
    if (is_one(size))
      size = dim;
    else if (!is_one(dim) && !unify(size, dim))
      OpFacts::fail("sizes do not broadcast: " + size.str() + " and " + dim.str());
    return ellipsis_[k];
  }

  /// Sets `size` to the size of both dims: to the known one, or to unknown if both are different symbols. Returns false
  /// if the dims cannot be equal.
  static bool unify(Dim& size, const Dim& dim) {
    if (!dim.known()) {
      if (!size.known() && size != dim) size = Dim::unknown();
      return true;
    }
    if (!size.known()) size = dim;
    return size == dim;
  }

  const OpFacts& facts_;
  std::vector<Term> inputs_, outputs_;
  std::array<int, 256> letters_{};
  std::vector<int> ellipsis_;
  IndexSpace space_;
};

}  // namespace

bool IndexSpace::in_output(int letter, int output) const {
  const auto& dims = outputs[output];
  return std::find(dims.begin(), dims.end(), letter) != dims.end();
}

double IndexSpace::points() const {
  double count = 1;
  for (std::size_t letter = 0; letter < sizes.size(); ++letter)
    if (!implied[letter] && sizes[letter].known()) count *= static_cast<double>(sizes[letter].size());
  return count;
}

IndexSpace bind_index(std::string_view notation, const OpFacts& facts) {
  return Binder(notation, facts).bind();
}

std::string notation_of(const OpDef& def, const OpFacts& facts) {
  return def.index_of != nullptr ? def.index_of(facts) : std::string(def.index);
}

std::optional<IndexSpace> index_space(const OpDef& def, const OpFacts& facts, std::span<const Type> outputs) {
  if (def.index.empty() && def.index_of == nullptr) return std::nullopt;
  IndexSpace space = bind_index(notation_of(def, facts), facts);
  for (std::size_t o = 0; o < space.outputs.size() && o < outputs.size(); ++o)
    for (std::size_t d = 0; d < space.outputs[o].size(); ++d) {
      const auto letter = static_cast<std::size_t>(space.outputs[o][d]);
      Dim& size = space.sizes[letter];
      const Dim& made = outputs[o].shape[static_cast<int>(d)];
      if (!size.known())
        size = made;
      else if (size.fixed() && made.fixed() && size != made)
        space.divisor[letter] = std::gcd(size.size(), made.size());
    }
  return space;
}

std::string Letters::next() {
  static const std::string kLetters = [] {
    std::string letters;
    for (char c = 'a'; c <= 'z'; ++c) letters += c;
    for (char c = 'A'; c <= 'Z'; ++c) letters += c;
    for (int c = 128; c < 256; ++c) letters += static_cast<char>(c);
    return letters;
  }();
  if (used_ == static_cast<int>(kLetters.size())) OpFacts::fail("too many dims and inputs");
  return {kLetters[used_++]};
}

std::string Letters::next(int count) {
  std::string letters;
  for (int i = 0; i < count; ++i) letters += next();
  return letters;
}

}  // namespace ferry
