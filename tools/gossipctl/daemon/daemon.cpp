#include "daemon.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "commands.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sleep.hpp"
#include "transport/io/acceptor.hpp"
#include "transport/io/io_awaitables.hpp"

namespace gossipctl {
namespace {

scoll::transport::udp_options udp_of(const config& c, std::size_t rail) {
  scoll::transport::udp_options options;
  options.dscp = c.dscp;
  if (rail < c.devices.size()) options.device = c.devices[rail];
  return options;
}

void add(scoll::transport::datagram_statistics& to, const scoll::transport::datagram_statistics& more) {
  to.sent += more.sent;
  to.sent_bytes += more.sent_bytes;
  to.busy += more.busy;
  to.send_errors += more.send_errors;
  if (more.last_send_error != 0) to.last_send_error = more.last_send_error;
  to.received += more.received;
  to.received_bytes += more.received_bytes;
  to.truncated += more.truncated;
  to.dropped += more.dropped;
  to.receive_errors += more.receive_errors;
}

scoll::gossip::options options_of(const config& c, std::uint64_t incarnation,
                                  scoll::gossip::message_seal* seal, scoll::gossip::log_sink& log) {
  scoll::gossip::options options;
  options.incarnation = incarnation;
  options.seed = c.seed;
  options.rtt = c.rtt;
  options.expected_loss = c.expected_loss;
  options.false_verdicts_per_year = c.false_verdicts_per_year;
  options.seal = seal;
  options.log = &log;
  return options;
}

}  // namespace

daemon::daemon(scoll::transport::reactor& loop, const config& c, participant_index self,
               std::uint64_t incarnation, scoll::transport::key_ring keys, const daemon_options& chosen,
               std::shared_ptr<spdlog::logger> log)
    : reactor_(loop),
      config_(c),
      place_(c, self),
      log_(std::move(log)),
      clocks_(log_),
      started_(loop.now()),
      scope_(loop) {
  if (!keys.empty()) seal_.emplace(std::move(keys), c.shared->size());
  const auto options = options_of(c, incarnation, seal_ ? &*seal_ : nullptr, clocks_);
  make_ports(self, chosen);
  std::vector<scoll::transport::datagram_port*> by_rail;
  for (lossy_port& port : ports_) by_rail.push_back(&port);
  participant_.emplace(loop, std::move(by_rail), c.shared, c.shared->id(self), options);
}

void daemon::make_ports(participant_index self, const daemon_options& chosen) {
  const auto addresses = config_.shared->addresses(self);
  const scoll::kit::gossip_rdma rdma = chosen.rdma.for_addresses(addresses);
  for (std::size_t rail = 0; rail < addresses.size(); ++rail) {
    own_.emplace_back(reactor_, addresses[rail], udp_of(config_, rail), rdma);
    ports_.emplace_back(own_.back().port(), chosen.inject_loss, chosen.inject_seed + rail);
  }
}

bool daemon::ports_open() const noexcept {
  return std::any_of(own_.begin(), own_.end(), [](const auto& own) { return own.port().open(); });
}

/// A device that is not there is better said before anything has begun.
scoll::status daemon::prepare_ports() noexcept {
  for (scoll::kit::gossip_port& own : own_) {
    if (scoll::status s = own.prepare(); !s) return s;
  }
  return {};
}

scoll::task<scoll::status> daemon::run(int signals) {
  const scoll::status prepared = prepare_ports();
  if (!prepared) co_return prepared;
  auto listener = scoll::transport::open_control_socket(place_.control());
  if (!listener) co_return listener.error();
  scope_.spawn(take_part());
  scope_.spawn(watch_signals(signals));
  scope_.spawn(watch_gaps());
  scope_.spawn(accept_commands(listener->get()));
  co_await stop_wanted_.wait();
  ::unlink(place_.control().c_str());
  scope_.request_stop();
  co_await scope_.join();
  while (ports_open()) co_await scoll::sleep_for(std::chrono::milliseconds(1));
  co_return ended_;
}

scoll::task<void> daemon::take_part() {
  ended_ = co_await scoll::gossip::run(*participant_, scope_.token());
  stop_wanted_.set();
}

scoll::task<void> daemon::watch_signals(int signals) {
  while (!scope_.stop_requested()) {
    const auto arrived = co_await scoll::transport::async_poll(reactor_, signals, POLLIN, scope_.token());
    if (!arrived) co_return;
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) != sizeof info) continue;
    if (info.ssi_signo != SIGHUP) {
      log_->info("stopping: signal {}", info.ssi_signo);
      ask_to_stop();
    } else if (auto done = reload_keys(); done) {
      log_->info("{}", *done);
    } else {
      log_->error("the keys stay as they are: {}", describe(done.error()));
    }
  }
}

/// A process that gets no processor time takes others for silent. The longest gap helps to judge its
/// verdicts.
scoll::task<void> daemon::watch_gaps() {
  const scoll::nanoseconds period = config_.shared->interval() / 2;
  for (auto at = reactor_.now() + period;; at = reactor_.now() + period) {
    const auto slept = co_await scoll::sleep_until(at, scope_.token());
    if (!slept) co_return;
    longest_gap_ = std::max(longest_gap_, reactor_.now() - at);
  }
}

scoll::task<void> daemon::accept_commands(int listener) {
  constexpr std::size_t clients_at_once = 64;
  scoll::transport::acceptor incoming(reactor_, listener);
  while (!scope_.stop_requested()) {
    auto client = co_await incoming.next(scope_.token());
    if (client && scope_.running() < clients_at_once) {
      scope_.spawn(attend(std::move(*client)));
    } else if (!client && !scope_.stop_requested()) {
      log_->warn("control socket: {}", describe(client.error()));
      (co_await scoll::sleep_for(std::chrono::milliseconds(100), scope_.token())).ignore();
    }
  }
  co_await incoming.close();
}

scoll::task<void> daemon::attend(scoll::transport::unique_fd client) {
  scoll::transport::control_connection connection(reactor_, std::move(client));
  co_await serve(*this, connection, scope_.token());
  if (stop_wanted_.is_set()) parting_.push_back(connection.release());
}

daemon_facts daemon::facts() const {
  daemon_facts f;
  f.pid = ::getpid();
  f.uptime_s = std::chrono::duration<double>(reactor_.now() - started_).count();
  f.longest_gap_ms = std::chrono::duration<double, std::milli>(longest_gap_).count();
  for (const lossy_port& port : ports_) f.injected_losses += port.lost();
  f.sealed = seal_.has_value();
  if (seal_) {
    for (const auto& key : seal_->keys().keys()) f.key_ids.push_back(key.id);
    f.unknown_key = seal_->unknown_key();
  }
  for (const auto& own : own_) {
    f.rails.push_back(own.port().statistics());
    add(f.port, f.rails.back());
  }
  return f;
}

scoll::result<std::string> daemon::reload_keys() {
  if (!seal_) return scoll::error(scoll::errc::invalid_argument, "the configuration names no key_file");
  auto read = scoll::transport::key_ring::read(config_.key_file);
  if (!read) return read.error();
  seal_->set_keys(std::move(*read));
  return fmt::format("{} keys; {:08x} seals", seal_->keys().keys().size(), seal_->keys().sealing().id);
}

}  // namespace gossipctl
