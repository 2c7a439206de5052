#include "scoll/ship/shipper.hpp"

#include <algorithm>
#include <new>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/detail/remote_bcast.hpp"
#include "scoll/journal.hpp"
#include "scoll/ship/function_text.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll {

status ship_limits::validate() const {
  if (handlers == 0 || queue == 0) {
    return error(errc::invalid_argument, "ship.handlers and ship.queue must be at least 1");
  }
  if (eager_bytes < least_eager_bytes || eager_bytes > transport::max_payload_bytes) {
    return make_error(errc::invalid_argument, "ship.eager_bytes must lie between {} and {}",
                      least_eager_bytes, transport::max_payload_bytes);
  }
  if (default_deadline.over(time_point())) {
    return error(errc::invalid_argument, "ship.default_deadline must be positive, or none");
  }
  if (large_hold <= nanoseconds::zero()) {
    return error(errc::invalid_argument, "ship.large_hold must be positive");
  }
  return {};
}

}  // namespace scoll

namespace scoll::detail {
namespace {

// docs/wire.md describes these structs byte by byte.
static_assert(wire::fixed_size<ship_head> == 33);
static_assert(wire::fixed_size<ship_reply_head> == 8);

constexpr std::uint8_t known_flags = ship_head::notification | ship_head::large;

}  // namespace

shipper::shipper(engine& beside)
    : engine_(beside),
      wire_(beside.wire()),
      executor_(beside.get_executor()),
      limits_(beside.options().ship),
      scope_(executor_) {
  wire_.route(transport::traffic_class::call, *this);
}

shipper::~shipper() {
  SCOLL_ASSERT(server_call_count_ == 0 && outgoing_count_ == 0,
               "a node was destroyed while calls were running: await node.shutdown(...) first");
}

served_function* shipper::find(std::uint64_t id) noexcept {
  const auto at = std::lower_bound(functions_.begin(), functions_.end(), id,
                                   [](const auto& f, std::uint64_t i) { return f->key.id < i; });
  return at == functions_.end() || (*at)->key.id != id ? nullptr : at->get();
}

status shipper::add_function(std::shared_ptr<served_function> f) {
  if (const served_function* taken = find(f->key.id)) {
    if (taken->key.name == f->key.name) {
      return make_error(errc::already_exists, "function '{}' is registered", f->key.name);
    }
    return same_number(taken->key, f->key);
  }
  const auto at = std::upper_bound(functions_.begin(), functions_.end(), f->key.id,
                                   [](std::uint64_t i, const auto& other) { return i < other->key.id; });
  functions_.insert(at, std::move(f));
  return {};
}

task<void> shipper::close_function(std::shared_ptr<served_function> f) {
  co_await f->users.close();
  std::erase(functions_, f);
}

void shipper::on_request(transport::request_view& request) noexcept {
  error refused;
  try {
    refused = admit(request);
  } catch (const std::bad_alloc&) {
    refused = {errc::busy, "this process has no memory to admit the call"};
  }
  if (!refused) return;
  ++statistics_.refused;
  if (!request.settled()) request.refuse(refused);
}

/// True if a call of the peer can be admitted: while the peer has fewer calls running than slots are free. So
/// one peer never takes all slots, and the more peers call, the more equal their shares become.
bool shipper::room_for(const ship_peer& peer) const noexcept {
  if (SCOLL_MUTANT(ship_table_unbounded, "handlers are started without end")) return true;
  const std::size_t free = limits_.handlers - std::min<std::size_t>(limits_.handlers, server_call_count_);
  return SCOLL_MUTANT(ship_places_for_one, "one caller may take the slots of all handlers")
             ? free != 0
             : peer.running < free;
}

error shipper::admit(transport::request_view& request) {
  const auto head = wire::decode_from<ship_head>(request.head());
  if (!head) return head.error();
  if ((head->flags & ~known_flags) != 0) return {errc::malformed, "a call with unknown flags"};
  if (engine_.work().closed()) {
    return make_error(errc::closed, "node {} is shutting down", engine_.options().id);
  }
  served_function* const f = find(head->function);
  if (f == nullptr || f->users.closed()) {
    return make_error(errc::unknown_function, "node {} serves no function {:#018x}", engine_.options().id,
                      head->function);
  }
  if (const status allowed = check_rights(request.from(), f->key); !allowed) return allowed.error();
  if (!compatible(f->key.types, head->types) &&
      !SCOLL_MUTANT(ship_types_unchecked, "a function is called whatever types its caller expects")) {
    return answer_other_types(request, f->key);
  }
  ship_peer& from = peers_[request.from().peer()];
  from.gone = 0;
  if (!room_for(from)) {
    return make_error(errc::busy, "ship.handlers is {} on node {}: {} calls run, {} of them from node {}",
                      limits_.handlers, engine_.options().id, server_call_count_, from.running,
                      request.from().peer());
  }
  if ((head->flags & ship_head::large) != 0) return admit_large(request, *head, *f, from);
  server_call& h = f->make(*this);
  const std::span<const std::byte> bytes = request.payload().bytes;
  if (f->borrows) h.keep(wire_.keep(std::move(request.payload())));
  if (const status decoded = h.decode(f->borrows ? h.kept() : bytes); !decoded) {
    h.destroy();
    return decoded.error();
  }
  take(h, request, *head, from, 0);
  h.run_later();
  return {};
}

/// What the library's own broadcasts for others may do depends on the service, which their handler looks at.
status shipper::check_rights(const transport::session& from, const function_key& of) const noexcept {
  const bool allowed = engine_.options().allow.may_call(from.peer(), from.client_name(), of.name);
  if (allowed || of.id == remote_bcast.key().id) return {};
  return engine_.events().not_authorised(from.peer(), from.client_name(), of.name);
}

/// Describes this node's function. The caller compares it with its own and names both.
error shipper::answer_other_types(transport::request_view& request, const function_key& here) {
  const error refused(errc::type_mismatch, here.name);
  transport::message& m = wire_.acquire_message();
  std::span<std::byte> room = m.payload_space();
  room = room.first(std::min<std::size_t>(room.size(), request.reply_capacity()));
  const std::size_t size = describe_function(here, room);
  if (size == 0) {
    wire_.release_message(m);
    return refused;
  }
  ship_reply_head head;
  head.outcome = ship_outcome::other_types;
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  m.set_inline_payload(size, wire::checksum(room.first(size)));
  transport::incoming answered;
  request.accept(answered);
  answered.reply(m);
  return refused;
}

error shipper::admit_large(transport::request_view& request, const ship_head& head, served_function& f,
                           ship_peer& from) {
  const auto argument = wire::decode_from<transport::region_descriptor>(request.payload().bytes);
  if (!argument) return argument.error();
  if (argument->node != request.from().peer()) {
    return {errc::invalid_argument, "the argument's descriptor names a node other than the caller"};
  }
  if (const status room = check_large(argument->length); !room) return room.error();
  server_call& h = f.make(*this);
  take(h, request, head, from, argument->length);
  scope_.spawn(h.pull(*argument));
  return {};
}

status shipper::check_large(std::size_t bytes) const noexcept {
  if (bytes > limits_.large_bytes) {
    return make_error(errc::too_large, "an argument of {} bytes: node {} takes at most {}", bytes,
                      engine_.options().id, limits_.large_bytes);
  }
  if (bytes > limits_.large_memory - large_held_) {
    return make_error(errc::busy, "ship.large_memory is {} on node {}: {} are in use, {} more are needed",
                      limits_.large_memory, engine_.options().id, large_held_, bytes);
  }
  return {};
}

void shipper::take(server_call& h, transport::request_view& request, const ship_head& head, ship_peer& from,
                   std::size_t large) noexcept {
  ++statistics_.received;
  server_calls_.push_back(h);
  ++server_call_count_;
  ++from.running;
  large_held_ += large;
  h.admit(request, head, from, large);
}

void shipper::retire(server_call& h, ship_peer& peer) noexcept {
  h.list_hook<server_call>::unlink();
  h.destroy();
  --server_call_count_;
  --peer.running;
  if (peer.running == 0 && peer.gone != 0) peers_.erase(peer.gone);
}

/// Handlers of notifications, which are answered when they are admitted, may run on.
void shipper::on_client_gone(node_id client) noexcept {
  const auto found = peers_.find(client);
  if (found == peers_.end()) return;
  if (found->second.running == 0) {
    peers_.erase(found);
  } else {
    found->second.gone = client;
  }
}

void shipper::on_cancelled(transport::incoming& work, const transport::cancel_reason& reason) noexcept {
  auto& h = static_cast<server_call&>(work);
  if (reason.answer_awaited) return h.abort();
  h.on_caller_cancelled();
}

void shipper::on_session_lost(transport::session& peer, const error&) noexcept {
  server_call* next = nullptr;
  for (server_call* h = server_calls_.first(); h != nullptr; h = next) {
    next = server_calls_.next(*h);
    if (h->from() == &peer) h->on_caller_lost();
  }
}

std::size_t shipper::server_calls_of(node_id peer) const noexcept {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second.running;
}

void shipper::started(client_call& call) noexcept {
  outgoing_.push_back(call);
  ++outgoing_count_;
}

void shipper::ended(client_call& call) noexcept {
  call.list_hook<client_call>::unlink();
  --outgoing_count_;
}

bool shipper::idle() const noexcept {
  return server_call_count_ == 0 && outgoing_count_ == 0 && scope_.running() == 0;
}

void shipper::abort() noexcept {
  const error why(errc::closed, "this node is shutting down");
  client_call* next_call = nullptr;
  for (client_call* c = outgoing_.first(); c != nullptr; c = next_call) {
    next_call = outgoing_.next(*c);
    c->close(why);
  }
  server_call* next = nullptr;
  for (server_call* h = server_calls_.first(); h != nullptr; h = next) {
    next = server_calls_.next(*h);
    h->abort();
  }
}

void shipper::answer_all() noexcept {
  const error why(errc::closed, "the node shut down before the handler had returned");
  for (server_call* h = server_calls_.first(); h != nullptr; h = server_calls_.next(*h)) h->answer_early(why);
}

void shipper::add_running_handlers(std::vector<std::string>& into) const {
  auto& all = const_cast<intrusive_list<server_call, server_call>&>(server_calls_);
  for (server_call* h = all.first(); h != nullptr; h = all.next(*h)) {
    if (h->running()) into.emplace_back(h->name());
  }
}

std::vector<function_snapshot> shipper::describe_functions() const {
  std::vector<function_snapshot> found;
  found.reserve(functions_.size());
  for (const auto& f : functions_) {
    found.push_back(
        {std::string(f->key.name), f->users.inside(), f->latency.total(), f->failures, f->latency});
  }
  return found;
}

std::vector<call_snapshot> shipper::describe_calls(std::size_t most) const {
  std::vector<call_snapshot> found;
  const time_point now = executor_.now();
  auto& all = const_cast<intrusive_list<server_call, server_call>&>(server_calls_);
  for (server_call* h = all.first(); h != nullptr && found.size() < most; h = all.next(*h)) {
    const bool begun = h->running() || h->holding();
    found.push_back({std::string(h->name()), h->caller(), begun ? now - h->begun_at() : nanoseconds(0),
                     h->holding() ? "holding"
                     : begun      ? "running"
                                  : "waiting"});
  }
  return found;
}

}  // namespace scoll::detail
