// Calls NCCL, 2.18 or later. It is loaded at its first use, so that ferry runs without it. All calls are non-blocking,
// so that ferry's own deadline limits the wait for other tasks.
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "kernels/cuda/group/nccl.hpp"
#include "kernels/cuda/optional_library.hpp"

namespace ferry::cuda::nccl {
namespace {

// The library's interface, as nccl.h has it.
struct UniqueId {
  char internal[128];
};
static_assert(sizeof(UniqueId) == sizeof(DeviceGroupName));
using Comm = void*;
/// ncclConfig_t of 2.18. Newer versions of NCCL append fields, and find the fields that exist by `size` and `version`.
struct Config {
  std::size_t size;
  unsigned magic, version;
  int blocking, cga_cluster_size, min_ctas, max_ctas;
  const char* net_name;
  int split_share;
};
constexpr int kUndefined = static_cast<int>(0x80000000U);
constexpr unsigned kMagic = 0xcafebeef, kOldest = 21800;
constexpr int kInProgress = 7;
constexpr int kBytes = 0;  // ncclInt8

struct Nccl {
  Nccl() {
    if (!why.empty()) return;
    if (get_version(&version) != 0 || version < static_cast<int>(kOldest))
      why = "NCCL " + std::to_string(version) + " is too old: ferry needs 2.18";
  }
  OptionalLibrary library{"NCCL", {"libnccl.so.2"}};
  const char* (*error_string)(int) = library.find("ncclGetErrorString");
  int (*get_version)(int*) = library.find("ncclGetVersion");
  int (*get_unique_id)(UniqueId*) = library.find("ncclGetUniqueId");
  int (*init_rank)(Comm*, int, UniqueId, int, Config*) = library.find("ncclCommInitRankConfig");
  int (*async_error)(Comm, int*) = library.find("ncclCommGetAsyncError");
  int (*finalize)(Comm) = library.find("ncclCommFinalize");
  int (*destroy)(Comm) = library.find("ncclCommDestroy");
  int (*abort)(Comm) = library.find("ncclCommAbort");
  int (*group_start)() = library.find("ncclGroupStart");
  int (*group_end)() = library.find("ncclGroupEnd");
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, void*) = library.find("ncclAllReduce");
  int (*reduce)(const void*, void*, std::size_t, int, int, int, Comm, void*) = library.find("ncclReduce");
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, Comm, void*) = library.find("ncclReduceScatter");
  int (*all_gather)(const void*, void*, std::size_t, int, Comm, void*) = library.find("ncclAllGather");
  int (*broadcast)(const void*, void*, std::size_t, int, int, Comm, void*) = library.find("ncclBroadcast");
  int (*send)(const void*, std::size_t, int, int, Comm, void*) = library.find("ncclSend");
  int (*receive)(void*, std::size_t, int, int, Comm, void*) = library.find("ncclRecv");
  std::string why = library.why();  ///< the reason why NCCL cannot be used; empty: it can
  int version = 0;
};

const Nccl& library() {
  static const Nccl nccl;
  return nccl;
}

/// Lets NCCL run the collectives of a device's communicators in the order in which they were submitted. Call it before
/// the first call that makes a group, because NCCL then reads its environment.
void keep_launch_order() {
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
}

int type_of(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return 0;
    case DType::uint8:
      return 1;
    case DType::int32:
      return 2;
    case DType::uint32:
      return 3;
    case DType::int64:
      return 4;
    case DType::uint64:
      return 5;
    case DType::float16:
      return 6;
    case DType::float32:
      return 7;
    case DType::float64:
      return 8;
    case DType::bfloat16:
      return 9;
    default:
      break;
  }
  throw Error(Code::bug, "NCCL folds no " + std::string(name_of(dtype)));
}

int fold_of(Reduce reduce) {
  switch (reduce) {
    case Reduce::sum:
      return 0;
    case Reduce::max:
      return 2;
    case Reduce::min:
      return 3;
    default:
      throw Error(Code::bug, "a collective of GPUs that folds nothing");
  }
}

struct Member {
  Comm comm = nullptr;
  bool issued = false;  ///< NCCL was called for the current collective, and has not confirmed it yet
};

Member& of(void* member) {
  return *static_cast<Member*>(member);
}

/// The communicator's state: 0, an error, or kInProgress.
int state_of(const Member& member) {
  int state = 0;
  const int error = library().async_error(member.comm, &state);
  return error != 0 ? error : state;
}

/// Calls the library's function for one collective.
int call(const Member& member, void* stream, const DeviceCollective& what) {
  using Kind = DeviceCollective::Kind;
  const Nccl& nccl = library();
  const std::size_t bytes = what.count * size_of(what.dtype);
  switch (what.kind) {
    case Kind::all_reduce:
      return nccl.all_reduce(what.input, what.output, what.count, type_of(what.dtype), fold_of(what.reduce),
                             member.comm, stream);
    case Kind::reduce:
      return nccl.reduce(what.input, what.output, what.count, type_of(what.dtype), fold_of(what.reduce), what.root,
                         member.comm, stream);
    case Kind::reduce_scatter:
      return nccl.reduce_scatter(what.input, what.output, what.count, type_of(what.dtype), fold_of(what.reduce),
                                 member.comm, stream);
    case Kind::all_gather:
      return nccl.all_gather(what.input, what.output, bytes, kBytes, member.comm, stream);
    case Kind::broadcast: {
      void* const to = what.output != nullptr ? what.output : const_cast<void*>(what.input);
      return nccl.broadcast(what.input != nullptr ? what.input : to, to, bytes, kBytes, what.root, member.comm, stream);
    }
    case Kind::exchange: {
      int error = nccl.group_start();
      for (std::uint64_t m = 0; m < what.message_count && error == 0; ++m) {
        const DeviceMessage& message = what.messages[m];
        error = message.sends != 0
                    ? nccl.send(message.memory, message.bytes, kBytes, message.peer, member.comm, stream)
                    : nccl.receive(message.memory, message.bytes, kBytes, message.peer, member.comm, stream);
      }
      const int ended = nccl.group_end();
      return error != 0 && error != kInProgress ? error : ended;
    }
  }
  return 0;
}

}  // namespace

std::string describe(int error) {
  return "NCCL: " + std::string(library().error_string(error));
}

std::uint64_t domain(std::string& why) {
  why = library().why;
  return why.empty() ? static_cast<std::uint64_t>(library().version) : 0;
}

int make_name(DeviceGroupName& name) {
  UniqueId id{};
  keep_launch_order();
  const int error = library().get_unique_id(&id);
  std::memcpy(name.bytes, id.internal, sizeof name.bytes);
  return error;
}

void* join(const DeviceGroupName& name, int members, int member, int& error) {
  UniqueId id{};
  std::memcpy(id.internal, name.bytes, sizeof id.internal);
  Config config{.size = sizeof(Config),
                .magic = kMagic,
                .version = kOldest,
                .blocking = 0,
                .cga_cluster_size = kUndefined,
                .min_ctas = kUndefined,
                .max_ctas = kUndefined,
                .net_name = nullptr,
                .split_share = kUndefined};
  auto made = std::make_unique<Member>();
  keep_launch_order();
  error = library().init_rank(&made->comm, members, id, member, &config);
  if (error == kInProgress) error = 0;
  return error == 0 ? made.release() : nullptr;
}

int joined(void* member, bool& all) {
  const int state = state_of(of(member));
  all = state == 0;
  return state == kInProgress ? 0 : state;
}

int state(void* member) {
  if (of(member).comm == nullptr) return 0;  // after abandon()
  const int state = state_of(of(member));
  return state == kInProgress ? 0 : state;
}

/// A non-blocking call may return before its kernels are on the stream. They are on the stream when the communicator is
/// no longer in progress.
int submit_part(void* given_to, void* stream, const DeviceCollective& what, bool& given) {
  Member& member = of(given_to);
  given = false;
  if (!member.issued) {
    const int error = call(member, stream, what);
    if (error != 0 && error != kInProgress) return error;
    member.issued = true;
  }
  const int state = state_of(member);
  if (state == kInProgress) return 0;
  member.issued = false;
  given = state == 0;
  return state;
}

void abandon(void* member) {
  if (Comm comm = std::exchange(of(member).comm, nullptr); comm != nullptr) library().abort(comm);
}

void leave(void* given) {
  const std::unique_ptr<Member> member(static_cast<Member*>(given));
  if (member->comm == nullptr) return;
  constexpr auto kPatience = std::chrono::seconds(10);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  int state = library().finalize(member->comm);
  while ((state == 0 || state == kInProgress) && (state = state_of(*member)) == kInProgress &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  state == 0 ? library().destroy(member->comm) : library().abort(member->comm);
}

}  // namespace ferry::cuda::nccl
