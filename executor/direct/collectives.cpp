#include "executor/direct/collectives.hpp"

#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "executor/direct/direct.hpp"
#include "executor/direct/direct_pair.hpp"

namespace ferry {

Request::~Request() {
  if (!run_ || std::uncaught_exceptions() > 0) return;
  try {
    wait();
  } catch (const std::exception&) {  // the next call of this job throws it, too
  }
}

Request& Request::operator=(Request&& other) noexcept {
  Request before(std::move(*this));  // waits for its call
  run_ = std::move(other.run_);
  group_ = std::move(other.group_);
  return *this;
}

void Request::wait() {
  const std::shared_ptr<DirectGroup> group = std::exchange(group_, nullptr);  // outlives the run
  if (const std::shared_ptr<DirectRun> run = std::exchange(run_, nullptr)) group->job().wait(*run);
}

bool Request::test() {
  if (!run_) return true;
  if (!group_->job().test(*run_)) return false;
  run_.reset();
  group_.reset();
  return true;
}

int Collectives::members() const {
  return static_cast<int>(group_->tasks().size());
}

void Collectives::run(const DirectCall& call, const source_location& at) const {
  group_->run(call, at);
}

Request Collectives::start(const DirectCall& call, const source_location& at) const {
  return {group_->start(call, at), group_};
}

Request Collectives::start_each(DType dtype, Reduce reduce, std::vector<std::span<std::byte>> pieces,
                                const source_location& at) const {
  return {group_->start_each(dtype, reduce, std::move(pieces), at), group_};
}

void Collectives::gather_uneven(DType dtype, std::span<const std::byte> mine, const Room& room,
                                const source_location& at) const {
  group_->gather_uneven(dtype, mine, room, at);
}

Request Collectives::start_sending(DType dtype, std::span<const std::byte> values, int to,
                                   const source_location& at) const {
  return {ferry::start_sending(*group_, dtype, values, to, at), group_};
}

Request Collectives::start_receiving(DType dtype, std::span<std::byte> values, int from,
                                     const source_location& at) const {
  return {ferry::start_receiving(*group_, dtype, values, from, at), group_};
}

std::shared_ptr<std::byte> Collectives::memory(std::size_t count, std::size_t size) const {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;
  if (count > kMost / size)
    throw Error(Code::resource, "a buffer of {} values is larger than the address space", count)
        .hint("a size that is not negative, and fits into the memory of the host");
  return group_->memory(count * size);
}

Group Collectives::split(int color, int key, source_location at) const {
  DirectGroup& made = group_->split(color, key, at);
  return Group({&made, [parent = group_](DirectGroup* group) { group->job().drop(*group); }});
}

int Group::rank() const {
  return group().member();
}

std::span<const int> Group::tasks() const {
  return group().tasks();
}

}  // namespace ferry
