#include "executor/fused/epilogue.hpp"

namespace ferry {

void Epilogue::operator()(const Piece& piece) const {
  std::span<Array> next = arrays_;
  for (const TileMember& member : members_) {
    KernelRun run = member.run_on(next, parallel_, step_, iterations_);
    run.piece = piece;
    member.compute(run);
    next = next.subspan(member.inputs + 1);
  }
}

}  // namespace ferry
