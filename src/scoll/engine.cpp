#include "../../include/scoll/detail/engine.hpp"

#include <algorithm>
#include <chrono>
#include <new>

#include "../../include/coro/error_format.hpp"
#include "../../include/coro/sleep.hpp"
#include "../../include/scoll/detail/operation.hpp"
#include "../../include/scoll/incarnation_store.hpp"
#include "../../include/transport/wire/wire.hpp"
#include "../mutants.hpp"
#include "group_admin.hpp"

namespace scoll {

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
  return {};
}

}  // namespace scoll

namespace scoll::detail {
namespace {

constexpr std::size_t tombstones = 4096;

// docs/wire.md describes them byte by byte.
static_assert(wire::fixed_size<collective_head> == 146);
static_assert(wire::fixed_size<collective_reply_head> == 16);

transport::endpoint_options link_options(const node_options& options) {
  transport::endpoint_options link = options.link;
  link.self = options.id;
  link.cluster = options.cluster;
  link.incarnation = options.incarnation;
  return link;
}

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

const any_tree* group_state::resolve(const tree_spec& spec, tree_fault& fault) {
  if (has_resolved && resolved.spec() == spec) return &resolved;
  fault = check_tree(spec, members->size());
  if (fault != tree_fault::none) return nullptr;
  auto found = any_tree::resolve(spec, members->size());
  if (!found) {
    fault = tree_fault::bad_parameters;
    return nullptr;
  }
  resolved = *found;
  has_resolved = true;
  return &resolved;
}

/// Watches over a group that another node created and that nobody has used yet: if its creation failed and
/// the news of that did not come through, the creator does not know it any more (`C3`: a failed creation
/// leaves no state anywhere).
class engine::lease final : public timer_node, public transport::exchange {
 public:
  lease(engine& owner, std::shared_ptr<group_state> group)
      : timer_node(&fire), exchange(&on_answer), owner_(owner), group_(std::move(group)) {
    arm();
  }
  ~lease() {
    if (armed()) owner_.executor_.disarm(*this);
    if (pending()) cancel();
  }

 private:
  static constexpr int attempts = 3;

  void arm() noexcept {
    owner_.executor_.arm(*this, owner_.executor_.now() + owner_.options_.creation_lease);
  }

  static void fire(timer_node& node) noexcept { static_cast<lease&>(node).ask(); }

  void ask() noexcept {
    if (pending()) cancel();
    if (!group_->tentative) return owner_.end_lease(group_->id, false);
    transport::session* creator = owner_.endpoint_.find(group_->id.creator);
    if (creator == nullptr || ++asked_ > attempts) return owner_.end_lease(group_->id, true);
    collective_head head;
    head.kind = static_cast<std::uint8_t>(collective_kind::query);
    head.group = group_->id;
    transport::message& m = owner_.endpoint_.acquire_message();
    m.set_head_bytes(*wire::encode_to(m.head_space(), head));
    m.copy_payload({}, wire::checksum({}));
    arm();
    static_cast<void>(creator->request(*this, transport::traffic_class::urgent, m, 0).has_value());
  }

  static void on_answer(transport::exchange& self, transport::reply_event& event) noexcept {
    auto& l = static_cast<lease&>(self);
    if (event.outcome) return l.owner_.end_lease(l.group_->id, false);
    if (event.outcome.error() == errc::unknown_group || event.outcome.error() == errc::peer_rebooted) {
      return l.owner_.end_lease(l.group_->id, !SCOLL_MUTANT(failed_creation_kept));
    }
    if (event.outcome.error() == errc::busy) l.asked_ = 0;
    // Not reached: the timer asks again, a few times.
  }

  engine& owner_;
  std::shared_ptr<group_state> group_;
  int asked_ = 0;
};

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
  if (!services_.emplace(id, std::move(entry)).second) {
    return make_error(errc::already_exists, "service id {:#06x} is registered",
                      static_cast<std::uint32_t>(id));
  }
  return {};
}

std::shared_ptr<service_entry> engine::find_service(service_id id) const {
  const auto found = services_.find(id);
  return found == services_.end() || found->second->closing ? nullptr : found->second;
}

task<void> engine::close_service(std::shared_ptr<service_entry> entry) {
  entry->closing = true;
  while (entry->running != 0) {
    entry->idle.reset();
    co_await entry->idle.wait();
  }
  const auto found = services_.find(entry->table->id);
  if (found != services_.end() && found->second == entry) services_.erase(found);
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

begun engine::begin(const std::shared_ptr<group_state>& group, const std::shared_ptr<service_entry>& service,
                    collective_kind kind, const tree_spec& tree, const bcast_options& options,
                    encode_function encode, const void* what) {
  if (closing_) return {nullptr, {errc::closed, "this node is shutting down"}};
  if (group->forgotten) return {nullptr, {errc::unknown_group, "the group has been destroyed"}};
  tree_fault fault = tree_fault::none;
  const any_tree* resolved = group->resolve(tree, fault);
  if (resolved == nullptr) return {nullptr, {errc::unknown_tree, describe(fault)}};
  operation* op = acquire();
  if (op == nullptr) {
    return {nullptr,
            make_error(errc::busy, "{} operations run already: max_operations", options_.max_operations)};
  }
  ++statistics_.started;
  op->head_.kind = static_cast<std::uint8_t>(kind);
  op->head_.tree_kind = tree.kind;
  op->head_.tree_params = tree.params;
  op->head_.service = static_cast<std::uint32_t>(group->service);
  op->head_.service_version = service->table->version;
  op->head_.group = group->id;
  op->head_.operation = {options_.id, options_.incarnation, group->next_counter++, 0};
  op->bind(group, service, *resolved, group->self_rank, 0);
  if (const status s = op->set_bounds(options); !s) return fail(*op, s.error());
  transport::slab_ref slab = endpoint_.acquire_payload();
  if (!slab) return fail(*op, {errc::busy, "no buffer left for a request"});
  const std::size_t limit = kind == collective_kind::broadcast ? max_request_bytes : max_membership_bytes;
  const auto size = encode(what, {slab.data(), limit});
  if (!size) return fail(*op, size.error());
  const std::span<const std::byte> bytes(slab.data(), *size);
  op->request_bytes_ = {std::move(slab), bytes};
  return {op, {}};
}

begun engine::fail(operation& op, const error& why) noexcept {
  retire(op);
  return {nullptr, why};
}

begun engine::begin_broadcast(const std::shared_ptr<group_state>& group, const service_table& table,
                              const void* request, const bcast_options& options) {
  if (options.stop.stop_requested()) {
    return {nullptr, {errc::cancelled, "the stop token had fired before the broadcast began"}};
  }
  const auto service = find_service(table.id);
  if (service == nullptr || service->table != &table) {
    return {nullptr, make_error(errc::unknown_service, "service {:#06x} is not registered on this node",
                                static_cast<std::uint32_t>(table.id))};
  }
  return begin(group, service, collective_kind::broadcast, group->tree, options, table.encode_request,
               request);
}

void engine::abort_all(time_point by) noexcept {
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    if (op->answered_) continue;
    op->abort();
    op->expire_by(by);
  }
}

std::vector<std::string> engine::running_hooks() const {
  std::vector<std::string> names;
  auto& live = const_cast<intrusive_list<operation>&>(live_);
  for (operation* op = live.first(); op != nullptr; op = live.next(*op)) {
    const service_table& table = op->table();
    const std::string service = table.name.empty()
                                    ? fmt::format("service {:#06x}", static_cast<std::uint32_t>(table.id))
                                    : std::string(table.name);
    for (const char* hook : op->running_hooks()) names.push_back(fmt::format("{}::{}", service, hook));
  }
  return names;
}

task<status> engine::shutdown(nanoseconds limit) {
  const time_point begun_at = executor_.now();
  closing_ = true;
  co_await wait_idle(begun_at + limit / 2);
  abort_all(begun_at + limit * 5 / 8);
  co_await wait_idle(begun_at + limit * 3 / 4);
  leases_.clear();
  const std::vector<std::string> stuck = running_hooks();
  const nanoseconds left = std::max<nanoseconds>(limit / 8, begun_at + limit - executor_.now());
  const status drained = co_await endpoint_.drain(left);
  std::vector<const char*> working;
  if (pool_ != nullptr) {
    working = co_await pool_->shutdown(limit / 8);
    co_await wait_idle(executor_.now() + limit / 8);  // for hooks that awaited the pool
  }
  if (live_operations_ == 0) co_await scope_->join();
  if (live_operations_ == 0 && working.empty()) co_return drained;
  std::string names;
  for (const std::string& name : stuck) names += " " + name;
  for (const char* name : working) names += fmt::format(" {} (on the pool)", name);
  co_return make_error(errc::deadline_exceeded, "hooks that have not returned:{}", names);
}

void engine::end(std::unique_ptr<engine> done) {
  static auto* const kept = new std::vector<std::unique_ptr<engine>>;
  if (done->operations() != 0 || !done->scope_->try_join()) kept->push_back(std::move(done));
}

task<void> engine::wait_idle(time_point until) {
  constexpr nanoseconds poll = std::chrono::milliseconds(1);
  while (live_operations_ != 0 && executor_.now() < until) co_await sleep_for(poll);
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
  const std::size_t size = request.payload().bytes.size();
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
  const bool known = groups_.contains(head.group);
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
  const std::uint32_t n = members.size();
  if (head.service != static_cast<std::uint32_t>(group->service)) {
    return make_error(errc::unknown_service, "the group is for service {:#06x}, not {:#06x}",
                      static_cast<std::uint32_t>(group->service), head.service);
  }
  if (head.root_rank >= n || members.node(head.root_rank) != head.operation.root) {
    return make_error(errc::not_member, "node {} is not member {} of the group", head.operation.root,
                      head.root_rank);
  }
  tree_fault fault = tree_fault::none;
  const any_tree* tree = group->resolve({head.tree_kind, head.tree_params}, fault);
  if (tree == nullptr) return {errc::unknown_tree, describe(fault)};
  const std::uint32_t relative = to_relative(group->self_rank, head.root_rank, n);
  if (relative == 0) return {errc::not_parent, "the root got its own broadcast"};
  const std::uint32_t parent = tree->parent(n, relative);
  if (parent >= n || (members.node(to_rank(parent, head.root_rank, n)) != request.from().peer() &&
                      !SCOLL_MUTANT(wrong_parent_accepted))) {
    return make_error(errc::not_parent, "node {} is not the parent of node {} in this tree",
                      request.from().peer(), options_.id);
  }
  if (head.remaining_ns != 0 && head.remaining_ns <= head.margin_ns) {
    return {errc::deadline_exceeded, "the time left is less than the margin of one level"};
  }
  if (!admit_once(*group, head)) {
    return make_error(errc::already_exists, "operation {} of node {} was here before", head.operation.counter,
                      head.operation.root);
  }
  const bool relay = static_cast<collective_kind>(head.kind) == collective_kind::broadcast &&
                     head.service_version != service->table->version;
  if (static_cast<collective_kind>(head.kind) == collective_kind::broadcast) group->tentative = false;
  operation* op = acquire();
  ++statistics_.received;
  op->accept(request, head, group, std::move(service), *tree, relative, relay);
  return {};
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

void engine::on_session_lost(transport::session&, const error&) noexcept {}

transport::session* engine::session_to(group_state& group, std::uint32_t rank) noexcept {
  const auto at = std::lower_bound(group.sessions.begin(), group.sessions.end(), rank,
                                   [](const auto& known, std::uint32_t r) { return known.first < r; });
  if (at != group.sessions.end() && at->first == rank) return at->second;
  transport::session* const found = endpoint_.find(group.members->node(rank));
  if (found != nullptr) group.sessions.emplace(at, rank, found);
  return found;
}

// ---- groups

std::shared_ptr<group_state> engine::find_group(const group_id& id) const {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : found->second;
}

result<std::shared_ptr<group_state>> engine::group_for(const collective_head& head,
                                                       std::span<const std::byte> payload) {
  if (auto known = find_group(head.group)) return known;
  if (holds_out_of_band(head.group)) {
    return make_error(errc::membership_changed,
                      "node {} has another membership for group {} of service {:#06x}", options_.id,
                      head.group.counter, head.service);
  }
  if (static_cast<collective_kind>(head.kind) == collective_kind::create) return install_group(head, payload);
  return make_error(errc::unknown_group, "node {} does not hold group {} of node {}", options_.id,
                    head.group.counter, head.group.creator);
}

result<std::shared_ptr<group_state>> engine::install_group(const collective_head& head,
                                                           std::span<const std::byte> payload) {
  if (std::find(forgotten_.begin(), forgotten_.end(), head.group) != forgotten_.end()) {
    return error(errc::unknown_group, "the group was destroyed before its creation arrived");
  }
  auto targets = decode_membership(payload);
  if (!targets) return targets.error();
  auto members = membership::make(std::move(*targets));
  if (!members) return members.error();
  if (head.group.creator == 0) return error(errc::malformed, "a group that nobody creates");
  if ((*members)->digest() != head.group.digest) {
    return error(errc::malformed, "the membership does not have the digest of its group id");
  }
  const auto rank = (*members)->rank_of(options_.id);
  if (!rank) return make_error(errc::not_member, "node {} is not in the group", options_.id);
  auto group = make_group(head.group, std::move(*members), *rank, service_id{head.service},
                          {head.tree_kind, head.tree_params});
  group->tentative = true;
  leases_[head.group] = std::make_unique<lease>(*this, group);
  return group;
}

std::shared_ptr<group_state> engine::make_group(const group_id& id, membership_ptr members,
                                                std::uint32_t self_rank, service_id service,
                                                const tree_spec& tree) {
  auto group = std::make_shared<group_state>();
  group->id = id;
  group->members = std::move(members);
  group->self_rank = self_rank;
  group->service = service;
  group->tree = tree;
  groups_[id] = group;
  return group;
}

void engine::forget_group(const group_id& id) noexcept {
  const auto found = groups_.find(id);
  if (found != groups_.end()) {
    found->second->forgotten = true;
    groups_.erase(found);
  }
  leases_.erase(id);
}

/// For good: a creation that arrives later is refused.
void engine::drop_group(const group_id& id) noexcept {
  const group_id kept = id;  // `id` may lie in the group
  forget_group(kept);
  remember_forgotten(kept);
}

void engine::remember_forgotten(const group_id& id) {
  if (std::find(forgotten_.begin(), forgotten_.end(), id) != forgotten_.end()) return;
  if (forgotten_.size() < tombstones) {
    forgotten_.push_back(id);
  } else {
    forgotten_[forgotten_next_++ % tombstones] = id;
  }
}

void engine::end_lease(const group_id& id, bool drop) noexcept {
  const group_id copy = id;  // `id` may lie in the lease
  const auto group = find_group(copy);
  leases_.erase(copy);
  if (drop && group != nullptr && group->tentative) drop_group(copy);
}

task<result<std::shared_ptr<group_state>>> engine::create_group(membership_ptr members, service_id service,
                                                                group_options options) {
  const auto rank = members->rank_of(options_.id);
  if (!rank)
    co_return make_error(errc::not_member, "node {} cannot be root of a group it is not in", options_.id);
  if (find_service(service) == nullptr) {
    co_return make_error(errc::unknown_service, "service {:#06x} is not registered on this node",
                         static_cast<std::uint32_t>(service));
  }
  const std::size_t size = membership_bytes(*members);
  if (size > max_membership_bytes) {
    co_return make_error(errc::too_large, "a membership of {} members takes {} bytes: at most {} fit",
                         members->size(), size, max_membership_bytes);
  }
  const tree_spec tree = options.tree.value_or(options_.default_tree);
  const group_id id{options_.id, options_.incarnation, next_group_++, members->digest()};
  auto group = make_group(id, std::move(members), *rank, service, tree);
  group->creating = true;
  const auto created = co_await run_on_group(group, collective_kind::create, tree, options.deadline);
  error why = created ? error{} : created.error();
  if (created && !created->clean()) {
    const cause& first = created->causes().size() > 1 ? created->causes()[1] : created->causes()[0];
    const std::uint32_t missing = group->members->size() - created->count(member_state::merged);
    why = make_error(first.what.code(), "{} of {} members did not join: {}: {}", missing,
                     group->members->size(), to_string(first.where), first.what.text());
  }
  if (why) {
    // Whoever may have it is told directly: the tree may be what is broken. Who cannot be told asks when its
    // lease ends.
    if (created)
      static_cast<void>(co_await run_on_group(group, collective_kind::forget, flat{}, options.deadline));
    drop_group(id);
    co_return why;
  }
  group->creating = false;
  co_return group;
}

/// Some membership is known under the service's own id in `id`.
bool engine::holds_out_of_band(const group_id& id) const {
  group_id any = id;
  any.digest = {};
  const auto found = groups_.lower_bound(any);
  return id.creator == 0 && found != groups_.end() && found->first.creator == 0 &&
         found->first.incarnation == id.incarnation && found->first.counter == id.counter;
}

result<std::shared_ptr<group_state>> engine::adopt_group(membership_ptr members, service_id service,
                                                         std::uint64_t id, const group_options& options) {
  const auto rank = members->rank_of(options_.id);
  if (!rank) return make_error(errc::not_member, "node {} is not in the group", options_.id);
  if (find_service(service) == nullptr) {
    return make_error(errc::unknown_service, "service {:#06x} is not registered on this node",
                      static_cast<std::uint32_t>(service));
  }
  const group_id name = out_of_band_group(service, id, members->digest());
  if (holds_out_of_band(name)) {
    return make_error(errc::already_exists, "this node holds group {} of service {:#06x}", id,
                      static_cast<std::uint32_t>(service));
  }
  return make_group(name, std::move(members), *rank, service, options.tree.value_or(options_.default_tree));
}

task<status> engine::destroy_group(std::shared_ptr<group_state> group) {
  if (group->forgotten) co_return error(errc::unknown_group, "the group has been destroyed");
  const group_id id = group->id;
  const tree_spec tree = group->tree;
  constexpr nanoseconds limit = std::chrono::seconds(5);
  auto told = co_await run_on_group(group, collective_kind::forget, tree, limit);
  // Below a member that is gone nobody has heard of it: now each is told directly.
  if (told && !told->clean()) told = co_await run_on_group(group, collective_kind::forget, flat{}, limit);
  drop_group(id);
  if (!told) co_return told.error();
  for (std::uint32_t rank = 0; rank < told->members(); ++rank) {
    if (told->state(rank) != member_state::merged && told->why(rank).what != errc::unknown_group)
      co_return error(errc::incomplete, describe(*told));
  }
  co_return status{};
}

/// A broadcast of the library's own: its outcome.
task<result<outcome>> engine::run_on_group(std::shared_ptr<group_state> group, collective_kind kind,
                                           tree_spec tree, nanoseconds deadline) {
  bcast_options options;
  options.deadline = deadline;
  const auto encode = kind == collective_kind::create ? &encode_membership : &encode_nothing;
  const begun b = begin(group, group_service_, kind, tree, options, encode, group->members.get());
  if (b.op == nullptr) co_return b.reason;
  co_await operation_awaiter(*b.op, {});
  outcome o = b.op->take_outcome();
  release(*b.op);
  co_return o;
}

}  // namespace scoll::detail
