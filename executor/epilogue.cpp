#include "executor/epilogue.hpp"

namespace ferry {

void Epilogue::operator()(const Piece& piece) const {
  std::span<Array> next = arrays_;
  for (const TileMember& member : members_) next = member.run(next, piece, parallel_, step_, iterations_);
}

}  // namespace ferry
