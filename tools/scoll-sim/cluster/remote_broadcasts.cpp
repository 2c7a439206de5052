#include "scoll/ship/remote_group.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/cluster/services.hpp"

// The broadcasts that members of groups make for clients.
namespace scoll::sim {
namespace {

/// Streams are for members alone.
task<void> leave(broadcast_record& b) {
  b.ended_by_crash = true;
  co_return;
}

}  // namespace

void cluster::on(const events::remote_bcast& e) {
  const auto group = groups_.find(e.group);
  if (group == groups_.end() || !group->second.id || broadcasts_.contains(e.number) || guests_.hosts.empty())
    return;
  const group_record& g = group->second;
  life* const root = lives_[g.members[e.rank % g.members.size()]];
  std::uint32_t host = e.client % hosts();
  while (!guests_.contain(host)) host = (host + 1) % hosts();
  life* const client = lives_[host];
  if (root == nullptr || client == nullptr) return;
  broadcast_record& b = record_broadcast(e.number, g, *root);
  b.client = client;
  b.bound = nanoseconds::max();
  b.request = request_of({.number = e.number, .bytes = e.bytes, .work = e.work});
  if (e.deadline.count() != 0) b.options.deadline = e.deadline;
  client->home.enter([&] {
    const auto run = [&]<class S>() {
      if constexpr (detail::streams<S>) {
        return leave(b);
      } else {
        return run_remotely<S>(*client, g, b);
      }
    };
    client->work.spawn(with_service(g.service, serves_old_version(root->host), run));
  });
}

template <class S>
task<void> cluster::run_remotely(life& client, const group_record& g, broadcast_record& b) {
  const remote_group<S> there(*client.member, client.addresses_of(b.root->host).front(), *g.id);
  const time_point start = client.home.now();
  remote_bcast_options options;
  options.deadline = b.options.deadline;
  auto r = co_await scoll::bcast(there, b.request, options);
  b.may_have_executed = r.may_have_executed();
  seen_.saw(mark::client_broadcast, r.ok());
  finish(client, b, r, start);
}

}  // namespace scoll::sim
