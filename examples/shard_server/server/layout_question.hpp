#pragma once

#include <cstdint>

#include "../services/layout.hpp"
#include "answer_json.hpp"
#include "collectives.hpp"
#include "command.hpp"
#include "kept_group.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"

namespace shard {

/// The way in which a layout is made.
struct layout_shape {
  std::uint64_t slots = 0;
  bool delayed = false;      ///< the servers hear of it with the first question
  bool inline_only = false;  ///< it has to fit a message
  friend bool operator==(const layout_shape&, const layout_shape&) = default;
};

/// Serves the command "layout": makes a group whose entities are the slots, keeps it, and asks it. A layout
/// of another shape takes the place of the one that is kept.
class layout_question {
 public:
  layout_question(scoll::node& self, collectives& all) noexcept : self_(self), all_(all) {}

  scoll::task<json> ask(const command& c, scoll::stop_token stop);

 private:
  /// The part of the answer that describes the group, beside its members' answers.
  struct making {
    bool created = false;
    std::uint64_t sent_bytes = 0;  ///< by this server to all others, while it was made and asked
  };
  scoll::task<answer<layout::reply>> ask_kept(const layout_shape& shape, const command& c,
                                              scoll::stop_token stop, making& how);
  std::uint64_t sent_bytes() const;

  scoll::node& self_;
  collectives& all_;
  kept_group<layout> kept_;
  layout_shape shape_;
};

}  // namespace shard
