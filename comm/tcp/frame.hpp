// Frames: what goes over a connection once both ends know each other. A head, then as many bytes as it says.
//
// Short messages are sent at once (eager), as long as the receiver has room for those that it does not expect yet; each
// that it passes on gives its room back (credit). Other messages wait until their receive is posted. The receiving task
// then sends a grant: unasked if the receive is long, else when asked (want). After the grant, the sender sends the
// message in pieces (data), which are read straight into their place. So a message that a task does not wait for never
// blocks a message that it waits for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/control.hpp"

namespace ferry::tcp {

enum class Kind : std::uint32_t { eager = 1, want, grant, data, credit, text, failure, goodbye, renewed, lost };

struct FrameHead {
  static constexpr std::uint32_t kMark = 0x59524546;  // "FERY"

  std::uint32_t mark = kMark;
  Kind kind{};
  std::uint32_t generation = 0;  ///< how often the job was restarted
  std::uint32_t channel = 0;
  std::uint64_t number = 0;  ///< of the message on its channel, or of the word between these tasks
  std::uint64_t bytes = 0;   ///< that follow; of want, grant, credit: that they are about
};

/// Messages up to this size are sent at once.
inline constexpr std::size_t kEager = 64 << 10;
/// Room for messages that a task does not expect yet, from each other task. Each counts with kCost besides its size.
inline constexpr std::uint64_t kRoom = 4 << 20, kCost = 128;
/// The most bytes in a frame of `data`.
inline constexpr std::size_t kPiece = 128 << 10;

/// Words are frames whose kind is kWordKinds more than the word's number.
inline constexpr std::uint32_t kWordKinds = 5;
static_assert(static_cast<std::uint32_t>(Word::text) + kWordKinds == static_cast<std::uint32_t>(Kind::text));
static_assert(static_cast<std::uint32_t>(Word::lost) + kWordKinds == static_cast<std::uint32_t>(Kind::lost));
[[nodiscard]] inline Kind kind_of(Word word) {
  return static_cast<Kind>(static_cast<std::uint32_t>(word) + kWordKinds);
}
[[nodiscard]] inline Word word_of(Kind kind) {
  return static_cast<Word>(static_cast<std::uint32_t>(kind) - kWordKinds);
}

/// Whether the bytes follow the head.
[[nodiscard]] inline bool has_body(Kind kind) {
  return kind == Kind::eager || kind == Kind::data || kind == Kind::text || kind == Kind::failure ||
         kind == Kind::renewed || kind == Kind::lost;
}

}  // namespace ferry::tcp
