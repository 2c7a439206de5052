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
#include "scoll/node_options.hpp"
#include "scoll/node_snapshot.hpp"
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
}  // namespace transport
class node_pools;
class scope;

/// A registered service. Closing refuses new requests to their parents and waits for those that run;
/// dropping the handle leaves the service registered until the node ends.
class service_handle {
 public:
  service_handle() = default;
  service_handle(detail::engine& owner, std::shared_ptr<detail::service_entry> entry) noexcept
      : engine_(&owner), entry_(std::move(entry)) {}

  task<void> close();

 private:
  detail::engine* engine_ = nullptr;
  std::shared_ptr<detail::service_entry> entry_;
};

/// A registered function. Closing refuses new calls and waits for those that run; dropping the handle leaves
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

/// One server's part in the cluster: its services, its groups and its links. Lives on one executor, which
/// with the rail must outlive it. Shut down with `shutdown` before it is destroyed (docs/lifetimes.md).
/// Options that make no sense throw `failure` from the constructor, naming what is wrong.
class node {
 public:
  node(executor& ex, transport::rail& rail, const node_options& options);
  /// Works in memory that it shares with other nodes of this thread.
  node(executor& ex, transport::rail& rail, const node_options& options, std::shared_ptr<node_pools> pools);
  ~node();
  node(node&&) noexcept;

  /// Takes connections at a numeric address such as "127.0.0.1:7001" or "[::1]:0".
  status listen(const std::string& address);
  std::string listen_address() const;
  /// Makes another node known; connecting happens when there is something to send.
  status add_peer(node_id peer, const std::string& address);

  /// Registers a service. All nodes of a group register theirs before it is created. Errors:
  /// `already_exists`, `invalid_argument` (an id of the library's).
  template <collective_service S>
  result<service_handle> serve(S service) {
    auto entry = detail::make_service_entry(std::move(service));
    if (auto added = add_service(entry); !added) return added.error();
    return service_handle(*engine_, std::move(entry));
  }

  /// Registers a function that peers may ship calls to. The handler is a callable, copied into the
  /// node, of the form `task<result<Out>> (or result<Out>, or Out) handler(const In&, scoll::call_context&)`;
  /// where `Out` is `nothing` also `task<status>`, `status` or `void`. One that throws answers with an error.
  /// The argument, and the handler itself, live until the handler has returned. Errors: `already_exists`
  /// (naming both if two names have one number).
  template <class In, class Out, class F>
  result<function_handle> serve(const remote_function<In, Out>& f, F handler) {
    static_assert(detail::good_handler<F, In, Out>,
                  "a handler must be: task<result<Out>> (or result<Out>, or Out) (const In&, "
                  "scoll::call_context&)");
    auto entry = std::make_shared<detail::typed_function<In, Out, F>>(f.key(), std::move(handler));
    if (auto added = add_function(entry); !added) return added.error();
    return function_handle(*shipper_, std::move(entry));
  }

  /// Creates a group at once: when this returns, all members hold it; if that fails, none keeps it,
  /// and the error says how many did not join and why. This node must be among `targets`.
  template <collective_service S>
  task<result<group<S>>> create_group(const std::vector<target>& targets, group_options options = {}) {
    return create_checked<S>(membership::make(targets), options);
  }
  /// A braced list of targets beside `co_await` does not compile with GCC 12: name a
  /// `std::vector<scoll::target>` first, and pass that.
  template <collective_service S>
  task<result<group<S>>> create_group(std::initializer_list<target> targets,
                                      group_options options = {}) = delete;

  /// Makes a group known here under an id of the service's own, without a message: every member does
  /// so by itself, and any of them may then broadcast. Memberships are compared by digest: who holds another
  /// one under that id answers `membership_changed`, who holds none `unknown_group`. A membership is
  /// immutable and may be shared by all who hold it. Errors: `not_member`, `unknown_service`,
  /// `already_exists` (the id is taken here).
  template <collective_service S>
  result<group<S>> adopt_group(std::uint64_t id, membership_ptr members, const group_options& options = {}) {
    auto adopted = adopt_any_group(id, std::move(members), S::id, options);
    if (!adopted) return adopted.error();
    return group<S>(std::move(*adopted));
  }

  /// A group that another node created and this one is a member of, for broadcasts rooted here.
  template <collective_service S>
  result<group<S>> find_group(const group_id& id) {
    auto found = find_any_group(id, S::id);
    if (!found) return found.error();
    return group<S>(std::move(*found));
  }

  /// Makes all members forget the group. Errors: `incomplete` names who could not be told.
  task<status> destroy(const detail::any_group& g);

  /// Liveness calls this incarnation of a node dead, or says that it is alive (gossip does both, see
  /// `follow`). A death ends at once what is expected of the node (`peer_died`), removes the groups it
  /// created and stops broadcasts of its own; broadcasts to groups it is in are refused from then on.
  /// A newer incarnation does so to those before it. Incarnations are those of `node_options`, and
  /// older news than is known changes nothing.
  void on_dead(node_id peer, std::uint64_t incarnation);
  void on_alive(node_id peer, std::uint64_t incarnation);

  /// Refuses what is new, waits for what runs, asks the rest to stop, drains the links and closes them. If
  /// hooks do not return within `limit`, it names them (`deadline_exceeded`), and the process should end.
  task<status> shutdown(nanoseconds limit);

  node_id id() const noexcept;
  std::uint64_t incarnation() const noexcept;
  executor& get_executor() const noexcept;
  /// For work that nobody awaits; it ends with the node.
  scope& background() noexcept;
  /// What this node's messages and bulk data go through.
  transport::endpoint& wire() noexcept;
  /// What this node holds and what it has done, for status pages and monitoring. Reads memory only.
  node_snapshot snapshot() const;

 private:
  friend struct detail::node_access;

  template <class S>
  task<result<group<S>>> create_checked(result<membership_ptr> members, group_options options) {
    if (!members) co_return members.error();
    auto created = co_await create_any_group(*members, S::id, options);
    if (!created) co_return created.error();
    co_return group<S>(std::move(*created));
  }

  status add_service(std::shared_ptr<detail::service_entry> entry);
  status add_function(std::shared_ptr<detail::served_function> entry);
  task<result<detail::any_group>> create_any_group(membership_ptr members, service_id service,
                                                   group_options options);
  result<detail::any_group> adopt_any_group(std::uint64_t id, membership_ptr members, service_id service,
                                            const group_options& options);
  result<detail::any_group> find_any_group(const group_id& id, service_id service);

  std::unique_ptr<detail::engine> engine_;
  std::unique_ptr<detail::shipper> shipper_;
};

}  // namespace scoll
