// Host names go from task to task: each task adds its own name to the names from the previous task, and task 0 prints
// the whole list. It works on any number of tasks: the program reads the number before it builds its graph.
//
//     mpirun -np 3 build/samples/hello_ranks
//     build/samples/hello_ranks --tasks 3
#include <ferry/ferry.hpp>

#include <cstring>
#include <iostream>
#include <string>

namespace {

/// A row of `names` as text: it ends with a zero byte, or fills the row.
std::string text_of(const ferry::Tensor& names, std::int64_t row) {
  const std::int64_t columns = names.sizes()[1];
  const auto* text = reinterpret_cast<const char*>(names.bytes().data()) + row * columns;
  return {text, strnlen(text, static_cast<std::size_t>(columns))};
}

}  // namespace

int main(int argc, char** argv) {
  auto cluster = ferry::Cluster::connect(argc, argv);
  ferry::Graph g;
  ferry::Value names;
  for (int task = 0; task < cluster.size(); ++task) {
    auto here = g.device("/task:" + std::to_string(task));
    const ferry::Value mine = ferry::expand_dims(ferry::host_name(g), {0});
    names = task == 0 ? mine : ferry::concat({names, mine}, 0);
  }
  ferry::Session session(g, cluster);
  const ferry::Tensor all = session.run({names})[0];
  if (cluster.rank() == 0)
    for (std::int64_t task = 0; task < cluster.size(); ++task)
      std::cout << "hello from task " << task << " of " << cluster.size() << " on " << text_of(all, task) << "\n";
}
