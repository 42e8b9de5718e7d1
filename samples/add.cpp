// c = a + b, with a, b and c on three tasks. ferry adds the messages between them.
//
//     mpirun -np 3 build/ferry run build/samples/add.pb
//     build/samples/add --tasks 3
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

int main(int argc, char** argv) {
  ferry::Graph g;
  auto a = g.constant({1, 2, 3}, ferry::on("/task:0"));
  auto b = g.constant({10, 20, 30}, ferry::on("/task:1"));
  {
    auto here = g.device("/task:2");
    g.fetch("run", "c", a + b);
  }
  return ferry::run_main(argc, argv, g);
}
