#include <initializer_list>
#include <string>

#include "base/numbers.hpp"
#include "base/process/environment.hpp"
#include "comm/backends.hpp"
#include "comm/tcp/notice.hpp"

namespace ferry {
namespace {

/// The names of the variables by which a launcher gives the task, the number of tasks, and task 0's address and port.
struct Names {
  const char *rank, *size, *address, *port;
};
// ferry's own variables, which torchrun sets, too, and the variables of Kubeflow's trainer and of DMLC (MXNet).
// Kubeflow's trainer sets them for torchrun, which starts the tasks and sets RANK and the other variables. Without
// torchrun, the process itself is the task.
constexpr Names kOwn = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
constexpr Names kKubeflow = {"PET_NODE_RANK", "PET_NNODES", "PET_MASTER_ADDR", "PET_MASTER_PORT"};
constexpr Names kDmlc = {"DMLC_TASK_ID", "DMLC_NUM_WORKER", "DMLC_TRACKER_URI", "DMLC_TRACKER_PORT"};

constexpr const char* kHowToLaunch =
    "set RANK, from 0, and WORLD_SIZE for each task, and either MASTER_ADDR and MASTER_PORT or FERRY_RENDEZVOUS; or "
    "unset all";

bool is_set(const char* name) {
  return !environment(name).empty();
}

int number_in(const char* name, int least, int most) {
  try {
    return whole_number(name, environment(name), least, most);
  } catch (const Error& error) {
    throw Error(Code::usage, "launch: " + error.text()).hint(kHowToLaunch);
  }
}

/// Whether all variables are set that a task needs.
bool are_complete(const Names& names) {
  const bool meets = is_set("FERRY_RENDEZVOUS") || (is_set(names.address) && is_set(names.port));
  return is_set(names.rank) && is_set(names.size) && meets;
}

/// The variables of the launcher that started this process: the first complete ones, so that a MASTER_ADDR of an image
/// or a profile does not hide another launcher. If none are complete, the first with a rank or a size.
const Names& names_here() {
  for (const Names* names : {&kOwn, &kKubeflow, &kDmlc})
    if (are_complete(*names)) return *names;
  if (is_set(kOwn.rank) || is_set(kOwn.size)) return kOwn;
  for (const Names* names : {&kKubeflow, &kDmlc})
    if (is_set(names->rank) && is_set(names->size)) return *names;
  return kOwn;
}

/// Error(usage) when Kubeflow's trainer asks for several tasks in a pod.
void require_one_in_a_pod() {
  constexpr const char* kCount = "PET_NPROC_PER_NODE";
  const std::string count = environment(kCount);
  if (count.find_first_not_of("0123456789") != std::string::npos || count.empty() || count == "1") return;
  throw Error(Code::usage, "launch: " + std::string(kCount) + " is " + count + ", and this process is one task")
      .hint("numProcPerNode: 1; ferry uses all cores of a pod by threads");
}

}  // namespace

std::optional<TcpOptions> tcp_launch(const std::optional<MpiLaunch>& numbers) {
  const Names& names = names_here();
  const bool numbered = numbers && !is_set(names.rank) && !is_set(names.size);
  int there = 0;
  std::string first;
  for (const char* name : {names.rank, names.size, names.address, names.port, "FERRY_RENDEZVOUS"}) {
    if (!is_set(name)) continue;
    if (there++ == 0) first = name;
  }
  if (there < (numbered ? 1 : 2) || !(numbered || is_set(names.rank) || is_set(names.size))) return std::nullopt;
  const bool by_notice = is_set("FERRY_RENDEZVOUS");
  for (const char* name : {names.rank, names.size, names.address, names.port}) {
    const bool meets = name == names.address || name == names.port;
    if (by_notice && meets) {
      if (is_set(name))
        throw Error(Code::usage, "launch: both " + std::string(name) + " and FERRY_RENDEZVOUS are set")
            .hint(kHowToLaunch);
    } else if (!is_set(name) && (meets || !numbered)) {
      throw Error(Code::usage, "launch: " + first + " is set, " + name + " is not").hint(kHowToLaunch);
    }
  }
  if (names.rank == kKubeflow.rank) require_one_in_a_pod();
  TcpOptions options;
  options.tasks = numbered ? numbers->size : number_in(names.size, 1, 1 << 16);
  options.task = numbered ? numbers->rank : number_in(names.rank, 0, options.tasks - 1);
  options.rank_variable = names.rank;
  options.size_variable = names.size;
  if (by_notice) {
    options.rendezvous = environment("FERRY_RENDEZVOUS");
    static_cast<void>(tcp::notice_at(options.rendezvous, options.task));  // reports faults in it at once
  } else {
    options.address = environment(names.address);
    options.port = number_in(names.port, 1, 65535);
  }
  options.served = is_set("FERRY_RENDEZVOUS_SERVED");
  options.interface = environment("FERRY_INTERFACE");
  options.secret = environment("FERRY_SECRET");
  return options;
}

}  // namespace ferry
