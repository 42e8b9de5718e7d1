#include "comm/flaky.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <utility>

namespace ferry {
namespace {

constexpr std::chrono::microseconds kHoldingIdle{50};

class FlakyTransport final : public Transport {
 public:
  FlakyTransport(std::unique_ptr<Transport> inner, const FlakyOptions& options, std::shared_ptr<FlakyCount> count)
      : Transport({.name = "flaky", .task = inner->task(), .tasks = inner->tasks(), .any_thread = inner->any_thread()}),
        inner_(std::move(inner)),
        options_(options),
        count_(count ? std::move(count) : std::make_shared<FlakyCount>()),
        random_(options.seed * 1'000'003 + static_cast<std::uint64_t>(inner_->task())) {}

  Ticket send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) override;
  Ticket receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) override;
  bool done(Ticket ticket) override;
  void idle(std::chrono::microseconds at_most) override;
  std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) override;

  void abort(const Failure& failure) noexcept override { inner_->abort(failure); }
  std::optional<Failure> failure() override { return inner_->failure(); }
  void close() override { inner_->close(); }
  WireCount sent() const override { return inner_->sent(); }
  std::uint64_t moved() const override { return inner_->moved(); }
  std::vector<LinkCount> links() const override { return inner_->links(); }

 private:
  using Route = std::pair<int, std::uint32_t>;
  struct Held {
    Ticket ticket = 0;
    Route route;
    std::span<const std::byte> bytes;
    int left = 0;  // calls of done() and idle() until it is sent
  };

  void count_operation();
  void require_alive() const;
  bool happens(double share) { return std::uniform_real_distribution<>(0, 1)(random_) < share; }
  [[nodiscard]] bool waits_behind(const Route& route) const;
  void release_held(bool all = false);

  std::unique_ptr<Transport> inner_;
  FlakyOptions options_;
  std::shared_ptr<FlakyCount> count_;
  std::mutex mutex_;  // guards all below; not held while the inner transport blocks
  std::mt19937_64 random_;
  std::int64_t operations_ = 0;
  Ticket last_ = 0;
  std::map<Ticket, Ticket> inner_tickets_;
  std::deque<Held> held_;
  std::set<Route> dead_;
  std::set<Ticket> swallowed_;
};

void FlakyTransport::require_alive() const {
  if (!count_->killed) return;
  throw Error(Code::peer_lost, "flaky: task {} was killed", task());
}

void FlakyTransport::count_operation() {
  if (operations_ == options_.kill_after) count_->killed = true;
  if (operations_ == options_.abort_after) {
    inner_->abort({task(), Code::numeric, "flaky: task " + std::to_string(task()) + " aborts as asked"});
  }
  ++operations_;
  require_alive();
}

bool FlakyTransport::waits_behind(const Route& route) const {
  return std::any_of(held_.begin(), held_.end(), [&](const Held& held) { return held.route == route; });
}

Ticket FlakyTransport::send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  count_operation();
  const Route route(peer, channel);
  const Ticket ticket = ++last_;
  if (happens(options_.drop)) dead_.insert(route);
  if (dead_.contains(route)) {
    ++count_->dropped;
    swallowed_.insert(ticket);
  } else if (const bool hold = happens(options_.delay); hold || waits_behind(route)) {
    ++count_->delayed;
    const int calls = std::uniform_int_distribution<>(1, options_.longest_delay)(random_);
    held_.push_back({ticket, route, bytes, calls});
  } else {
    inner_tickets_[ticket] = inner_->send(peer, channel, bytes);
  }
  return ticket;
}

Ticket FlakyTransport::receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  count_operation();
  inner_tickets_[++last_] = inner_->receive(peer, channel, bytes);
  return last_;
}

/// Sends the messages that were held back long enough, or all messages if `all`. Sends of one channel stay in order.
void FlakyTransport::release_held(bool all) {
  std::set<Route> waiting;
  for (auto at = held_.begin(); at != held_.end();) {
    if (!all && (--at->left > 0 || waiting.contains(at->route))) {
      waiting.insert(at->route);
      ++at;
      continue;
    }
    inner_tickets_[at->ticket] = inner_->send(at->route.first, at->route.second, at->bytes);
    at = held_.erase(at);
  }
}

bool FlakyTransport::done(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  require_alive();
  release_held();
  if (swallowed_.erase(ticket) != 0) return true;
  const auto found = inner_tickets_.find(ticket);
  if (found == inner_tickets_.end()) {
    const auto is_it = [&](const Held& held) { return held.ticket == ticket; };
    FERRY_ASSERT(std::any_of(held_.begin(), held_.end(), is_it), "a ticket was used after it was done");
    return false;
  }
  if (!inner_->done(found->second)) return false;
  inner_tickets_.erase(found);
  return true;
}

void FlakyTransport::idle(std::chrono::microseconds at_most) {
  {
    const std::lock_guard lock(mutex_);
    require_alive();
    release_held();
    if (!held_.empty()) at_most = std::min(at_most, kHoldingIdle);
  }
  inner_->idle(at_most);
}

std::vector<std::string> FlakyTransport::exchange(std::string_view mine, const Deadline& deadline) {
  {
    const std::lock_guard lock(mutex_);
    require_alive();
    release_held(true);  // the others may wait for these messages before they come to the exchange
  }
  return inner_->exchange(mine, deadline);
}

}  // namespace

std::unique_ptr<Transport> flaky_transport(std::unique_ptr<Transport> inner, const FlakyOptions& options,
                                           std::shared_ptr<FlakyCount> count) {
  return std::make_unique<FlakyTransport>(std::move(inner), options, std::move(count));
}

}  // namespace ferry
