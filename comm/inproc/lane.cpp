#include "comm/inproc/lane.hpp"

#include "base/error.hpp"

namespace ferry::inproc {

Lane::Meeting Lane::offer(std::uint32_t channel, const Offer& mine) {
  const std::lock_guard lock(mutex_);
  if (failed_.load()) return {.refused = true};
  Queue& queue = queues_[channel];
  if (queue.first != nullptr && queue.of_sends != mine.is_send) {
    (mine.is_send ? receiver_copies_ : sender_copies_).fetch_add(1);
    return {.other = pop(queue)};
  }
  Transfer* posted = take();
  posted->source = mine.source;
  posted->target = mine.target;
  posted->bytes = mine.bytes;
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

Transfer* Lane::take() {
  Transfer* transfer = free_;
  if (transfer == nullptr) {
    transfer = &store_.emplace_back();
    transfer->lane = this;
  } else {
    free_ = transfer->next;
  }
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
