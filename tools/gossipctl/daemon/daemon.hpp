#pragma once

#include <spdlog/logger.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "clock_log.hpp"
#include "gossip/aead_seal.hpp"
#include "gossip/participant.hpp"
#include "lossy_port.hpp"
#include "report.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/task.hpp"
#include "tools/common/gossip_port.hpp"
#include "tools/gossipctl/cluster/config.hpp"
#include "tools/gossipctl/cluster/place.hpp"
#include "transport/io/control_socket.hpp"
#include "transport/io/reactor.hpp"

namespace gossipctl {

/// The arguments of `run` besides the configuration file.
struct daemon_options {
  double inject_loss = 0;  ///< share of sent messages to drop on purpose
  std::uint64_t inject_seed = 1;
  scoll::kit::gossip_rdma rdma;  ///< without devices if no own address begins with verbs://
};

/// Runs one participant of the gossip as a process: on a port for each of its addresses, with a control socket,
/// a log and signals.
/// Its members are destroyed in reverse order, so that each is destroyed before those it needs.
class daemon {
 public:
  /// `keys` is empty if nothing is sealed. All referenced objects, and the RDMA devices, must outlive the daemon.
  daemon(scoll::transport::reactor& loop, const config& c, participant_index self, std::uint64_t incarnation,
         scoll::transport::key_ring keys, const daemon_options& chosen, std::shared_ptr<spdlog::logger> log);

  /// Runs until SIGTERM or SIGINT arrive on `signals`, a signalfd, or a client asks for a stop on the control
  /// socket (both are success), or until the participant ends by itself, with its error. SIGHUP reads the
  /// keys again.
  scoll::task<scoll::status> run(int signals);

  // For the commands:
  const config& settings() const noexcept { return config_; }
  scoll::gossip::participant& member() noexcept { return *participant_; }
  daemon_facts facts() const;
  scoll::time_point now() const noexcept { return reactor_.now(); }
  /// Reads the key file again. The text says what has changed. An error leaves the keys as they are.
  scoll::result<std::string> reload_keys();
  void ask_to_stop() noexcept { stop_wanted_.set(); }

 private:
  void make_ports(participant_index self, const daemon_options& chosen);
  bool ports_open() const noexcept;
  scoll::status prepare_ports() noexcept;
  scoll::task<void> take_part();
  scoll::task<void> watch_signals(int signals);
  scoll::task<void> watch_gaps();
  scoll::task<void> accept_commands(int listener);
  scoll::task<void> attend(scoll::transport::unique_fd client);

  scoll::transport::reactor& reactor_;
  const config& config_;
  place place_;
  std::shared_ptr<spdlog::logger> log_;
  clock_log clocks_;
  std::deque<scoll::kit::gossip_port> own_;  // by rail
  std::deque<lossy_port> ports_;             // the same ports, losing messages
  std::optional<scoll::gossip::aead_seal> seal_;
  std::optional<scoll::gossip::participant> participant_;
  scoll::time_point started_;
  scoll::nanoseconds longest_gap_{0};
  scoll::status ended_;
  scoll::event stop_wanted_;
  std::vector<scoll::transport::unique_fd> parting_;  // clients that wait until this process ends
  scoll::scope scope_;
};

}  // namespace gossipctl
