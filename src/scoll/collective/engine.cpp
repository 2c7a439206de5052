#include "scoll/collective/engine.hpp"

#include <algorithm>
#include <new>

#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/lease.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/incarnation_store.hpp"
#include "transport/wire/wire.hpp"

namespace scoll {
namespace {

transport::endpoint_options link_options(const node_options& options) {
  transport::endpoint_options link = options.link;
  link.self = options.id;
  link.cluster = options.cluster;
  link.incarnation = options.incarnation;
  return link;
}

}  // namespace

status node_options::validate() const {
  if (!directory.empty() && incarnation == 0) {
    return error(errc::invalid_argument,
                 "a node with a directory needs choose_incarnation() before it is made");
  }
  if (max_operations == 0) return error(errc::invalid_argument, "max_operations must be at least 1");
  if (workers == 0 || worker_queue == 0)
    return error(errc::invalid_argument, "workers and worker_queue must be at least 1");
  if (rtt_estimate.count() <= 0 || level_margin.count() <= 0 || creation_lease.count() <= 0) {
    return error(errc::invalid_argument, "rtt_estimate, level_margin and creation_lease must be positive");
  }
  if (const tree_fault fault = check_tree(default_tree, 1); fault != tree_fault::none) {
    return error(errc::unknown_tree, describe(fault));
  }
  if (pinned_tree && check_tree(*pinned_tree, 1) != tree_fault::none)
    return make_error(errc::unknown_tree, "pinned_tree: {}", describe(check_tree(*pinned_tree, 1)));
  if (const status s = ship.validate(); !s) return s;
  transport::endpoint_options links = link_options(*this);
  if (incarnation == 0) links.incarnation = 1;  // chosen when the node is made
  return links.validate();
}

}  // namespace scoll

namespace scoll::detail {
namespace {

// docs/wire.md describes them byte by byte.
static_assert(wire::fixed_size<collective_head> == 149);
static_assert(wire::fixed_size<collective_reply_head> == 24);

node_options completed(node_options options) {
  options.validate().value();
  if (options.incarnation == 0) options.incarnation = wall_clock_ns();
  return options;
}

}  // namespace

bool replay_window::admit(std::uint64_t counter) noexcept {
  const auto bit = [this](std::uint64_t c) -> std::uint64_t& { return bits_[c % width / 64]; };
  const auto mask = [](std::uint64_t c) { return std::uint64_t{1} << (c % 64); };
  if (counter > highest_) {
    const std::uint64_t steps = std::min(counter - highest_, width);
    for (std::uint64_t c = counter - steps + 1; c <= counter; ++c) bit(c) &= ~mask(c);
    highest_ = counter;
  } else if (highest_ - counter >= width || (bit(counter) & mask(counter)) != 0) {
    return false;
  }
  bit(counter) |= mask(counter);
  return true;
}

const any_tree* group_state::resolve(const tree_spec& spec, std::uint32_t count, tree_fault& fault) {
  for (resolved_tree& known : resolved) {
    if (known.members != count || known.tree.spec() != spec) continue;
    if (&known != &resolved.front()) std::swap(known, resolved.front());
    return &resolved.front().tree;
  }
  fault = check_tree(spec, count);
  if (fault != tree_fault::none) return nullptr;
  auto found = any_tree::resolve(spec, count);
  if (!found) {
    fault = tree_fault::bad_parameters;
    return nullptr;
  }
  resolved.back() = {count, std::move(*found)};
  std::swap(resolved.front(), resolved.back());
  return &resolved.front().tree;
}

result<subset_ptr> group_state::take_subset(std::span<const std::byte> bytes) {
  if (last_subset != nullptr && std::ranges::equal(bytes, last_subset->encoded())) return last_subset;
  auto read = subset::decode(bytes, members->size());
  if (read) last_subset = *read;
  return read;
}

engine::engine(executor& ex, transport::rail& rail, const node_options& options,
               std::shared_ptr<node_pools> pools)
    : executor_(ex),
      options_(completed(options)),
      pools_(pools != nullptr ? std::move(pools) : std::make_shared<node_pools>()),
      endpoint_(ex, rail, link_options(options_), *this,
                std::shared_ptr<transport::endpoint_buffers>(pools_, &pools_->buffers_)),
      scope_(std::make_unique<scope>(ex)) {
  group_service_ = std::make_shared<service_entry>();
  group_service_->table = &group_admin_table();
  group_service_->instance = group_admin_instance();
}

engine::~engine() {
  leases_.clear();
  SCOLL_ASSERT(live_operations_ == 0, "a node was destroyed before it was shut down");
}

worker_pool& engine::pool() {
  if (pool_ == nullptr)
    pool_ = std::make_unique<worker_pool>(worker_pool_options{options_.workers, options_.worker_queue});
  return *pool_;
}

// ---- services

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
  return last_service_->closing ? nullptr : last_service_;
}

task<void> engine::close_service(std::shared_ptr<service_entry> entry) {
  entry->closing = true;
  while (entry->running != 0) {
    entry->idle.reset();
    co_await entry->idle.wait();
  }
  const auto found = services_.find(entry->table->id);
  if (found == services_.end() || found->second != entry) co_return;
  last_service_.reset();
  services_.erase(found);
}

// ---- operations

operation* engine::acquire() noexcept {
  if (live_operations_ >= options_.max_operations && !SCOLL_MUTANT(table_unbounded)) return nullptr;
  operation& op = pools_->acquire_operation();
  op.engine_ = this;
  live_.push_back(op);
  ++live_operations_;
  return &op;
}

void engine::retire(operation& op) noexcept {
  op.unlink();
  op.reset();
  pools_->release_operation(op);
  --live_operations_;
}

void engine::operation_ended(operation& op) noexcept {
  if (!op.is_root_) {
    const bool kept = SCOLL_MUTANT(group_kept) && op.group_->self_rank == 1;
    if (static_cast<collective_kind>(op.head_.kind) == collective_kind::forget && !kept)
      drop_group(op.group_->id);
    return retire(op);
  }
  if (op.released_) retire(op);
}

void engine::release(operation& op) noexcept {
  if (op.ended_) return retire(op);
  op.released_ = true;
}

begun engine::begin(const addressees& to, const std::shared_ptr<service_entry>& service, collective_kind kind,
                    const tree_spec& tree, const bcast_options& options, encode_function encode,
                    const void* what) {
  group_state& group = *to.group;
  if (closing_) return {nullptr, {errc::closed, "this node is shutting down"}};
  if (group.forgotten) return {nullptr, {errc::unknown_group, "the group has been destroyed"}};
  if (to.invalid) return {nullptr, to.invalid};
  if (to.some != nullptr && !to.some->index_of(group.self_rank)) {
    return {nullptr, {errc::not_member, "this node is not among those whom it would be root of"}};
  }
  if (options.dead == dead_members::refuse) {
    if (const error dead = dead_among(to)) return {nullptr, dead};
  }
  tree_fault fault = tree_fault::none;
  const any_tree* resolved = group.resolve(tree, to.size(), fault);
  if (resolved == nullptr) return {nullptr, {errc::unknown_tree, describe(fault)}};
  operation* op = acquire();
  if (op == nullptr) {
    return {nullptr,
            make_error(errc::busy, "{} operations run already: max_operations", options_.max_operations)};
  }
  ++statistics_.started;
  op->head_ = {};
  op->head_.kind = static_cast<std::uint8_t>(kind);
  op->head_.tree_kind = tree.kind;
  op->head_.tree_params = tree.params;
  op->head_.service = static_cast<std::uint32_t>(group.service);
  op->head_.service_version = service->table->version;
  op->head_.root_rank = group.self_rank;
  op->head_.group = group.id;
  op->head_.operation = {options_.id, options_.incarnation, group.next_counter++, 0};
  if (to.living) op->head_.view = collective_head::living;
  if (to.living && options.same_view) op->head_.view |= collective_head::same_view;
  op->bind(to.group, to.some, service, *resolved, 0);
  status ready = op->set_bounds(options);
  if (ready) ready = encode_request(*op, to, kind, encode, what);
  if (!ready) return fail(*op, ready.error());
  return {op, {}};
}

/// The subset's ranks, if it is for one, then the request.
status engine::encode_request(operation& op, const addressees& to, collective_kind kind,
                              encode_function encode, const void* what) {
  transport::buffer_ref buffer = endpoint_.acquire_payload();
  if (!buffer) return error(errc::busy, "no buffer left for a request");
  std::byte* at = buffer.data();
  if (to.some != nullptr) at = std::ranges::copy(to.some->encoded(), at).out;
  op.head_.subset_bytes = static_cast<std::uint16_t>(at - buffer.data());
  const std::size_t limit = kind == collective_kind::broadcast ? max_request_bytes : max_membership_bytes;
  const auto size = encode(what, {at, limit});
  if (!size) return size.error();
  const std::span<const std::byte> bytes(buffer.data(), op.head_.subset_bytes + *size);
  op.request_bytes_ = {std::move(buffer), bytes};
  return {};
}

begun engine::fail(operation& op, const error& why) noexcept {
  retire(op);
  return {nullptr, why};
}

begun engine::begin_broadcast(const addressees& to, const service_table& table, const void* request,
                              const bcast_options& options) {
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

// ---- requests

void engine::on_request(transport::request_view& request) noexcept {
  const auto head = wire::decode_from<collective_head>(request.head());
  error refused = head ? error{} : head.error();
  try {
    if (head) refused = admit(request, *head);
  } catch (const std::bad_alloc&) {
    refused = {errc::busy, "no memory to admit the request"};
  }
  if (!refused) return;
  ++statistics_.refused;
  if (!request.settled()) request.refuse(refused);
}

error engine::admit_query(transport::request_view& request, const collective_head& head) {
  const auto group = find_group(head.group);
  if (group == nullptr) return {errc::unknown_group, "the creator does not know the group"};
  if (group->creating) return {errc::busy, "the group is being created"};
  transport::incoming work;
  request.accept(work);
  transport::message& m = endpoint_.acquire_message();
  m.set_head_bytes(0);
  m.copy_payload({}, wire::checksum({}));
  work.reply(m);
  return {};
}

error engine::admit(transport::request_view& request, const collective_head& head) {
  const auto kind = static_cast<collective_kind>(head.kind);
  if (head.kind > static_cast<std::uint8_t>(collective_kind::query)) {
    return make_error(errc::malformed, "there is no collective request of kind {}", head.kind);
  }
  if (kind == collective_kind::query) return admit_query(request, head);
  if (closing_) return make_error(errc::closed, "node {} is shutting down", options_.id);
  const std::size_t size = request.payload().bytes.size() -
                           std::min<std::size_t>(head.subset_bytes, request.payload().bytes.size());
  const std::size_t limit = kind == collective_kind::broadcast ? max_request_bytes : max_membership_bytes;
  if (size > limit)
    return make_error(errc::too_large, "a request of {} bytes: at most {} are allowed", size, limit);
  auto entry = kind == collective_kind::broadcast ? find_service(service_id{head.service}) : group_service_;
  if (entry == nullptr ||
      (kind == collective_kind::create && find_service(service_id{head.service}) == nullptr)) {
    return make_error(errc::unknown_service, "node {} does not serve {:#06x}", options_.id, head.service);
  }
  if (live_operations_ >= options_.max_operations && !SCOLL_MUTANT(table_unbounded)) {
    return make_error(errc::busy, "node {} runs {} operations already", options_.id, live_operations_);
  }
  const bool known = find_group(head.group) != nullptr;
  auto group = group_for(head, request.payload().bytes);
  if (!group) {
    if (kind == collective_kind::forget) remember_forgotten(head.group);  // its creation may still arrive
    return group.error();
  }
  const error placed = admit_to_group(request, head, *group, std::move(entry));
  if (placed && !known) forget_group(head.group);
  return placed;
}

error engine::admit_to_group(transport::request_view& request, const collective_head& head,
                             const std::shared_ptr<group_state>& group,
                             std::shared_ptr<service_entry> service) {
  const membership& members = *group->members;
  if (head.service != static_cast<std::uint32_t>(group->service)) {
    return make_error(errc::unknown_service, "the group is for service {:#06x}, not {:#06x}",
                      static_cast<std::uint32_t>(group->service), head.service);
  }
  if (head.root_rank >= members.size() || members.node(head.root_rank) != head.operation.root) {
    return make_error(errc::not_member, "node {} is not member {} of the group", head.operation.root,
                      head.root_rank);
  }
  subset_ptr some;
  if (head.subset_bytes != 0) {
    const auto bytes = request.payload().bytes;
    if (head.subset_bytes > std::min(bytes.size(), max_subset_bytes))
      return make_error(errc::malformed, "the ranks of a subset in {} bytes", head.subset_bytes);
    auto taken = group->take_subset(bytes.first(head.subset_bytes));
    if (!taken) return taken.error();
    some = std::move(*taken);
  }
  const auto here = place_in(*group, head, some.get());
  if (!here) return here.error();
  if (members.node(here->parent_rank) != request.from().peer() && !SCOLL_MUTANT(wrong_parent_accepted)) {
    return make_error(errc::not_parent, "node {} is not the parent of node {} in this tree",
                      request.from().peer(), options_.id);
  }
  if (head.remaining_ns != 0 && head.remaining_ns <= head.margin_ns) {
    return {errc::deadline_exceeded, "the time left is less than the margin of one level"};
  }
  const bool dissents =
      some != nullptr && (head.view & collective_head::living) != 0 && view_differs(*group, *some);
  if (dissents && (head.view & collective_head::same_view) != 0)
    return make_error(errc::view_differs, "node {} holds others for alive than the root", options_.id);
  if (!admit_once(*group, head)) {
    return make_error(errc::already_exists, "operation {} of node {} was here before", head.operation.counter,
                      head.operation.root);
  }
  const bool relay = static_cast<collective_kind>(head.kind) == collective_kind::broadcast &&
                     head.service_version != service->table->version;
  if (static_cast<collective_kind>(head.kind) == collective_kind::broadcast) group->tentative = false;
  operation* op = acquire();
  ++statistics_.received;
  if (dissents) op->dissent_ = {1, group->self_rank};
  op->accept(request, head, group, std::move(some), std::move(service), *here->tree, here->relative, relay);
  return {};
}

/// Errors: this node, or the root, is not addressed; no such tree; the root got its own broadcast.
result<tree_place> engine::place_in(group_state& group, const collective_head& head, const subset* some) {
  std::optional<std::uint32_t> self = group.self_rank, root = head.root_rank;
  if (some != nullptr) {
    self = some->index_of(*self);
    root = some->index_of(*root);
    if (!self || !root) return error(errc::not_member, "the broadcast is for other members of the group");
  }
  tree_place here;
  here.members = some != nullptr ? some->size() : group.members->size();
  here.relative = to_relative(*self, *root, here.members);
  if (here.relative == 0) return error(errc::not_parent, "the root got its own broadcast");
  tree_fault fault = tree_fault::none;
  here.tree = group.resolve({head.tree_kind, head.tree_params}, here.members, fault);
  if (here.tree == nullptr) return error(errc::unknown_tree, describe(fault));
  const std::uint32_t parent = here.tree->parent(here.members, here.relative);
  if (parent >= here.members) return error(errc::unknown_tree, "the tree has a parent that is no member");
  const std::uint32_t index = to_rank(parent, *root, here.members);
  here.parent_rank = some != nullptr ? some->rank_at(index) : index;
  return here;
}

bool engine::admit_once(group_state& group, const collective_head& head) {
  if (SCOLL_MUTANT(no_replay_window)) return true;
  for (auto& w : group.windows) {
    if (w.root_rank != head.root_rank) continue;
    if (head.operation.incarnation < w.incarnation) return false;
    if (head.operation.incarnation > w.incarnation) w = {w.root_rank, head.operation.incarnation, {}};
    return w.window.admit(head.operation.counter);
  }
  group.windows.push_back({head.root_rank, head.operation.incarnation, {}});
  return group.windows.back().window.admit(head.operation.counter);
}

void engine::on_cancelled(transport::incoming& work, bool answer_awaited) noexcept {
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    if (&op->parent_ == &work) return op->on_parent_cancelled(answer_awaited);
  }
}

/// Whoever comes back in a new incarnation has died before, whether liveness noticed or not.
void engine::on_session_lost(transport::session& peer, const error& reason) noexcept {
  if (reason == errc::peer_rebooted) on_alive(peer.peer(), peer.peer_incarnation());
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
