#include "transport/sim/sim_network.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/sim/sim_link.hpp"
#include "transport/sim/sim_registrar.hpp"
#include "transport/sim/wire_time.hpp"

namespace scoll::testing {
namespace {

constexpr std::size_t smallest_chunk_bytes = 16;
constexpr std::size_t largest_chunk_bytes = 65536;
constexpr std::size_t pool_limit = 16384;
constexpr std::size_t chunks_per_host = 4;  // in a large world
// How long a connection is retried.
constexpr nanoseconds connect_limit = std::chrono::seconds(3);

}  // namespace

sim_network::sim_network(sim_world& world, std::size_t chunk_bytes, std::uint32_t hosts)
    : world_(world),
      chunk_bytes_(std::clamp(chunk_bytes, smallest_chunk_bytes, largest_chunk_bytes)),
      chunks_(chunk_bytes_, std::max<std::size_t>(pool_limit, chunks_per_host * hosts)),
      frames_(transport::max_frame_bytes, pool_limit),
      paths_(hosts),
      listeners_(hosts),
      mute_(hosts),
      frozen_(hosts),
      sending_until_(hosts),
      taking_until_(hosts) {}

sim_network::~sim_network() {
  SCOLL_ASSERT(links_.empty(), "a simulated network died before its rails");
  drop_repetitions();
}

sim_path& sim_network::path(std::uint32_t from, std::uint32_t to) {
  auto& row = paths_[from];
  row.resize(hosts());
  if (!row[to]) row[to] = std::make_unique<sim_path>(common_);
  return *row[to];
}

const sim_path& sim_network::way(std::uint32_t from, std::uint32_t to) const noexcept {
  const auto& row = paths_[from];
  return row.empty() || !row[to] ? common_ : *row[to];
}

/// The host of an address; `hosts()` if there is none.
std::uint32_t sim_network::host_of(const std::string& address) const {
  std::uint32_t host = hosts();
  const char* const end = address.data() + address.size();
  if (address.starts_with(address_prefix)) std::from_chars(address.data() + address_prefix.size(), end, host);
  return host < hosts() && address_of(host) == address ? host : hosts();
}

sim_link* sim_network::any_link_of(const sim_rail& rail) noexcept {
  sim_link* l = links_.first();
  while (l != nullptr && !l->of(rail)) l = links_.next(*l);
  return l;
}

void sim_network::cut(std::uint32_t a, std::uint32_t b) {
  for (sim_link* l = links_.first(); l != nullptr; l = links_.next(*l)) {
    if (l->between(a, b) && l->connected()) l->break_both({errc::connection_lost, "the connection was cut"});
  }
}

void sim_network::half_open(std::uint32_t a, std::uint32_t b) {
  for (sim_link* l = links_.first(); l != nullptr; l = links_.next(*l)) {
    if (l->between(a, b) && l->host() == a && l->connected())
      l->half_open({errc::connection_lost, "the connection was reset at this end"});
  }
}

void sim_network::lose_all(std::uint32_t a, std::uint32_t b) {
  for (sim_link* l = links_.first(); l != nullptr; l = links_.next(*l)) {
    if (l->between(a, b) && l->connected()) l->lose_all();
  }
}

void sim_network::thaw(std::uint32_t host) {
  frozen_[host] = false;
  for (sim_link* l = links_.first(); l != nullptr; l = links_.next(*l)) {
    if (l->host() == host) l->wake();
  }
}

void sim_network::heal() noexcept {
  common_ = {.model = common_.model};
  for (const auto& row : paths_) {
    for (const auto& p : row) {
      if (p) *p = {.model = p->model};
    }
  }
}

/// A connection attempt under way. Its timer is the world's, or the host's own once that has crashed.
class sim_rail::connector final : public list_hook<>, public timer_node, public sim_waiter {
 public:
  connector(sim_rail& owner, const std::string& to, transport::connect_events& waiter) noexcept
      : timer_node(&fire),
        sim_waiter(&run),
        rail_(owner),
        open_(owner.open_.pass()),
        to_(owner.network_.host_of(to)),
        waiter_(&waiter) {
    started_ = rail_.network_.world_.now();
    if (rail_.crashed_) {
      strand();
      return;
    }
    const nanoseconds latency = known() ? rail_.network_.way(from(), to_).model.latency : nanoseconds(0);
    rail_.network_.world_.arm(*this, started_ + 2 * latency);
  }
  ~connector() {
    if (armed() && stranded_) rail_.home_.disarm(*this);
    if (armed() && !stranded_) rail_.network_.world_.disarm(*this);
  }
  bool of(const transport::connect_events& waiter) const noexcept { return waiter_ == &waiter; }
  /// The host it goes to; null if that does not listen.
  sim_rail* target() const noexcept { return known() ? rail_.network_.listeners_[to_] : nullptr; }

  /// The host has crashed: the attempt fails, by the host's own clock.
  void strand() noexcept {
    if (armed()) rail_.network_.world_.disarm(*this);
    list_hook<sim_waiter>::unlink();
    stranded_ = true;
    rail_.home_.arm(*this, rail_.home_.now() + std::chrono::milliseconds(1));
  }

 private:
  static void fire(timer_node& node) noexcept {
    auto& self = static_cast<connector&>(node);
    if (self.stranded_) return self.fail({errc::unreachable, "this host has crashed"});
    self.decide();
  }

  static void run(sim_waiter& waiter) noexcept { static_cast<connector&>(waiter).decide(); }

  std::uint32_t from() const noexcept { return rail_.host_; }
  bool known() const noexcept { return to_ < rail_.network_.hosts(); }

  void decide() noexcept {
    sim_network& network = rail_.network_;
    const nanoseconds now = network.world_.now();
    if (rail_.home_.available_at() > now) return rail_.home_.when_available(*this);
    sim_rail* const target = this->target();
    if (target == nullptr && known() && network.mute_[to_]) return wait_until(nanoseconds::max());
    if (target == nullptr) return fail_at_home({errc::unreachable, "nobody listens there"});
    const sim_path& there = network.way(from(), to_);
    const nanoseconds open_at =
        std::max({there.blocked_until, network.way(to_, from()).blocked_until, target->home_.available_at()});
    if (open_at > now) return wait_until(open_at);
    if (there.refused_until > now) return fail_at_home({errc::unreachable, "the connection was refused"});
    succeed(*target);
  }

  /// Tries again at `at`, or at the end of its patience.
  void wait_until(nanoseconds at) noexcept {
    const nanoseconds patience = started_ + connect_limit;
    if (rail_.network_.world_.now() >= patience)
      return fail_at_home({errc::unreachable, "the connection timed out"});
    rail_.network_.world_.arm(*this, at < patience ? at + retransmission : patience);
  }

  void succeed(sim_rail& target) noexcept {
    sim_rail& source = rail_;
    sim_world& world = source.network_.world_;
    transport::connect_events& waiter = *waiter_;
    const std::uint32_t to = to_;
    const std::uint32_t initiator = from();
    delete this;
    auto* ours = new sim_link(source, to);
    auto* theirs = new sim_link(target, initiator);
    sim_link::join(*ours, *theirs);
    if (source.network_.repeats_next_connection(initiator, to)) ours->repeat_first_write();
    world.record(sim_trace::connection, initiator, to, 0);
    target.home_.enter([&]() noexcept { target.acceptor_->on_accepted(*theirs); });
    source.home_.enter([&]() noexcept { waiter.on_connected(*ours); });
  }

  void fail_at_home(const error& reason) noexcept {
    rail_.home_.enter([&]() noexcept { fail(reason); });
  }
  void fail(error reason) noexcept {
    transport::connect_events& waiter = *waiter_;
    delete this;
    waiter.on_connect_failed(reason);
  }

  sim_rail& rail_;
  gate_pass open_;
  std::uint32_t to_;
  transport::connect_events* waiter_;
  nanoseconds started_{0};
  bool stranded_ = false;
};

sim_rail::sim_rail(sim_network& network, sim_executor& home) : sim_rail(network, home, home.host()) {}

sim_rail::sim_rail(sim_network& network, sim_executor& home, std::uint32_t host)
    : network_(network), home_(home), host_(host) {
  SCOLL_ASSERT(host < network.hosts(), "the network has no such host");
  if (network.remote_memory_)
    registrar_ = std::make_unique<sim_registrar>(home, open_, *network.remote_memory_);
}

transport::memory_registrar* sim_rail::registrar(std::size_t number) noexcept {
  return number == 0 ? registrar_.get() : nullptr;
}

sim_rail::~sim_rail() {
  stop_listening();
  while (!connecting_.empty()) delete &connecting_.pop_front();
  SCOLL_ASSERT(
      open_.empty(),
      "a rail died before its links: await node.shutdown(...), then destroy the node, then the rail");
}

status sim_rail::listen(const std::string& address, transport::accept_events& events) noexcept {
  if (address != listen_address())
    return make_error(errc::invalid_argument, "{} is not the address of {}", address, listen_address());
  if (network_.listeners_[host_] != nullptr) return make_error(errc::already_exists, "{} is taken", address);
  network_.listeners_[host_] = this;
  network_.mute_[host_] = false;
  acceptor_ = &events;
  return {};
}

void sim_rail::stop_listening() noexcept {
  if (acceptor_ != nullptr && network_.listeners_[host_] == this) network_.listeners_[host_] = nullptr;
  acceptor_ = nullptr;
}

status sim_rail::check_address(std::string_view address) const {
  constexpr std::string_view prefix = sim_network::address_prefix;
  const bool prefixed = address.starts_with(prefix) && address.size() > prefix.size();
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (prefixed && std::ranges::all_of(address.substr(prefix.size()), digit)) return {};
  return make_error(errc::invalid_argument, "address '{:.44}': simulated hosts are called host:3", address);
}

void sim_rail::connect(const std::string& address, transport::connect_events& waiter) noexcept {
  connector& begun = *new connector(*this, address, waiter);
  connecting_.push_back(begun);
  network_.crossings_ += crosses(begun);
}

/// True if the host that `begun` goes to is connecting to this one.
bool sim_rail::crosses(const connector& begun) const noexcept {
  sim_rail* const other = begun.target();
  if (other == nullptr || other == this) return false;
  connector* c = other->connecting_.first();
  while (c != nullptr && c->target() != this) c = other->connecting_.next(*c);
  return c != nullptr;
}

void sim_rail::cancel_connect(transport::connect_events& waiter) noexcept {
  for (connector* c = connecting_.first(); c != nullptr; c = connecting_.next(*c)) {
    if (c->of(waiter)) {
      delete c;
      return;
    }
  }
}

void sim_rail::crash(sim_crash how) {
  stop_listening();
  crashed_ = true;
  network_.mute_[host_] = how == sim_crash::silent;
  for (sim_link* l = network_.links_.first(); l != nullptr; l = network_.links_.next(*l)) {
    if (l->of(*this)) l->bury(how);
  }
  for (connector* c = connecting_.first(); c != nullptr; c = connecting_.next(*c)) c->strand();
}

void sim_rail::break_all() {
  SCOLL_ASSERT(crashed_, "only a crashed life is broken off");
  while (sim_link* const l = network_.any_link_of(*this)) {
    home_.enter([l]() noexcept { l->break_buried(); });
  }
}

}  // namespace scoll::testing
