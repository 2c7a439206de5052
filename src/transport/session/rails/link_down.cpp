#include "transport/session/rails/link_down.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/frame_batch.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/rails/path_table.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

// A connection that is cut because it is silent is cut at one end only: what its end says to the other one is
// lost, as all else was. So its end is told over another connection of the session, and repeated on each that
// comes up until the peer has answered. The two frames also say what has arrived.
namespace scoll::transport {
namespace {

/// The memory of one frame.
struct down_room {
  std::array<std::byte, frame_header_bytes> head;
  std::array<std::byte, sizeof(link_down)> payload;
};

}  // namespace

void session::tell_link_over(const carrier& c, const error& reason) noexcept {
  ++(paths_->peer_told ? endpoint_.statistics_.links_ended_as_told : endpoint_.statistics_.links_cut);
  if (paths_->peer_told) return;
  if (SCOLL_MUTANT(rails_half_untold, "a connection is cut, and the peer is not told")) return;
  link_down what;
  what.lane = static_cast<std::uint8_t>(c.lane());
  what.made_by_speaker = static_cast<std::uint8_t>(c.made_here());
  what.from_rail = c.path().own;
  what.to_rail = c.path().theirs;
  what.reason = static_cast<std::uint16_t>(reason.code());
  what.attempt = c.attempt();
  if (paths_->told.size() == path_table::most_told) paths_->told.erase(paths_->told.begin());
  paths_->told.push_back(what);
  lane* const control = lanes_[index(lane_id::control)].get();
  if (control != nullptr && control->up()) control->active().tell_downs();
}

void carrier::tell_downs() noexcept {
  downs_due_ = true;
  owner().kick();
}

void carrier::write_downs() noexcept {
  downs_due_ = false;
  path_table& paths = *owner().paths_;
  frame_batch batch;
  std::array<down_room, 2 * path_table::most_told> rooms;
  const auto add = [&](frame_type type, link_down what) {
    if (batch.size() == rooms.size()) return;
    down_room& room = rooms[batch.size()];
    const auto& l = owner().lanes_[what.lane];
    what.received = l == nullptr ? 0 : l->received();
    what.beyond = l == nullptr ? arrival_window::bits{} : l->beyond();
    frame_header header;
    header.type = type;
    lane_.stamp_anew(header);
    const auto size = wire::encode_to(room.payload, what);
    SCOLL_ASSERT(size.has_value(), "a link_down has a fixed size");
    batch.push_back(encode_control(room.head, header, std::span(room.payload).first(*size)));
  };
  for (const link_down& each : std::exchange(paths.answers, {})) add(frame_type::link_down_reply, each);
  for (const link_down& each : paths.told) add(frame_type::link_down, each);
  if (batch.size() == 0) return write_batch();
  at().statistics_.link_downs_sent += paths.told.size();
  at().statistics_.frames_sent += batch.size();
  ++at().statistics_.writes;
  link_->write(batch.frames());
}

/// The other end of the connection is gone, so nothing of it may be delivered here any more before the answer
/// leaves. An attempt that has been replaced is gone already.
void session::on_link_down(carrier& by, const frame_view& frame) noexcept {
  const auto said = wire::decode_from<link_down>(frame.payload.bytes);
  if (!said) return by.violated(said.error());
  if (said->lane >= lane_count || said->from_rail >= max_rails || said->to_rail >= max_rails)
    return by.violated({errc::malformed, "a link_down of no connection"});
  if (!apply_received(by, *said)) return;
  ++endpoint_.statistics_.link_downs_received;
  path_table& known = need_paths();
  lane* const l = lanes_[said->lane].get();
  carrier* const c = l == nullptr ? nullptr : l->carrier_of(*said);
  if (c != nullptr && c != &by) {
    known.peer_told = true;
    const bool retired = said->reason == static_cast<std::uint16_t>(errc::busy) && !l->is_active(*c);
    if (retired) {
      l->retire(*c);
    } else {
      c->sever({errc::connection_lost, "the peer has given this connection up"});
    }
    known.peer_told = false;
  }
  if (!by.up()) return;
  if (l != nullptr && l->up() && !SCOLL_MUTANT(rails_grant_lost)) l->acknowledge_now();
  if (known.answers.size() == path_table::most_told) known.answers.erase(known.answers.begin());
  known.answers.push_back(*said);
  by.tell_downs();
}

void session::on_link_down_reply(carrier& by, const frame_view& frame) noexcept {
  const auto said = wire::decode_from<link_down>(frame.payload.bytes);
  if (!said) return by.violated(said.error());
  if (said->lane >= lane_count) return by.violated({errc::malformed, "a link_down of no connection"});
  if (paths_ == nullptr) return;
  const auto told =
      std::ranges::find_if(paths_->told, [&](const link_down& each) { return same_link(each, *said); });
  if (told == paths_->told.end()) return;
  paths_->told.erase(told);
  if (!apply_received(by, *said)) return;
  if (const auto& l = lanes_[said->lane]; l != nullptr) l->free_undecided();
}

bool session::apply_received(carrier& by, const link_down& said) noexcept {
  const auto& l = lanes_[said.lane];
  if (l == nullptr ? said.received == 0 : l->acknowledged(said.received, said.beyond)) return true;
  by.violated({errc::malformed, "the peer acknowledges what was never sent"});
  return false;
}

}  // namespace scoll::transport
