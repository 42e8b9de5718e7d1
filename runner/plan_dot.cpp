#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "placement/plan_text.hpp"
#include "runner/plan_pictures.hpp"

extern char** environ;

namespace ferry {
namespace {

std::string label(std::string_view text) {
  std::string safe;
  for (const char c : escaped(text, 60)) safe += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return "\"" + safe + "\"";
}

/// Draws one task after the other; remembers which node made a buffer, and the ends of channels.
class Drawing {
 public:
  explicit Drawing(const Plan& plan) : plan_(plan) {}

  std::string text() {
    out_ =
        "digraph plan {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef2ff\", "
        "fontname=\"sans-serif\"];\n";
    for (int task = 0; task < plan_.topology.size(); ++task) draw(task);
    for (const auto& [channel, from] : sent_) {
      const Channel& c = plan_.channels[channel];
      const std::string to = "r" + std::to_string(channel);
      out_ += "  " + from + " -> " + to +
              " [penwidth=3, color=\"#d9480f\", label=" + label(std::to_string(c.bytes) + " B") + "];\n";
    }
    return out_ + "}\n";
  }

 private:
  void draw(int task) {
    const PlanClass& role = plan_.class_for(task);
    makers_.assign(role.buffers.size(), "");
    std::string edges;
    out_ += "  subgraph cluster_" + std::to_string(task) + " {\n    label=\"task " + std::to_string(task) + "\";\n";
    for (const Region& region : role.regions)
      for (std::uint32_t i = 0; i < region.instructions.count; ++i) {
        const std::uint32_t at = region.instructions.begin + i;
        node(task, role, at, role.instructions[at], edges);
      }
    out_ += "  }\n" + edges;
  }

  void node(int task, const PlanClass& role, std::uint32_t at, const Instruction& instruction, std::string& edges) {
    std::string id = "t" + std::to_string(task) + "_" + std::to_string(at);
    switch (instruction.what) {
      case Do::send:
        sent_[instruction.target] = maker(role, role.operands[instruction.inputs.begin], id);
        if (sent_[instruction.target] != id) return;
        break;
      case Do::send_wait:
      case Do::receive_wait:
        return;
      case Do::receive:
        id = "r" + std::to_string(instruction.target);
        break;
      default:
        break;
    }
    out_ += "    " + id + " [label=" + label(title(instruction)) + "];\n";
    for (std::uint32_t i = 0; i < instruction.inputs.count; ++i) {
      const std::uint32_t buffer = role.operands[instruction.inputs.begin + i];
      if (const std::string from = maker(role, buffer, ""); !from.empty()) edges += "  " + from + " -> " + id + ";\n";
    }
    for (std::uint32_t i = 0; i < instruction.outputs.count; ++i) {
      const std::uint32_t buffer = role.operands[instruction.outputs.begin + i];
      makers_[buffer] = makers_[storage_of(role, buffer)] = id;
    }
  }

  std::string maker(const PlanClass& role, std::uint32_t buffer, const std::string& otherwise) const {
    if (!makers_[buffer].empty()) return makers_[buffer];
    const std::string& storage = makers_[storage_of(role, buffer)];
    return storage.empty() ? otherwise : storage;
  }

  std::string title(const Instruction& instruction) const {
    switch (instruction.what) {
      case Do::kernel:
        return std::string(plan_.string(instruction.op)) + " " + std::string(plan_.string(instruction.name));
      case Do::feed:
        return "feed " + std::string(plan_.string(plan_.feeds[instruction.target].name));
      case Do::fetch:
        return "fetch " + std::string(plan_.string(plan_.fetches[instruction.target].name));
      case Do::receive:
        return "receive " + std::string(plan_.string(plan_.channels[instruction.target].name));
      case Do::send:
        return "send " + std::string(plan_.string(plan_.channels[instruction.target].name));
      case Do::collective: {
        const Collective& collective = plan_.collectives[instruction.target];
        return std::string(name_of(plan_.schedules[collective.schedule].kind)) + " " +
               std::string(plan_.string(collective.name));
      }
      default:
        return std::string(name_of(instruction.what)) + " " + std::string(plan_.string(instruction.name));
    }
  }

  const Plan& plan_;
  std::string out_;
  std::vector<std::string> makers_;
  std::map<std::uint32_t, std::string> sent_;
};

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(Code::resource, std::string("a pipe: ") + std::strerror(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t end) {
    if (ends[end] >= 0) close(std::exchange(ends[end], -1));
  }
};

}  // namespace

std::string plan_dot(const Plan& plan) {
  return Drawing(plan).text();
}

std::string svg_of(const std::string& dot) {
  Pipe in, out;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  const char* const words[] = {"dot", "-Tsvg", nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "dot", &actions, nullptr, const_cast<char* const*>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw Error(Code::usage, std::string("--svg: dot cannot be started: ") + std::strerror(failed))
        .hint("apt install graphviz, or --dot");
  in.close_end(0);
  out.close_end(1);
  // dot reads all before it writes, so the two pipes cannot block each other.
  for (std::string_view rest = dot; !rest.empty();) {
    const ssize_t n = write(in.ends[1], rest.data(), rest.size());
    if (n < 0 && errno != EINTR) break;
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  in.close_end(1);
  std::string svg;
  std::array<char, 65536> buffer{};
  for (ssize_t n; (n = read(out.ends[0], buffer.data(), buffer.size())) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) svg.append(buffer.data(), static_cast<std::size_t>(n));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw Error(Code::usage, "--svg: dot failed").hint("--dot shows what it was given");
  return svg;
}

}  // namespace ferry
