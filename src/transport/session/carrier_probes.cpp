#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "scoll/coro/mutants.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/carrier.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/frame_batch.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

// The probes of a connection, and the answers to those of the peer.
namespace scoll::transport {

void carrier::send_probe() noexcept {
  probe_due_ = true;
  owner().kick();
}

/// One answer leaves in this turn, however many probes have come.
void carrier::on_probe(const frame_view& frame) noexcept {
  const auto asked = wire::decode_from<probe>(frame.payload.bytes);
  if (!asked) return violated(asked.error());
  if (SCOLL_MUTANT(probe_unanswered, "a node that lives does not answer probes")) return;
  answer_ = *asked;
  answer_due_ = true;
  owner().kick();
}

void carrier::on_probe_reply(const frame_view& frame) noexcept {
  const auto answer = wire::decode_from<probe>(frame.payload.bytes);
  if (!answer) return violated(answer.error());
  const auto took = prober_.answered(*answer, ex().now());
  if (!took) return;
  lane_.on_answer();
  owner().on_contact(*this, *took);
  owner().on_pulse(answer->pulse);
  owner().compare_waiting(answer->owing, prober_.state_at(answer->serial));
}

void carrier::add_probe(frame_batch& batch, control_frame& room, frame_type type,
                        const probe& what) noexcept {
  frame_header header;
  header.type = type;
  lane_.owes_acknowledgement() && lane_.speaks_by(*this) ? lane_.stamp(header) : lane_.stamp_anew(header);
  std::array<std::byte, sizeof(probe)> payload;
  const auto size = wire::encode_to(payload, what);
  SCOLL_ASSERT(size.has_value(), "a probe has a fixed size");
  batch.push_back(room.encode(header, std::span(payload).first(*size)));
}

void carrier::add_probes(frame_batch& batch, std::span<control_frame, 2> room) noexcept {
  const auto owing = static_cast<std::uint32_t>(owner().owing() + owner().held_messages());
  const std::uint32_t pulse = at().pulse();
  if (std::exchange(answer_due_, false)) {
    answer_.owing = owing;
    answer_.pulse = pulse;
    add_probe(batch, room[0], frame_type::probe_reply, answer_);
  }
  if (!std::exchange(probe_due_, false)) return;
  ++at().statistics_.probes_sent;
  add_probe(batch, room[1], frame_type::probe, prober_.next(ex().now(), owing, pulse));
  prober_.note_state(owner().settled());
}

}  // namespace scoll::transport
