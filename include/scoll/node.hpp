#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scoll/collective/bcast.hpp"
#include "scoll/collective/group.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/detail/served_function.hpp"
#include "scoll/detail/service_entry.hpp"
#include "scoll/node_event.hpp"
#include "scoll/node_options.hpp"
#include "scoll/node_snapshot.hpp"
#include "scoll/rail_snapshot.hpp"
#include "scoll/ship/remote_function.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll {

namespace detail {
class shipper;
struct node_access;
}  // namespace detail
namespace transport {
class endpoint;
class rail;
class rail_set;
}  // namespace transport
class node_pools;
class scope;

/// A registered service. Dropping the handle leaves the service registered until the node ends.
class service_handle {
 public:
  service_handle() = default;
  service_handle(detail::engine& owner, std::shared_ptr<detail::service_entry> entry) noexcept
      : engine_(&owner), entry_(std::move(entry)) {}

  /// Refuses new requests to their parents and waits for all running ones, however long they take.
  task<void> close();
  /// Like `close()`, but waits no longer than `limit`. For the first half of it, requests may end by
  /// themselves. Then the hooks' stop tokens fire. Broadcasts of this node end with `closed` and learn what
  /// their members have done. In broadcasts of other nodes, this node's own part ends; it has failed
  /// (`closed`) if a hook fails then. After another quarter, an `execute` that has not returned is unknown,
  /// and a `prepare` that has not returned has failed, with nothing forwarded. Answers of the members below
  /// are still awaited and passed on. Errors: `deadline_exceeded` (hooks or members below take longer than
  /// `limit`; the service lives until they have ended).
  task<status> close(nanoseconds limit);

 private:
  detail::engine* engine_ = nullptr;
  std::shared_ptr<detail::service_entry> entry_;
};

/// A registered function. Closing it refuses new calls and waits for running ones. Dropping the handle leaves
/// the function registered until the node ends.
class function_handle {
 public:
  function_handle() = default;
  function_handle(detail::shipper& owner, std::shared_ptr<detail::served_function> entry) noexcept
      : shipper_(&owner), entry_(std::move(entry)) {}

  task<void> close();

 private:
  detail::shipper* shipper_ = nullptr;
  std::shared_ptr<detail::served_function> entry_;
};

/// One server's part in the cluster: its services, its groups and its links. It lives on one executor; the
/// executor and its rails must outlive it. Call `shutdown` before you destroy it (docs/lifetimes.md). The
/// constructor throws `failure` if options make no sense, and names what is wrong.
class node {
 public:
  node(executor& ex, transport::rail& rail, const node_options& options);
  /// Makes a node that works in memory which it shares with other nodes of this thread.
  node(executor& ex, transport::rail& rail, const node_options& options, std::shared_ptr<node_pools> pools);
  /// Makes a node that reaches its peers by several rails (docs/rails.md). The set must outlive it too.
  node(executor& ex, const transport::rail_set& rails, const node_options& options);
  node(executor& ex, const transport::rail_set& rails, const node_options& options,
       std::shared_ptr<node_pools> pools);
  ~node();
  node(node&&) noexcept;

  /// Accepts connections at an address such as "127.0.0.1:7001", "[::1]:0" or "localhost:0"; port 0 takes a
  /// free port. A host name is resolved at once, which blocks. Errors: `invalid_argument` (the address, or
  /// `node_options::advertise`, cannot be one), and those of the rail. If it fails, the node does not listen.
  /// A node of a set of rails listens on all of them, each where its traits say, and `address`, unless it is
  /// empty, takes the place of what the first one's say. An error names the rail.
  status listen(const std::string& address);
  /// Like `listen(address)`, at `node_options::listen`. Error: also `invalid_argument` if neither that nor a
  /// rail of a set says where to listen.
  status listen();
  /// The address that is bound, numeric and with its actual port. Over TCP it is empty before `listen`; a
  /// simulated host has its address from the beginning.
  std::string listen_address() const;
  /// The address that others should use: `node_options::advertise`, or else `listen_address()`. The node does
  /// not guess the name of its host: if it listens at a wildcard, such as 0.0.0.0 or [::], and `advertise` is
  /// empty, the result is that wildcard with the port, which is of no use to other hosts.
  std::string advertised_address() const;
  /// Makes another node known, or gives it another address. The node connects when there is something to
  /// send; a host name is resolved then, and anew for each connection attempt. Error: `invalid_argument`, at
  /// once, for what cannot be an address; the text names it and says what is wrong. Then nothing has changed.
  status add_peer(node_id peer, const std::string& address);
  /// Likewise, with the addresses of a node that has several rails, 1 to 8, in the order of its rails.
  status add_peer(node_id peer, const std::vector<std::string>& addresses);
  status add_peer(node_id peer, std::initializer_list<std::string> addresses) {
    return add_peer(peer, std::vector<std::string>(addresses));
  }

  /// Registers a service. All nodes of a group must register theirs before the group is created. Errors:
  /// `already_exists`, `invalid_argument` (the id belongs to the library).
  template <collective_service S>
  result<service_handle> serve(S service) {
    auto entry = detail::make_service_entry(std::move(service));
    if (auto added = add_service(entry); !added) return added.error();
    return service_handle(*engine_, std::move(entry));
  }

  /// Registers a function that peers may ship calls to. The handler is a callable that is copied into the
  /// node. It has the form
  /// `task<result<Out>> (or result<Out>, or Out) handler(const In&, scoll::call_context&)`; if `Out` is
  /// `nothing`, it may also return `task<status>`, `status` or `void`. A handler that throws answers with an
  /// error. The argument, and the handler itself, live until the handler has returned. Errors:
  /// `already_exists` (naming both functions if two names have one number).
  template <class In, class Out, class F>
  result<function_handle> serve(const remote_function<In, Out>& f, F handler) {
    static_assert(detail::good_handler<F, In, Out>,
                  "a handler must be: task<result<Out>> (or result<Out>, or Out) (const In&, "
                  "scoll::call_context&)");
    auto entry = std::make_shared<detail::typed_function<In, Out, F>>(f.key(), std::move(handler));
    if (auto added = add_function(entry); !added) return added.error();
    return function_handle(*shipper_, std::move(entry));
  }

  /// Creates a group. An immediate group (the default) is created on all members at once: after success, all
  /// members hold it; after an error, none keeps it, and the error says how many did not join and why. With
  /// `populate::delayed` nothing is sent yet. This node must be among `targets`. Errors: `invalid_argument`
  /// (no target, node 0, the name, or a delayed group whose lifetime is its members'), `duplicate_target`,
  /// `too_large` (naming the size), `not_member` (this node is not a target, or a member is not in the outer
  /// group), `unknown_service`, `unknown_tree`, `unknown_group` or `revoked` (the outer group), `peer_died`
  /// (targets are known to be dead), `busy`, `deadline_exceeded`, `closed`, and the errors of members that
  /// did not join.
  template <collective_service S>
  task<result<group<S>>> create_group(const std::vector<target>& targets, group_options options = {}) {
    return create_checked<S>(membership::make(targets), options);
  }
  /// A braced list of targets beside `co_await` does not compile with GCC 12. Name a
  /// `std::vector<scoll::target>` first and pass that.
  template <collective_service S>
  task<result<group<S>>> create_group(std::initializer_list<target> targets,
                                      group_options options = {}) = delete;

  /// Makes a group known here under an id of the service's own, without a message. Every member does so by
  /// itself, and any of them may then broadcast. Memberships are compared by digest: a member that holds
  /// another membership under that id answers `membership_changed`, and one that holds none `unknown_group`.
  /// A membership is immutable and may be shared by all nodes that hold it. Errors: `not_member`,
  /// `unknown_service`, `already_exists` (the id is taken here), `revoked` (this node is passing a revoke of
  /// the group on), `invalid_argument` (the name).
  template <collective_service S>
  result<group<S>> adopt_group(std::uint64_t id, membership_ptr members, const group_options& options = {}) {
    auto adopted = adopt_any_group(id, std::move(members), S::id, options);
    if (!adopted) return adopted.error();
    return group<S>(std::move(*adopted));
  }

  /// Holds the out-of-band group whose members the `members` hook of the service names under `id`, and sends
  /// nothing. The hook is asked anew by each call, except that calls and requests that come while it works
  /// share its answer. A node that gets a request for such a group asks its own hook, so that no node has to
  /// call this before; it is needed where a broadcast begins. If the hook names other members than before,
  /// the earlier group takes no new broadcast (`membership_changed`). Of the options, `tree`, `name` and
  /// `deadline` count. Errors: those of the hook; `deadline_exceeded` (the hook has not answered; it goes
  /// on); `revoked` (this node is passing a revoke of the group on); `not_member`; `busy` (1,024 such groups
  /// are in use here); `already_exists` (this node has adopted a group with other members under the id);
  /// `unknown_service`; `invalid_argument` (the name); `closed`.
  template <collective_service S>
    requires detail::names_members<S>
  task<result<group<S>>> out_of_band(std::uint64_t id, group_options options = {}) {
    auto held = co_await map_any_group(id, S::id, options);
    if (!held) co_return held.error();
    co_return group<S>(std::move(*held));
  }

  /// Finds a group that another node created and this node is a member of, for broadcasts rooted here.
  template <collective_service S>
  result<group<S>> find_group(const group_id& id) {
    auto found = find_any_group(id, S::id);
    if (!found) return found.error();
    return group<S>(std::move(*found));
  }

  /// Ends a group: here at once, on the other members as they are told. Members that cannot be told now are
  /// told later, in the background, until each has heard, is dead, or this node shuts down; beyond 1,024 such
  /// groups, members are not told, and ask (docs/groups.md). It waits 10 s at most on the node that tells the
  /// members, and 21 s on one that asks the creator in vain; before that, it tells the outcome of a shrink
  /// that others may not have heard, in an estimated round trip. Errors: `incomplete` (members were not told,
  /// and are named; it may be called again, to tell them now or to learn that all have been told),
  /// `unknown_group` or `membership_changed` (the group has ended before), `invalid_argument` (the group is
  /// empty), `closed`.
  task<status> destroy(const detail::any_group& g);

  /// Reports that an incarnation of a node is dead or alive (gossip does both, see `follow`). A death ends at
  /// once everything that this node expects of the dead one (`peer_died`), ends the groups that the dead node
  /// created, except for those whose lifetime is their members' (`group_options::lifetime`), and stops its
  /// broadcasts. Broadcasts to groups with the dead member are refused from then on. News of a newer
  /// incarnation means that all earlier ones are dead. Incarnations are those of `node_options`. News older
  /// than what is known changes nothing.
  void on_dead(node_id peer, std::uint64_t incarnation);
  void on_alive(node_id peer, std::uint64_t incarnation);

  /// Refuses new work, waits for running work, asks what is left to stop, drains the links and closes them.
  /// If hooks do not return within `limit`, it names them (`deadline_exceeded`); the process should end then.
  task<status> shutdown(nanoseconds limit);

  node_id id() const noexcept;
  std::uint64_t incarnation() const noexcept;
  executor& get_executor() const noexcept;
  /// A scope for work that no one awaits; it ends with the node.
  scope& background() noexcept;
  /// The endpoint that carries this node's messages and bulk data.
  transport::endpoint& wire() noexcept;
  /// Describes what this node holds and what it has done, for status pages and monitoring. It only reads
  /// memory.
  node_snapshot snapshot() const;
  // Parts of that description, and more. Those of which there may be many come in portions of at most `most`.
  /// The peers from the id `first` on, in the order of their ids.
  std::vector<peer_snapshot> peers(node_id first, std::size_t most) const;
  /// The groups from the id `first` on, in the order of their ids, with or without a name.
  std::vector<group_snapshot> groups(const group_id& first, std::size_t most) const;
  /// The operations that are under way, from the `first` on, in the order in which they began here.
  std::vector<operation_snapshot> operations(std::size_t first, std::size_t most) const;
  /// The functions that this node serves.
  std::vector<function_snapshot> functions() const;
  /// The calls that run here, the oldest first.
  std::vector<call_snapshot> calls(std::size_t most) const;
  /// The bounds of the node and how much of each is used.
  std::vector<resource_snapshot> resources() const;

  /// The security of the node's connections, and what it has seen. If the files of keys and certificates have
  /// changed, they are read again, which blocks.
  transport::security_snapshot security();

  /// The node's own rails, in their order.
  std::vector<rail_snapshot> rails() const;
  /// The paths to a peer, best first; empty if the node does not know the peer.
  std::vector<path_snapshot> paths(node_id peer) const;

  /// The kept events with numbers greater than `after`, in their order. A node keeps the latest 256.
  std::vector<node_event> events(std::uint64_t after = 0) const;
  /// The number of events of one kind since the node was made, with those that it does not keep.
  std::uint64_t event_count(node_event_kind kind) const noexcept;
  /// Waits until there is an event with a number greater than `after`. Error: `cancelled`. The node must
  /// outlive the wait.
  task<status> event_after(std::uint64_t after, stop_token stop);

 private:
  friend struct detail::node_access;

  template <class S>
  task<result<group<S>>> create_checked(result<membership_ptr> members, group_options options) {
    if (!members) co_return members.error();
    auto created = co_await create_any_group(*members, S::id, options);
    if (!created) co_return created.error();
    co_return group<S>(std::move(*created));
  }

  explicit node(std::unique_ptr<detail::engine> engine);
  status add_service(std::shared_ptr<detail::service_entry> entry);
  status add_function(std::shared_ptr<detail::served_function> entry);
  task<result<detail::any_group>> create_any_group(membership_ptr members, service_id service,
                                                   group_options options);
  result<detail::any_group> adopt_any_group(std::uint64_t id, membership_ptr members, service_id service,
                                            const group_options& options);
  task<result<detail::any_group>> map_any_group(std::uint64_t id, service_id service, group_options options);
  result<detail::any_group> find_any_group(const group_id& id, service_id service);

  std::unique_ptr<detail::engine> engine_;
  std::unique_ptr<detail::shipper> shipper_;
};

}  // namespace scoll
