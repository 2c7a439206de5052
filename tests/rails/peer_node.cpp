#include "tests/rails/peer_node.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::rail_test {

using namespace transport;

std::optional<rail_place> rail_place::parse(std::string text) {
  rail_place place;
  if (const auto at = text.rfind('%'); at != std::string::npos && text.find(']', at) == std::string::npos) {
    place.device = text.substr(at + 1);
    text.erase(at);
  }
  if (const auto at = text.rfind('/'); at != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data() + at + 1, end, place.prefix);
    if (failed != std::errc() || rest != end || place.prefix > 128) return std::nullopt;
    text.erase(at);
  }
  place.address = std::move(text);
  return place;
}

std::string rail_place::source() const {
  return address.substr(0, address.rfind(':')) + ":0";
}

namespace {

endpoint_options options_of(const node_settings& settings) {
  endpoint_options o;
  o.self = settings.self;
  o.cluster = "rails";
  o.incarnation = 1;
  o.rails_prove = settings.prove;
  o.transfer_segment_bytes = settings.segment_bytes;
  return o;
}

}  // namespace

peer_node::peer_node(reactor& loop, const node_settings& settings, on_lost lost)
    : lost_(std::move(lost)), memory_(region_bytes) {
  region_content(settings.self).next(memory_);
  for (const rail_place& place : settings.rails) {
    tcp_options options;
    options.bind_source = place.source();
    options.device = place.device;
    options.watch_interface = settings.rails.size() > 1;
    rails_.push_back(std::make_unique<tcp_rail>(loop, std::move(options)));
    const std::string name(1, static_cast<char>('a' + set_.size()));
    set_.add(name, *rails_.back(), {.listen = place.address, .prefix = place.prefix}).value();
  }
  endpoint_ = std::make_unique<endpoint>(loop, std::as_const(set_), options_of(settings), *this);
}

status peer_node::start() {
  const status listening = endpoint_->listen("");
  if (!listening) return listening;
  auto exposed = memory_region::expose(*endpoint_, std::span<std::byte>(memory_), memory_access::read_write);
  if (!exposed) return exposed.error();
  region_ = std::move(*exposed);
  return {};
}

void peer_node::on_request(request_view& request) noexcept {
  ask head;
  if (request.head().size() != sizeof head) {
    ++damaged_;
    return request.refuse({errc::malformed, "not a request of these tests"});
  }
  std::memcpy(&head, request.head().data(), sizeof head);
  incoming work;
  request.accept(work);
  if (head.what == ask::kind::describe) {
    const region_descriptor name = region_.descriptor();
    work.reply(compose(*endpoint_, head, std::as_bytes(std::span(&name, 1))));
    return;
  }
  twice_ += !numbers_.add(head.number);
  damaged_ += !is_payload(head.number, request.payload().bytes);
  work.reply(compose(*endpoint_, head, request.payload().bytes));
}

void region_content::next(std::span<std::byte> into) noexcept {
  for (std::size_t at = 0; at < into.size(); at += sizeof word_) {
    word_ = word_ * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(into.data() + at, &word_, sizeof word_);
  }
}

void fill_payload(std::uint64_t number, std::span<std::byte> into) noexcept {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = static_cast<std::byte>(number * 11 + i * 5);
}

bool is_payload(std::uint64_t number, std::span<const std::byte> bytes) noexcept {
  std::array<std::byte, message::inline_payload_bytes> expected;
  if (bytes.size() > expected.size()) return false;
  fill_payload(number, std::span(expected).first(bytes.size()));
  return std::ranges::equal(bytes, std::span(expected).first(bytes.size()));
}

message& compose(endpoint& at, const ask& head, std::span<const std::byte> payload) {
  message& m = at.acquire_message();
  std::memcpy(m.head_space().data(), &head, sizeof head);
  m.set_head_bytes(sizeof head);
  m.copy_payload(payload, wire::checksum(payload));
  return m;
}

status question::send(endpoint& from, node_id to, const ask& head, std::span<const std::byte> payload) {
  session* const peer = from.find(to);
  if (peer == nullptr) return make_error(errc::not_found, "no peer {}", to);
  return peer->request(*this, traffic_class::call, compose(from, head, payload),
                       message::inline_payload_bytes);
}

void question::heard(exchange& self, reply_event& event) noexcept {
  auto& q = static_cast<question&>(self);
  q.outcome = event.outcome;
  if (event.outcome && event.head.size() == sizeof q.reply_head) {
    std::memcpy(&q.reply_head, event.head.data(), sizeof q.reply_head);
    q.reply.assign(event.payload.bytes.begin(), event.payload.bytes.end());
  }
  q.over.set();
}

}  // namespace scoll::rail_test
