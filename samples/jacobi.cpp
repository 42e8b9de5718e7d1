// Heat on a plate of 48 × 32 points, held at 1 along its upper edge and at 0 along the others: Jacobi's method, the
// rows in blocks on several tasks. Each block needs one row of each neighbour: the program slices it, and ferry finds
// the messages. `difference` compares with the same steps on one task; it is 0, to the bit.
//
//     build/samples/jacobi --tasks 3
//     mpirun -np 3 build/ferry run build/samples/jacobi.pb
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include <string>

namespace {

using ferry::Value;
using ferry::Values;

constexpr std::int64_t kRows = 48, kColumns = 32, kBlocks = 3, kSteps = 200;

/// One step for rows that lie between the rows `above` and `below` ([1, columns] each): the mean of the four
/// neighbours.
Value stepped(const Value& rows, const Value& above, const Value& below) {
  const Value tall = ferry::concat(Values{above, rows, below}, 0);
  const Value up = ferry::slice(tall, 0, 0, -2), down = ferry::slice(tall, 0, 2);
  const Value wide = ferry::pad(rows, {0, 1}, {0, 1});
  const Value left = ferry::slice(wide, 1, 0, -2), right = ferry::slice(wide, 1, 2);
  return (up + down + left + right) * 0.25;
}

/// `blocks` blocks of rows, block i on task i, after kSteps steps.
Values solved(ferry::Graph& g, std::int64_t blocks) {
  const auto place = [&](std::int64_t i) { return g.device("/task:" + std::to_string(blocks == 1 ? 0 : i)); };
  Values state{g.constant(0.0)};
  for (std::int64_t i = 0; i < blocks; ++i) {
    auto here = place(i);
    state.push_back(g.constant(ferry::Tensor(ferry::DType::float32, {kRows / blocks, kColumns})));
  }
  const auto goes_on = [](const Values& s) { return s[0] < static_cast<double>(kSteps); };
  const auto step = [&](const Values& s) {
    Values next{s[0] + 1.0};
    for (std::size_t i = 1; i < s.size(); ++i) {
      auto here = s[i].graph().device("/task:" + std::to_string(blocks == 1 ? 0 : i - 1));
      const Value hot = s[i].graph().constant(ferry::Tensor::of<float>({1, 1}, {1.0F}));
      const Value edge = ferry::broadcast_to(hot, {1, kColumns});
      next.push_back(stepped(s[i], i == 1 ? edge : ferry::slice(s[i - 1], 0, -1),
                             i + 1 == s.size() ? edge * 0.0 : ferry::slice(s[i + 1], 0, 0, 1)));
    }
    return next;
  };
  Values end = ferry::while_loop(state, goes_on, step);
  end.erase(end.begin());
  return end;
}

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  const Value plate = ferry::concat(solved(g, kBlocks), 0);
  const Value alone = ferry::concat(solved(g, 1), 0);
  g.fetch("solve", "centre", ferry::slice(plate, {0, 1}, {kRows / 2, kColumns / 2}, {kRows / 2 + 1, kColumns / 2 + 1}));
  g.fetch("solve", "difference", ferry::max(ferry::abs(plate - alone)));
  return ferry::run_main(argc, argv, g);
}
