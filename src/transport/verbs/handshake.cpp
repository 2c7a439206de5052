#include "transport/verbs/handshake.hpp"

#include <array>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/greeting_room.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::uint32_t least_mtu = 256;
constexpr std::uint32_t packet_limit = 1U << 24U;

bool possible(const introduction& said) noexcept {
  return said.slots >= least_slots && said.slots <= most_slots && said.mtu >= least_mtu &&
         said.first_packet < packet_limit && said.queue_pair < packet_limit &&
         said.read_pair < packet_limit && said.first_read_packet < packet_limit &&
         (said.read_pair == 0 || said.read_depth != 0);
}

}  // namespace

handshake::handshake(device& d, rail& under, link_buffers& buffers, handshake_events& events) noexcept
    : device_(d), under_(under), buffers_(buffers), events_(events), open_(d.pass()) {
  device_.home().arm(timer_, device_.home().now() + device_.options().connect_limit);
}

handshake::~handshake() {
  if (timer_.armed()) device_.home().disarm(timer_);
  if (connecting_below_) under_.cancel_connect(*this);
  if (reads_ != nullptr) reads_->release();
  if (pair_ != nullptr) pair_->release();
  if (below_ == nullptr) return;
  below_->set_owner(nullptr);
  below_->close();
}

void handshake::connect(const std::string& address, connect_events& waiter) noexcept {
  waiter_ = &waiter;
  address_ = address;
  device_.await(*this);
}

void handshake::accept(link& below) noexcept {
  take_connection(below);
  device_.await(*this);
}

void handshake::take_connection(link& below) noexcept {
  below_ = &below;
  below.set_owner(this);
}

void handshake::on_device(const status& open) noexcept {
  if (!open) return fail(open.error());
  device_open_ = true;
  if (!accepts()) {
    connecting_below_ = true;
    return under_.connect(address_, *this);
  }
  if (introduced_) make_pairs();
}

void handshake::on_connected(link& below) noexcept {
  connecting_below_ = false;
  take_connection(below);
  link_id_ = device_.random_number();
  make_pairs();
}

void handshake::on_connect_failed(const error& reason) noexcept {
  connecting_below_ = false;
  fail(reason);
}

/// The control queue keeps their order: what becomes of the one for READs is known when the other one is made,
/// and when that is connected.
void handshake::make_pairs() noexcept {
  if (const auto s = device_.admit(); !s) return fail(s.error());
  const bool wanted = !accepts() || peer_.read_pair != 0;
  const bool possible = device_.memory().usable() && device_.reads_in() != 0 && device_.reads_out() != 0;
  if (wanted && possible) reads_ = new read_pair(device_, device_.pass());
  pair_ = new queue_pair(device_, *this, device_.pass());
}

void handshake::on_made(const status& outcome) noexcept {
  if (!outcome) return fail(outcome.error());
  if (reads_ != nullptr && !reads_->is_made()) std::exchange(reads_, nullptr)->release();
  accepts() ? connect_pairs() : introduce();
}

void handshake::connect_pairs() noexcept {
  if (reads_ != nullptr && peer_.read_pair == 0) std::exchange(reads_, nullptr)->release();
  if (reads_ != nullptr) reads_->connect(peer_);
  pair_->connect(peer_);
}

void handshake::introduce() noexcept {
  greeting_room room;
  frame_header header;
  header.type = frame_type::introduce;
  introduction said = pair_->introduce(link_id_);
  if (reads_ != nullptr) reads_->introduce(said);
  const frame_parts frame = room.encode(header, said);
  below_->write({&frame, 1});
}

void handshake::on_frame(frame_view& frame) noexcept {
  const auto payload = frame.payload.bytes;
  if (frame.header.type == frame_type::refuse && !accepts()) {
    const auto why = wire::decode_from<refusal>(payload);
    if (!why || why->code == 0) return fail({errc::malformed, "verbs: a refusal without reason"});
    return fail(printable(static_cast<errc>(why->code), why->text));
  }
  if (frame.header.type != frame_type::introduce || introduced_)
    return fail({errc::malformed, "this is a verbs rail: a connection begins with introduce, once"});
  if (const auto s = learn(payload); !s) return fail(s.error());
  introduced_ = true;
  if (!accepts()) return connect_pairs();
  if (device_open_) make_pairs();
}

status handshake::learn(std::span<const std::byte> payload) noexcept {
  const auto version = spoken_version(payload);
  if (version != introduction_version) {
    return make_error(errc::version_mismatch, "{} introduces verbs links by version {}, this node by {}",
                      below_->peer_name(), version, introduction_version);
  }
  auto said = wire::decode_from<introduction>(payload);
  if (!said) return said.error();
  if (!possible(*said)) return error(errc::malformed, "verbs: the peer introduces an impossible queue pair");
  if (accepts()) link_id_ = said->link;
  if (said->link != link_id_) return error(errc::malformed, "verbs: the peer introduces another link");
  peer_ = std::move(*said);
  return {};
}

void handshake::on_connected(const status& outcome) noexcept {
  const bool reads = reads_ == nullptr || reads_->is_connected();
  if (!outcome || !reads) {
    return fail(
        make_error(errc::unreachable, "verbs: no path from {} to {} ({}): {}", device_.introduce().device,
                   peer_.device, to_text(peer_.address),
                   outcome ? "the queue pair for reads cannot be connected" : outcome.error().text()));
  }
  if (accepts()) return introduce();
  pair_->greet();
}

void handshake::on_arrival(const buffer_ref&, std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) return fail({errc::malformed, "verbs: the peer does not greet"});
  handshake_events& events = events_;
  connect_events* const waiter = waiter_;
  queue_pair& pair = *std::exchange(pair_, nullptr);
  auto* const made = new verbs_link(device_, buffers_, {&pair, std::exchange(reads_, nullptr), link_id_},
                                    *std::exchange(below_, nullptr), std::move(open_));
  delete this;
  if (waiter == nullptr) pair.greet();
  events.on_linked(*made, waiter);
}

void handshake::on_closed(const error& reason) noexcept {
  below_ = nullptr;
  fail(reason);
}

void handshake::too_late() noexcept {
  fail({errc::unreachable, device_open_
                               ? "verbs: the link was not set up in time: is the RDMA port reachable?"
                               : "verbs: opening the device took too long"});
}

void handshake::fail(const error& reason) noexcept {
  if (accepts()) say_why(reason);
  handshake_events& events = events_;
  connect_events* const waiter = waiter_;
  const error copy = reason;
  delete this;
  events.on_handshake_failed(copy, waiter);
}

void handshake::say_why(const error& reason) noexcept {
  if (below_ == nullptr || !below_->writable()) return;
  refusal r;
  r.code = static_cast<std::uint16_t>(reason.code());
  r.text = reason.text();
  greeting_room room;
  frame_header header;
  header.type = frame_type::refuse;
  const frame_parts frame = room.encode(header, r);
  below_->write({&frame, 1});
}

}  // namespace scoll::transport::verbs
