#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace scoll {

/// All failures that the library foresees. The numbers are part of the wire format: append new ones, never
/// renumber.
enum class errc : std::uint16_t {
  ok = 0,
  cancelled = 1,            ///< a stop token fired before the operation was complete
  deadline_exceeded = 2,    ///< time ran out
  busy = 3,                 ///< a bounded table is full at the place named; retry later
  too_large = 4,            ///< a request, reply, membership or frame exceeds its limit
  malformed = 5,            ///< bytes that do not decode
  checksum_mismatch = 6,    ///< bytes that were altered on the way
  wrong_cluster = 7,        ///< the peer belongs to another cluster
  version_mismatch = 8,     ///< protocol or service version differs
  unknown_service = 9,      ///< no such service on that node, or it is closed
  unknown_group = 10,       ///< the member does not hold the group
  membership_changed = 11,  ///< the member's view of the membership differs
  not_parent = 12,          ///< a collective request from a node that is not the computed parent
  not_member = 13,          ///< the node is not in the group
  duplicate_target = 14,    ///< a node appears twice in a membership
  connection_lost = 15,     ///< the connection broke and did not come back within its grace
  peer_rebooted = 16,       ///< the peer came back with a new incarnation
  unreachable = 17,         ///< no connection could be made at all
  closed = 18,              ///< the object was closed, or the node is shutting down
  hook_failed = 19,         ///< a user hook threw or refused
  invalid_argument = 20,    ///< a caller's or configuration's value is out of range
  io_error = 21,            ///< the operating system said no; `detail` holds errno
  unsupported = 22,         ///< this kernel, build or peer lacks the feature
  incomplete = 23,          ///< not every member executed and was merged: see the outcome
  not_found = 24,           ///< the thing asked for does not exist
  already_exists = 25,      ///< an id or name is taken
  unknown_tree = 26,        ///< a tree kind or parameter this node does not know
  stale = 27,               ///< an older incarnation, generation or operation
  stale_descriptor = 28,    ///< the memory it named is no longer exposed
  peer_died = 29,           ///< liveness says that the node, in that incarnation, is dead
  view_differs = 30,        ///< the member sees a different set of live members than the root
  unknown_function = 31,    ///< no such function on that node, or the function is closed
  type_mismatch = 32,       ///< the peer's function of that name has other argument or result types
  revoked = 33,             ///< a member has revoked the group
  undecided = 34,           ///< members did not agree in time; they still may
  no_quorum = 35,           ///< too few members could be asked to agree
  excluded = 36,            ///< the members agreed without this one
  record_gone = 37,         ///< the member does not remember any more whether it executed
  id_in_use = 38,           ///< another server with the same node id is running
  not_authentic = 39,       ///< a connection's other side has not proven that it is who it says
  not_authorised = 40,      ///< the caller is known, and may not do this
};

/// The lower-case name of a code, such as "deadline_exceeded"; "unknown_error" for values that this build
/// does not know.
std::string_view to_string(errc code) noexcept;

const std::error_category& error_category() noexcept;
inline std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

/// The namespace in which a failure's number has its meaning.
enum class error_domain : std::uint8_t {
  scoll = 0,   ///< `errc`
  system = 1,  ///< `errc::io_error` with errno in `detail`
  user = 2,    ///< a service's own number in `detail`
};

/// A failure as a value: a code, a domain, a number and a short text. It is trivially copyable and never
/// allocates, so it can be kept per member and travel in an outcome. A text longer than `text_capacity` bytes
/// is cut; it then ends in "...", and the cut never falls within a number or a character.
class error {
 public:
  static constexpr std::size_t text_capacity = 96;
  /// The end of a text that was cut.
  static constexpr std::string_view cut_mark = "...";

  constexpr error() noexcept { set_text({}); }
  constexpr error(errc code, std::string_view text = {}, std::int32_t detail = 0,
                  error_domain domain = error_domain::scoll) noexcept
      : code_(code), domain_(domain), detail_(detail) {
    set_text(text);
  }

  /// A failed system call: `errno_value` is positive, and `text` names the call.
  static constexpr error system(int errno_value, std::string_view text) noexcept {
    return {errc::io_error, text, errno_value, error_domain::system};
  }
  /// A service's own error, with its own number.
  static constexpr error user(std::int32_t number, std::string_view text) noexcept {
    return {errc::hook_failed, text, number, error_domain::user};
  }

  /// Errors travel (docs/wire.md): the text without what was cut.
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(code_, domain_, detail_, text_size_);
    for (std::size_t i = 0; i < text_size_ && i < text_capacity; ++i) archive(text_[i]);
  }
  static constexpr std::size_t wire_min_size = 8;
  friend constexpr bool wire_valid(const error& e) noexcept {
    return e.text_size_ <= text_capacity && e.domain_ <= error_domain::user;
  }

  constexpr errc code() const noexcept { return code_; }
  constexpr error_domain domain() const noexcept { return domain_; }
  constexpr std::int32_t detail() const noexcept { return detail_; }
  constexpr std::string_view text() const noexcept { return {text_, text_size_}; }
  constexpr explicit operator bool() const noexcept { return code_ != errc::ok; }
  std::error_code std_code() const noexcept;

  friend constexpr bool operator==(const error& a, errc b) noexcept { return a.code_ == b; }
  friend constexpr bool operator==(const error& a, const error& b) noexcept {
    return a.code_ == b.code_ && a.domain_ == b.domain_ && a.detail_ == b.detail_ && a.text() == b.text();
  }

 private:
  static constexpr bool in_number(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == 'x' || c == '.' || c == ':';
  }
  /// The number of bytes of a longer text that are kept before the dots.
  static constexpr std::size_t kept_of(std::string_view text) noexcept {
    const std::size_t most = text_capacity - cut_mark.size();
    std::size_t end = most;
    bool number = false;
    while (end > 0 && in_number(text[end]) && in_number(text[end - 1])) {
      --end;
      number = number || (text[end] >= '0' && text[end] <= '9');
    }
    if (!number || end == 0) end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return end;
  }

  constexpr void set_text(std::string_view text) noexcept {
    const bool cut = text.size() > text_capacity;
    const std::size_t kept = cut ? kept_of(text) : text.size();
    for (std::size_t i = 0; i < kept; ++i) text_[i] = text[i];
    for (std::size_t i = 0; cut && i < cut_mark.size(); ++i) text_[kept + i] = cut_mark[i];
    text_size_ = static_cast<std::uint8_t>(cut ? kept + cut_mark.size() : kept);
    if (!std::is_constant_evaluated()) return;
    for (std::size_t i = text_size_; i < text_capacity; ++i) text_[i] = '\0';
  }

  errc code_ = errc::ok;
  error_domain domain_ = error_domain::scoll;
  std::uint8_t text_size_ = 0;
  std::int32_t detail_ = 0;
  char text_[text_capacity];  // only read up to `text_size_`, so that a success need not clear it
};

static_assert(std::is_trivially_copyable_v<error>);

/// The exception that `result<T>::value()` throws.
class failure : public std::system_error {
 public:
  explicit failure(const scoll::error& e);
  const scoll::error& error() const noexcept { return error_; }

 private:
  scoll::error error_;
};

}  // namespace scoll

template <>
struct std::is_error_code_enum<scoll::errc> : std::true_type {};
