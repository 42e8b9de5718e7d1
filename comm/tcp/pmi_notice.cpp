// A notice that the launcher keeps: it is put and read through the launcher's process manager interface (PMI).
#include "base/text.hpp"
#include "comm/tcp/notice.hpp"
#include "comm/tcp/pmi.hpp"

namespace ferry::tcp {
namespace {

/// Whether "PMI_process_mapping", such as "(vector,(0,2,1))", places all processes on node 0. Each group of three
/// numbers is a first node, a count of nodes, and the number of processes on each of these nodes.
bool is_one_node(std::string_view mapping) {
  int groups = 0;
  for (std::size_t at = mapping.find("(", 1); at != std::string_view::npos; at = mapping.find("(", at + 1), ++groups)
    if (!mapping.substr(at).starts_with("(0,1,")) return false;
  return groups > 0;
}

class PmiNotice final : public Notice {
 public:
  explicit PmiNotice(int task) : task_(task) {}

  [[nodiscard]] std::string where() const override { return "PMI"; }

  [[nodiscard]] Address here(const Deadline& deadline) override {
    const auto mapping = Pmi::here(deadline).get("PMI_process_mapping", deadline);
    return mapping && is_one_node(*mapping) ? net::loopback_address() : net::choose_address(net::host_addresses());
  }

  [[nodiscard]] bool put(const std::string& text, const Deadline& deadline) override {
    text_ = broadcast_from_task_0(0, text, deadline);
    return true;
  }

  [[nodiscard]] std::optional<std::string> get(const Deadline& deadline) override {
    if (task_ != 0 && !text_) text_ = broadcast_from_task_0(task_, "", deadline);
    return text_;
  }

  void remove(const std::string&, const Deadline&) override {}  // the notice ends with the job

 private:
  int task_;
  std::optional<std::string> text_;
};

}  // namespace

std::unique_ptr<Notice> pmi_notice(int task) {
  return std::make_unique<PmiNotice>(task);
}

}  // namespace ferry::tcp
