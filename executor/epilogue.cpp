#include "executor/epilogue.hpp"

namespace ferry {

void Epilogue::operator()(const Piece& piece) const {
  std::span<Array> next = arrays_;
  for (const TileMember& member : members_) {
    KernelRun run{.inputs = next.first(member.inputs),
                  .outputs = next.subspan(member.inputs, 1),
                  .state = member.state,
                  .scratch = {},
                  .parallel = parallel_,
                  .step = step_,
                  .iterations = iterations_,
                  .piece = piece};
    try {
      member.kernel(run);
    } catch (const Error& error) {
      throw FailedMember{error, member.plan};
    }
    next = next.subspan(member.inputs + 1);
  }
}

}  // namespace ferry
