#include "comm/inproc/lane.hpp"

#include <utility>

#include "base/error.hpp"

namespace ferry::inproc {

void Outbox::put(Transfer* transfer) {
  {
    const std::lock_guard lock(mutex_);
    transfers_.push_back(transfer);
  }
  events_.notify();
}

std::vector<Transfer*> Outbox::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(transfers_, {});
}

Lane::OfferResult Lane::offer(std::uint32_t channel, const Offer& mine) {
  const std::lock_guard lock(mutex_);
  if (ends_.failed.load()) return {.refused = true};
  if (ends_.outbox != nullptr) {
    Transfer* far = take(channel, mine);
    (mine.is_send ? ends_.sender_copies : ends_.receiver_copies).fetch_add(1);
    ends_.outbox->put(far);
    return {.posted = far};
  }
  Queue& queue = queues_[channel];
  if (queue.first != nullptr && queue.of_sends != mine.is_send) {
    (mine.is_send ? ends_.receiver_copies : ends_.sender_copies).fetch_add(1);
    return {.other = pop(queue)};
  }
  Transfer* posted = take(channel, mine);
  queue.of_sends = mine.is_send;
  push(queue, posted);
  return {.posted = posted};
}

void Lane::release(Transfer* transfer) {
  const std::lock_guard lock(mutex_);
  FERRY_ASSERT(transfer->posted, "a ticket was used after it was done");
  transfer->posted = false;
  transfer->next = free_;
  free_ = transfer;
}

Transfer* Lane::take(std::uint32_t channel, const Offer& offer) {
  Transfer* transfer = free_;
  if (transfer == nullptr) {
    transfer = &store_.emplace_front();
    transfer->lane = this;
  } else {
    free_ = transfer->next;
  }
  transfer->source = offer.source;
  transfer->target = offer.target;
  transfer->bytes = offer.bytes;
  transfer->channel = channel;
  transfer->posted = true;
  transfer->next = nullptr;
  transfer->complete.store(false, std::memory_order_relaxed);
  return transfer;
}

void Lane::push(Queue& queue, Transfer* transfer) {
  if (queue.first == nullptr) {
    queue.first = transfer;
  } else {
    queue.last->next = transfer;
  }
  queue.last = transfer;
}

Transfer* Lane::pop(Queue& queue) {
  Transfer* first = queue.first;
  queue.first = first->next;
  return first;
}

}  // namespace ferry::inproc
