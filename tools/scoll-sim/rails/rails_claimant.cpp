#include "tools/scoll-sim/rails/rails_claimant.hpp"

#include <chrono>
#include <string>

#include "scoll/coro/error_format.hpp"

namespace scoll::sim {
namespace {

constexpr std::uint64_t first_vain_call = 1'000'000;
// A call waits for a connection, for a grace; while rails fail, refusals may be lost too.
constexpr nanoseconds longest_refusal = std::chrono::seconds(4);
constexpr std::string_view one_server = "an id belongs to one server";

}  // namespace

rails_claimant::rails_claimant(testing::sim_world& world, testing::sim_network& network, const rails_plan& p,
                               std::shared_ptr<transport::link_security> security)
    : world_(world),
      plan_(p),
      self_(world, network, {p.hosts, p.hosts, p.rails, false, p.claimed, std::move(security)}) {
  self_.home.enter([this] { self_.introduce(false); });
}

/// The others have to know the first server before.
void rails_claimant::call() {
  const bool waits = !calls_.empty() && calls_.back().ends == 0;
  if (waits || world_.now() < first_rails_fault) return;
  const std::uint64_t step = 1 + calls_.size() % (plan_.hosts - 1);
  const auto to = static_cast<std::uint32_t>((*plan_.claimed + step) % plan_.hosts);
  const rails_call::request what{first_vain_call + calls_.size(), *plan_.claimed, to,
                                 transport::traffic_class::call};
  self_.begin(calls_.emplace_back(world_, what), 0);
}

void rails_claimant::check(const hosts& others, violations& found) {
  if (calls_.empty()) return;
  const rails_call& latest = calls_.back();
  if (latest.ends == 0) {
    if (world_.now() - latest.began > longest_refusal)
      found.push_back({std::string(one_server), fmt::format("call {} has no end", latest.what.number)});
    return;
  }
  if (!latest.outcome)
    found.push_back({std::string(one_server), fmt::format("call {} is served", latest.what.number)});
  told_ |=
      latest.outcome == errc::id_in_use && others[latest.what.to]->wire->last_refusal() == errc::id_in_use;
}

void rails_claimant::check_at_end(violations& found) const {
  if (!told_)
    found.push_back({std::string(one_server), "the second server was never told that its id is in use"});
}

void rails_claimant::end() {
  self_.home.enter([this] { self_.wire.reset(); });
}

}  // namespace scoll::sim
