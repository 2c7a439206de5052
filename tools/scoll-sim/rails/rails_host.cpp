#include "tools/scoll-sim/rails/rails_host.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/guards/outsiders.hpp"
#include "transport/sim/verbs/fake_verbs.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::sim {
namespace {

using transport::message;
using transport::node_id;

constexpr std::uint32_t reply_capacity = 1024;
// Set in the number of a request that is not answered.
constexpr std::uint64_t kept_mark = std::uint64_t{1} << 63U;

using block = std::array<std::byte, 256>;

/// The payload of a request is this again and again, which follows from its number, so that a damaged one is
/// noticed.
block pattern(std::uint64_t number) noexcept {
  block bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number * 31 + i * 7);
  return bytes;
}

void fill(std::span<std::byte> payload, std::uint64_t number) noexcept {
  const block bytes = pattern(number);
  for (std::size_t at = 0; at < payload.size(); at += bytes.size())
    std::memcpy(payload.data() + at, bytes.data(), std::min(bytes.size(), payload.size() - at));
}

bool is_filled(std::span<const std::byte> payload, std::uint64_t number) noexcept {
  const block bytes = pattern(number);
  for (std::size_t at = 0; at < payload.size(); at += bytes.size()) {
    const std::size_t size = std::min(bytes.size(), payload.size() - at);
    if (std::memcmp(payload.data() + at, bytes.data(), size) != 0) return false;
  }
  return true;
}

}  // namespace

void rails_call::heard(exchange& e, transport::reply_event& event) noexcept {
  auto& self = static_cast<rails_call&>(e);
  ++self.ends;
  self.ended = self.world_.now();
  self.outcome = event.outcome ? error() : event.outcome.error();
  std::uint64_t number = 0;
  if (event.head.size() == sizeof number) std::memcpy(&number, event.head.data(), sizeof number);
  self.intact = number == self.what.number;
}

rails_host::rails_host(testing::sim_world& world, testing::sim_network& network, const particulars& who)
    : home(world, who.host, {.offset = std::chrono::seconds(1 + who.host)}), who_(who) {
  for (std::size_t i = 0; i < who.rails; ++i) {
    const std::uint32_t at = who.claims ? place(0, who.rails, who.hosts) + static_cast<std::uint32_t>(i)
                                        : place(who.host, i, who.hosts);
    one_rail& each = rails_.emplace_back(network, home, at);
    if (!who.devices.empty() && who.devices[i]) {
      each.devices = who.devices[i](home);
      transport::verbs_options scarce = testing::scarce_verbs();
      scarce.windows = who.windows;
      each.by_rdma = std::make_unique<transport::verbs_rail>(home, *each.devices, each.below, scarce);
    }
    set_.add(std::to_string(i), each.top(), {.listen = testing::sim_network::address_of(at)}).value();
  }
  transport::endpoint_options options;
  options.self = who.claims.value_or(who.host) + 1;
  options.cluster = "rails";
  options.incarnation = who.claims ? 2 : 1;  // the younger one
  options.security = who.security;
  if (who.visited) options.handshakes_per_host = outsiders::few_greetings;
  wire = std::make_unique<transport::endpoint>(home, set_, options, *this);
  if (!who.transfers) wire->route(transport::traffic_class::bulk, *this);
  wire->listen("").value();
}

rails_host::~rails_host() = default;

void rails_host::introduce(bool misled) {
  for (std::uint32_t other = 0; other < who_.hosts; ++other) {
    if (other + 1 == wire->options().self) continue;
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < rails_.size(); ++i)
      addresses.push_back(testing::sim_network::address_of(place(other, i, who_.hosts)));
    if (misled) std::ranges::rotate(addresses, addresses.begin() + 1);
    wire->add_peer(other + 1, addresses).value();
  }
}

std::size_t rails_host::open() const noexcept {
  std::size_t sum = 0;
  for (const one_rail& each : rails_) sum += (each.by_rdma ? each.by_rdma->open() : each.below.open());
  return sum;
}

transport::verbs_statistics rails_host::links_by_rdma(std::size_t number) const noexcept {
  const auto& rail = rails_[number].by_rdma;
  return rail == nullptr ? transport::verbs_statistics{} : rail->statistics();
}

void rails_host::begin(rails_call& call, std::size_t payload_bytes) {
  home.enter([&] {
    message& m = wire->acquire_message();
    const std::uint64_t number = call.what.number | (call.what.kept ? kept_mark : 0);
    std::memcpy(m.head_space().data(), &number, sizeof number);
    m.set_head_bytes(sizeof number);
    transport::buffer_ref buffer = wire->acquire_payload();
    SCOLL_ASSERT(buffer, "the buffers of a simulated host are enough for its calls");
    const std::span<std::byte> bytes(buffer.data(), payload_bytes);
    fill(bytes, call.what.number);
    m.share_payload({buffer, bytes}, wire::checksum(bytes));
    const status sent = to(call.what.to).request(call, call.what.klass, m, reply_capacity);
    if (sent) return;
    ++call.ends;
    call.outcome = sent.error();
  });
}

void rails_host::on_request(transport::request_view& request) noexcept {
  std::uint64_t number = 0;
  if (request.head().size() == sizeof number) std::memcpy(&number, request.head().data(), sizeof number);
  const bool keeps = (number & kept_mark) != 0;
  number &= ~kept_mark;
  ++seen[{request.from().peer(), number}];
  if (!is_filled(request.payload().bytes, number))
    return request.refuse({errc::checksum_mismatch, "altered"});
  if (keeps) return request.accept(*kept_.emplace_back(std::make_unique<transport::incoming>()));
  transport::incoming work;
  request.accept(work);
  message& m = wire->acquire_message();
  std::memcpy(m.head_space().data(), &number, sizeof number);
  m.set_head_bytes(sizeof number);
  m.copy_payload({}, wire::checksum({}));
  work.reply(m);
}

void rails_host::on_cancelled(transport::incoming& work, const transport::cancel_reason&) noexcept {
  work.drop();
  std::erase_if(kept_, [&](const auto& each) { return each.get() == &work; });
}

void rails_host::on_session_lost(transport::session& peer, const error& reason) noexcept {
  losses.emplace_back(peer.peer(), describe(reason));
}

}  // namespace scoll::sim
