#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/time.hpp"
#include "transport/verbs/datagrams/datagram_name.hpp"
#include "transport/verbs/datagrams/datagram_wire.hpp"

namespace scoll::transport::verbs {

struct handle_use;

/// Tags of the lists of names.
struct by_use {};
struct wanting_handle {};

/// A name that has been sent to, and where it leads.
///
/// ```text
///   unknown ──answer──► known ──it speaks in another epoch──► in doubt ──answer──► known
/// ```
/// Nothing is sent to a name that is unknown or in doubt. A known name that has been silent for some sends is asked
/// about, and meanwhile the port goes on sending to it.
struct known_name : list_hook<by_use>, list_hook<wanting_handle> {
  datagram_name name;
  std::optional<whereabouts> where;  // as the latest answer says
  bool in_doubt = false;
  std::uint64_t earlier_epoch = 0;  // the one before that of `where`
  std::uint32_t silent_sends = 0;   // since it has last been heard
  std::optional<time_point> asked;  // when it was last asked about
  std::uint32_t unanswered = 0;     // questions, one after the other
  std::uint64_t nonce = 0;          // of the question that is open; 0: none is

  // What the port keeps here:
  handle_use* handle = nullptr;
  bool wants_handle = false;  // one is wanted, or being made

  bool leads_somewhere() const noexcept { return where.has_value() && !in_doubt; }
};

/// The names that a port has sent to, as many as it may know; the one that was used longest ago makes room for a
/// new one. It asks nobody and sends nothing: it says what to do. It allocates nothing more once it is full.
class datagram_names {
 public:
  static constexpr std::uint32_t silent_sends_limit = 3;
  static constexpr nanoseconds least_pause = std::chrono::milliseconds(200);  // between questions

  datagram_names(std::size_t most, std::uint64_t seed) : most_(most), random_(seed) { all_.reserve(most); }

  known_name* find(const datagram_name& name) noexcept;
  /// The name that has to go before another one can come; null if there is room.
  known_name* in_the_way() noexcept;
  void remove(known_name& name) noexcept;
  /// A name that is not there yet, if there is room.
  known_name& add(const datagram_name& name);
  /// It is being sent to, so it is the last one to go.
  void touch(known_name& name) noexcept;
  template <class Action>
  void for_each(const Action& action) {
    for (known_name* n = by_use_.first(); n != nullptr; n = by_use_.next(*n)) action(*n);
  }
  std::size_t size() const noexcept { return all_.size(); }

  /// True if a question about it is due.
  static bool is_to_be_asked(const known_name& name, time_point now) noexcept;
  /// Returns the nonce of a question that is asked now.
  std::uint64_t ask(known_name& name, time_point now) noexcept;

  enum class answer : std::uint8_t {
    ignored,    ///< nobody asked for it
    confirmed,  ///< it leads where it was thought to lead
    moved,      ///< it leads to another queue pair, or was unknown
  };
  /// An answer has come from the address of a name.
  static answer answered(known_name& name, std::uint64_t nonce, const whereabouts& where) noexcept;

  enum class origin : std::uint8_t {
    right,      ///< of the name that it claims
    restarted,  ///< likewise, in an epoch that is not known yet: the name is now in doubt
    late,       ///< sent in an earlier epoch
    forged,     ///< from another port or queue pair than that name's
    unproven,   ///< nothing is known of the name, and its own address is not the sender's
  };
  /// Judges a datagram that claims a name and an epoch, and has come from a queue pair of a port.
  origin heard(const datagram_name& claimed, std::uint64_t epoch, const gid& source,
               std::uint32_t queue_pair) noexcept;
  static void sent(known_name& name) noexcept { ++name.silent_sends; }
  /// It is not known any more where it leads.
  static void lose(known_name& name) noexcept {
    name.where.reset();
    name.in_doubt = false;
    name.nonce = 0;
    name.asked.reset();
  }

 private:
  using table = std::unordered_map<datagram_name, known_name>;

  std::size_t most_;
  random_generator random_;
  table all_;
  table::node_type spare_;                     // so that a name that comes for one that goes needs no memory
  intrusive_list<known_name, by_use> by_use_;  // used longest ago first
};

}  // namespace scoll::transport::verbs
