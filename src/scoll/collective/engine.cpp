#include "scoll/collective/engine.hpp"

#include <algorithm>
#include <new>
#include <random>

#include "scoll/collective/admissions.hpp"
#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/bulks.hpp"
#include "scoll/collective/called.hpp"
#include "scoll/collective/end_requests.hpp"
#include "scoll/collective/end_teller.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/member_questions.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/revoke.hpp"
#include "scoll/collective/sweeper.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/incarnation_store.hpp"
#include "scoll/journal.hpp"
#include "scoll/link_options.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

// docs/wire.md describes these structs byte by byte.
static_assert(wire::fixed_size<collective_head> == 152);
static_assert(wire::fixed_size<collective_reply_head> == 28);

/// Two clients of one server almost never have the same id; the server would refuse the second one.
node_id draw_client_id() {
  std::random_device source;
  const std::uint64_t high = source();
  return transport::client_bit | high << 32U | source();
}

node_options completed(node_options options) {
  options.validate().value();
  if (options.incarnation == 0) options.incarnation = wall_clock_ns();
  if (options.role == node_role::client && options.id == 0) options.id = draw_client_id();
  return options;
}

/// It reads the files of the security mode.
transport::endpoint_options guarded_link_options(const node_options& options) {
  transport::endpoint_options link = link_options(options);
  if (auto made = transport::make_security(options.security, options.cluster).value(); made != nullptr)
    link.security = std::move(made);
  return link;
}

}  // namespace

template <class Rails>
engine::engine(executor& ex, Rails& rails, const node_options& options, std::shared_ptr<node_pools> pools)
    : executor_(ex),
      options_(completed(options)),
      pools_(pools != nullptr ? std::move(pools) : std::make_shared<node_pools>()),
      journal_(std::make_unique<journal>(ex, options_.log)),
      endpoint_(ex, rails, guarded_link_options(options_), *this,
                std::shared_ptr<transport::endpoint_buffers>(pools_, &pools_->buffers_)),
      groups_(options_.id),
      sweeper_(std::make_unique<sweeper>(*this, options_.group_lease)),
      member_questions_(std::make_unique<member_questions>(*this)),
      admissions_(std::make_unique<admissions>(*this)),
      ends_(std::make_unique<end_teller>(*this)),
      end_requests_(std::make_unique<end_requests>(*this)),
      bulks_(std::make_unique<bulks>(*this)),
      revokes_(std::make_unique<revoker>(*this)),
      reply_memory_(options_.reply_memory),
      records_(std::make_unique<own_records>(ex, options_.repair_memory)),
      scope_(std::make_unique<scope>(ex)) {
  group_service_ = std::make_shared<service_entry>();
  group_service_->table = &group_admin_table();
  group_service_->instance = group_admin_instance();
  agreements_ = std::make_unique<agreements>(*this);
  group_service_->survives_revoke = true;
}

template engine::engine(executor&, transport::rail&, const node_options&, std::shared_ptr<node_pools>);
template engine::engine(executor&, const transport::rail_set&, const node_options&,
                        std::shared_ptr<node_pools>);

engine::~engine() {
  sweeper_.reset();
  bulks_.reset();
  SCOLL_ASSERT(live_operations_ == 0,
               "a node was destroyed while broadcasts were running: await node.shutdown(...) first");
}

worker_pool& engine::pool() {
  if (pool_ == nullptr)
    pool_ = std::make_unique<worker_pool>(worker_pool_options{options_.workers, options_.worker_queue});
  return *pool_;
}

status engine::add_service(std::shared_ptr<service_entry> entry) {
  const service_id id = entry->table->id;
  if (static_cast<std::uint32_t>(id) < first_user_service) {
    return make_error(errc::invalid_argument, "service id {} belongs to the library: {} and up are free",
                      static_cast<std::uint32_t>(id), first_user_service);
  }
  return add_own_service(std::move(entry));
}

status engine::add_own_service(std::shared_ptr<service_entry> entry) {
  const service_id id = entry->table->id;
  if (!services_.emplace(id, std::move(entry)).second) {
    return make_error(errc::already_exists, "service id {:#06x} is registered",
                      static_cast<std::uint32_t>(id));
  }
  return {};
}

std::shared_ptr<service_entry> engine::find_service(service_id id) const {
  if (last_service_ == nullptr || last_service_->table->id != id) {
    const auto found = services_.find(id);
    if (found == services_.end()) return nullptr;
    last_service_ = found->second;
  }
  return last_service_->users.closed() ? nullptr : last_service_;
}

/// True if the table has no place for an operation of this kind.
bool engine::full_for(collective_kind kind) const noexcept {
  const std::size_t extra = kind == collective_kind::broadcast ? 0 : extra_group_operations;
  return live_operations_ + admissions_->waiting() >= options_.max_operations + extra &&
         !SCOLL_MUTANT(table_unbounded, "the table of operations grows without end");
}

operation* engine::acquire(collective_kind kind) noexcept {
  if (full_for(kind)) return nullptr;
  operation& op = pools_->acquire_operation();
  op.engine_ = this;
  op.in_node_ = work_.pass();
  live_.push_back(op);
  ++live_operations_;
  return &op;
}

void engine::retire(operation& op) noexcept {
  op.list_hook<>::unlink();
  const bool has_bulk = op.bulk_ != nullptr;
  op.reset();
  pools_->release_operation(op, has_bulk);
  --live_operations_;
}

void engine::operation_ended(operation& op) noexcept {
  if (!op.subject_.is_root()) {
    const bool kept = SCOLL_MUTANT(group_kept, "one member does not drop a group that is destroyed") &&
                      op.subject_.group->self_rank == 1;
    if (op.subject_.head.ends_group() && !kept)
      end_group(op.subject_.group, {group_fate::destroyed, op.subject_.head.operation.root, 0});
    return retire(op);
  }
  if (op.root_.result_taken) retire(op);
}

void engine::release(operation& op) noexcept {
  if (op.stage_ == operation::stage::ended) return retire(op);
  op.root_.result_taken = true;
}

error engine::why_not_now(const addressees& to, const bcast_options& options, collective_kind kind) const {
  if (work_.closed()) return {errc::closed, "this node is shutting down"};
  if (to.group->forgotten && kind != collective_kind::forget) return why_ended(*to.group);
  if (to.invalid) return to.invalid;
  if (to.group->rooted->last != 0 && kind == collective_kind::broadcast) return after_the_last();
  if (to.subset != nullptr && !to.subset->index_of(to.group->self_rank))
    return {errc::not_member, "this node is not among the members that the broadcast is for"};
  if (options.last && to.group->id.creator == 0)
    return {errc::unsupported, "nobody has created the group, so no broadcast to it is the last"};
  const dead_members chosen = options.dead.value_or(options_.default_dead_members);
  const bool refuses =
      chosen == dead_members::refuse
          ? !SCOLL_MUTANT(dead_not_refused, "a broadcast that should be refused goes to those who are alive")
          : SCOLL_MUTANT(dead_never_tried, "a broadcast that should try the others is refused");
  return refuses ? dead_among(to) : error();
}

begun engine::begin(const addressees& to, const std::shared_ptr<service_entry>& service, collective_kind kind,
                    const tree_spec& tree, const bcast_options& options, encode_function encode,
                    const void* what) {
  group_state& group = *to.group;
  if (const error why = why_not_now(to, options, kind)) return {nullptr, why};
  const error* const revoked = revoke_of(group);
  if (revoked != nullptr && !service->survives_revoke) return {nullptr, *revoked};
  tree_fault fault = tree_fault::none;
  const any_tree* resolved = group.resolve(tree, to.subset, group.self_rank, fault);
  if (resolved == nullptr) return {nullptr, {errc::unknown_tree, describe(fault)}};
  operation* op = acquire(kind);
  if (op == nullptr) {
    return {nullptr, make_error(errc::busy,
                                "no broadcast more can run at once on this node: node.max_operations is {}",
                                options_.max_operations)};
  }
  ++statistics_.started;
  op->subject_.as = operation_subject::role::root;
  collective_head& head = op->subject_.head;
  head = {};
  head.kind = static_cast<std::uint8_t>(kind);
  head.tree_kind = tree.kind;
  head.tree_params = tree.params;
  head.service =
      static_cast<std::uint32_t>(kind == collective_kind::broadcast ? service->table->id : group.service);
  head.service_version = service->table->version;
  head.root_rank = group.self_rank;
  head.group = group.id;
  group.enter(*op);
  head.operation = {options_.id, options_.incarnation, op->counter, 0};
  if (to.living) head.flags = collective_head::living;
  if (to.living && options.same_view) head.flags |= collective_head::same_view;
  if (options.last) head.flags |= collective_head::last;
  if (!options.until.is_everyone()) head.flags |= collective_head::tell_all;
  if (options.on_failure != degrade) head.flags |= collective_head::tell_losses;
  if (options.on_failure == repair) head.flags |= collective_head::retain;
  if (options.trace) head.flags |= collective_head::trace;
  if (service->table->streams) head.flags |= collective_head::streams;
  op->bind(to.group, to.subset, service, *resolved, 0);
  if (const status able = op->provide_for(to, options); !able) return fail(*op, able.error());
  if (const status encoded = encode_request(*op, to, encode, what); !encoded)
    return fail(*op, encoded.error());
  return {op, {}};
}

/// Says why a message would have no room: the creation of a delayed group must fit beside the ranks of a
/// subset and a request of full size.
error engine::why_no_room(const addressees& to) {
  if (to.group->holders == nullptr) return {};
  const std::size_t size = to.subset->encoded().size();
  const std::size_t riding = to.group->riding_bytes();
  if (size + riding <= max_subset_bytes) return {};
  return make_error(
      errc::too_large,
      "the ranks of a subset take {} bytes: at most {} fit beside the creation of a delayed group", size,
      max_subset_bytes - std::min(riding, max_subset_bytes));
}

/// Encodes the subset's ranks and the tags of lives, if there are any, then the request.
status engine::encode_request(operation& op, const addressees& to, encode_function encode, const void* what) {
  transport::buffer_ref buffer = endpoint_.acquire_payload();
  if (!buffer) return endpoint_.no_payload_left("a request");
  std::byte* at = buffer.data();
  if (to.subset != nullptr) {
    if (const error why = why_no_room(to)) return why;
    at = std::ranges::copy(to.subset->encoded(), at).out;
    op.subject_.head.subset_digest = to.subset->digest();
  }
  op.subject_.head.subset_bytes = static_cast<std::uint16_t>(at - buffer.data());
  if (op.subject_.head.names_lives()) at = op.root_.repair->write_permits(at);
  const auto size = encode(what, {at, max_request_bytes});
  if (!size) return size.error();
  const std::span<const std::byte> bytes(buffer.data(), at + *size);
  op.request_.forwarded = {std::move(buffer), bytes};
  return {};
}

begun engine::fail(operation& op, const error& why) noexcept {
  retire(op);
  return {nullptr, why};
}

begun engine::begin_broadcast(const addressees& to, const service_table& table, const void* request,
                              const bcast_options& options) {
  executor_.expect_own_thread();
  if (options.stop.stop_requested()) {
    return {nullptr, {errc::cancelled, "the stop token had fired before the broadcast began"}};
  }
  const auto service = find_service(table.id);
  if (service == nullptr || service->table != &table) {
    return {nullptr, make_error(errc::unknown_service, "service {:#06x} is not registered on this node",
                                static_cast<std::uint32_t>(table.id))};
  }
  return begin(to, service, collective_kind::broadcast, to.group->tree, options, table.encode_request,
               request);
}

void engine::on_cancelled(transport::incoming& work, const transport::cancel_reason& reason) noexcept {
  if (!end_requests_->cancelled(work)) static_cast<parent_request&>(work).on_parent_cancelled(reason);
}

/// A peer with a new incarnation has died before, whether liveness noticed it or not. Items that were for it can
/// go nowhere, so whoever puts them is told at once.
void engine::on_session_lost(transport::session& peer, const error& reason) noexcept {
  if (bulks_ == nullptr) return;  // the node is being destroyed
  if (!work_.closed() || reason != errc::closed) journal_->session_lost(peer.peer(), reason);
  bulks_->gone(peer.peer());
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    if (op->stream_ != nullptr && op->open() && op->from() == &peer) op->end_by(end_cause::root_dead, reason);
  }
  if (reason == errc::peer_rebooted) on_life(peer.peer(), peer.peer_incarnation());
}

void engine::on_handshake_refused(node_id peer, const error& reason) noexcept {
  journal_->handshake_refused(peer, reason);
}

void engine::on_path_news(transport::session& peer, const transport::path_news& news) noexcept {
  const auto called = [&](transport::path_key key) {
    return path_words{endpoint_.name_of_rail(key.own), peer.address_on(key.theirs)};
  };
  journal_->path_news(options_.id, peer.peer(), news, called(news.path), called(news.to));
}

void engine::on_rail_news(const transport::rail_news& news) noexcept {
  journal_->rail_news(options_.id, news, endpoint_.name_of_rail(news.rail));
}

void engine::on_security_news(std::string_view what) noexcept {
  journal_->security(what);
}

void engine::on_violation(node_id peer, const error& reason) noexcept {
  journal_->link_broken(peer, reason);
}

void engine::on_answers_missing(node_id peer, std::size_t waiting, std::size_t owing) noexcept {
  journal_->answers_missing(peer, waiting, owing);
}

transport::session* engine::session_to(group_state& group, std::uint32_t rank) noexcept {
  const auto at = std::lower_bound(group.sessions.begin(), group.sessions.end(), rank,
                                   [](const auto& known, std::uint32_t r) { return known.first < r; });
  if (at != group.sessions.end() && at->first == rank) return at->second;
  transport::session* const found = endpoint_.find(group.members->node(rank));
  if (found != nullptr) group.sessions.emplace(at, rank, found);
  return found;
}

}  // namespace scoll::detail
