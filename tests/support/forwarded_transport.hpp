// A transport that another one carries, for tests that change or count some of its calls.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/transport.hpp"

namespace ferry::test {

/// Forwards all calls; a test's class overrides some of them.
class ForwardedTransport : public Transport {
 public:
  explicit ForwardedTransport(std::unique_ptr<Transport> inner)
      : Transport({.name = inner->name(), .task = inner->task(), .tasks = inner->tasks(), .any_thread = true}),
        inner_(std::move(inner)) {}

  Ticket send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) override {
    return inner_->send(peer, channel, bytes);
  }
  Ticket receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) override {
    return inner_->receive(peer, channel, bytes);
  }
  bool done(Ticket ticket) override { return inner_->done(ticket); }
  void idle(std::chrono::microseconds at_most) override { inner_->idle(at_most); }
  std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) override {
    return inner_->exchange(mine, deadline);
  }
  void abort(const Failure& failure) noexcept override { inner_->abort(failure); }
  std::optional<Failure> failure() override { return inner_->failure(); }
  void close() override { inner_->close(); }
  WireCount sent() const override { return inner_->sent(); }

 private:
  std::unique_ptr<Transport> inner_;
};

}  // namespace ferry::test
