#include <algorithm>
#include <vector>

#include "scoll/coro/timer.hpp"
#include "transport/sim/batch_bytes.hpp"
#include "transport/sim/sim_link.hpp"
#include "transport/sim/sim_network.hpp"

namespace scoll::testing {

/// The late copy of a connection attempt, on its way to the acceptor.
class sim_network::repetition final : public list_hook<>, public timer_node {
 public:
  repetition(sim_network& network, std::uint32_t from, std::uint32_t to, std::vector<std::byte> bytes)
      : timer_node(&fire), network_(network), from_(from), to_(to), bytes_(std::move(bytes)) {
    const sim_path& way = network_.way(from_, to_);
    network_.world_.arm(*this, network_.world_.now() + way.model.latency + way.repeat_after);
  }
  ~repetition() {
    if (armed()) network_.world_.disarm(*this);
  }

 private:
  static void fire(timer_node& node) noexcept { static_cast<repetition&>(node).arrive(); }

  /// It is lost where a connection could not be made at once, unless the host is merely busy.
  void arrive() noexcept {
    const nanoseconds now = network_.world_.now();
    const sim_path& way = network_.way(from_, to_);
    sim_rail* const target = network_.listeners_[to_];
    if (target != nullptr && target->home_.available_at() > now)
      return network_.world_.arm(*this, target->home_.available_at());
    if (target != nullptr && std::max(way.blocked_until, way.refused_until) <= now) present(*target);
    delete this;
  }

  void present(sim_rail& target) noexcept {
    ++network_.repeated_;
    auto* const link = new sim_link(target, from_);
    link->receive_from_nobody(bytes_);
    network_.world_.record(sim_trace::connection, from_, to_, 1);
    target.home_.enter([&]() noexcept { target.acceptor_->on_accepted(*link); });
  }

  sim_network& network_;
  std::uint32_t from_;
  std::uint32_t to_;
  std::vector<std::byte> bytes_;
};

bool sim_network::repeats_next_connection(std::uint32_t from, std::uint32_t to) {
  if (way(from, to).repeat_connects == 0) return false;
  --path(from, to).repeat_connects;
  return true;
}

void sim_network::repeat_later(std::uint32_t from, std::uint32_t to,
                               std::span<const transport::frame_parts> first) {
  std::vector<std::byte> bytes;
  copy_batch(first, bytes);
  repetitions_.push_back(*new repetition(*this, from, to, std::move(bytes)));
}

/// A connection of which the beginning has been forgotten is of no use.
void sim_network::overhear(std::uint32_t pair, std::uint32_t to, bool begins,
                           std::span<const transport::frame_parts> frames) {
  constexpr std::size_t most_recordings = 32;
  constexpr std::size_t most_writes = 8;
  if (begins) {
    if (recordings_.size() == most_recordings) recordings_.pop_front();
    recordings_.push_back({pair, to, {}});
  }
  const auto found = std::ranges::find(recordings_, pair, &recording::pair);
  if (found == recordings_.end()) return;
  if (found->writes.size() < most_writes) copy_batch(frames, found->writes.emplace_back());
}

const sim_network::recording* sim_network::overheard(std::uint32_t to, std::size_t writes) const noexcept {
  const recording* latest = nullptr;
  for (const recording& r : recordings_) {
    if (r.to == to && r.writes.size() >= writes) latest = &r;
  }
  return latest;
}

void sim_network::drop_repetitions() noexcept {
  while (!repetitions_.empty()) delete &repetitions_.pop_front();
}

}  // namespace scoll::testing
