#include "transport/sim/verbs/fake_context.hpp"

#include <algorithm>
#include <utility>

#include "transport/sim/verbs/fake_pair.hpp"

namespace scoll::testing {

using transport::verbs::completion;
using transport::verbs::device_event;
using transport::verbs::gid;

namespace {

constexpr std::uint64_t most_late_ns = 2000;
constexpr std::uint32_t most_entries = 32767;
constexpr std::uint32_t most_windows = 4096;

}  // namespace

gid fake_gid(std::uint32_t host) noexcept {
  return {0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0xff,
          0xff,
          10,
          static_cast<std::uint8_t>(host >> 16U),
          static_cast<std::uint8_t>(host >> 8U),
          static_cast<std::uint8_t>(host)};
}

std::uint32_t host_of_gid(const gid& address, std::uint32_t hosts) noexcept {
  const std::uint32_t host =
      (std::uint32_t{address[13]} << 16U) | (std::uint32_t{address[14]} << 8U) | address[15];
  return host < hosts && address == fake_gid(host) ? host : hosts;
}

fake_context::fake_context(fake_fabric& fabric, sim_executor& home, std::uint32_t host)
    : fabric_(fabric), home_(home), host_(host) {
  fabric.contexts().push_back(*this);
}

fake_context::~fake_context() {
  if (arrivals_.armed()) fabric_.world().disarm(arrivals_);
}

// ---- objects

transport::verbs::device_limits fake_context::limits() {
  return {.queue_entries = most_entries,
          .shared_receives = most_entries,
          .queue_pair_entries = most_entries,
          .reads_out = 16,
          .reads_in = 16,
          .windows = most_windows};
}

result<transport::verbs::port_facts> fake_context::port(std::uint8_t number) {
  if (number != 1) return error(errc::not_found, "a fake device has one port");
  transport::verbs::port_facts facts;
  facts.active = fabric_.host(host_).port_up;
  facts.ethernet = true;
  facts.mtu = fabric_.mtu;
  facts.max_message_bytes = 1U << 23U;
  return facts;
}

/// As on real ports, the first entry is the link-local address.
result<transport::verbs::gid_entry> fake_context::address(std::uint8_t, std::uint32_t index) {
  if (index == 0) return transport::verbs::gid_entry{{0xfe, 0x80}, true};
  if (index == 1) return transport::verbs::gid_entry{fake_gid(host_), true};
  return error(errc::not_found, "no more addresses");
}

result<transport::verbs::memory_object*> fake_context::register_memory(std::span<std::byte> bytes,
                                                                       transport::verbs::register_for use) {
  const bool for_reads = use != transport::verbs::register_for::messages;
  if (for_reads && fabric_.host(host_).refuses_memory)
    return error(errc::io_error, "verbs: raise the limit of locked memory");
  auto made = std::make_unique<memory>();
  made->bytes = bytes;
  made->use = use;
  made->local_key = made->remote_key = fabric_.next_key();
  // It is made up, because the address of real memory is not the same in every run.
  made->remote_address = std::uint64_t{made->remote_key} << 32U;
  ++fabric_.statistics.registrations;
  return memories_.emplace(made->local_key, std::move(made)).first->second.get();
}

/// Memory that a window is bound to stays registered.
void fake_context::deregister(transport::verbs::memory_object* object) noexcept {
  for (const auto& [number, pair] : fabric_.pairs()) {
    if (pair->windows().use(object)) ++fabric_.statistics.illegal_calls;
  }
  memories_.erase(object->local_key);
}

bool fake_context::holds(std::uint32_t key, const std::byte* data, std::size_t size) const noexcept {
  const auto found = memories_.find(key);
  if (found == memories_.end()) return false;
  const auto bytes = found->second->bytes;
  return data >= bytes.data() && data + size <= bytes.data() + bytes.size();
}

const std::byte* fake_context::find_for_peers(std::uint32_t key, std::uint64_t address,
                                              std::size_t size) const noexcept {
  const auto found = memories_.find(key);
  if (found == memories_.end() || found->second->use != transport::verbs::register_for::remote_read)
    return nullptr;
  const memory& m = *found->second;
  const std::uint64_t offset = address - m.remote_address;
  return offset <= m.bytes.size() && size <= m.bytes.size() - offset ? m.bytes.data() + offset : nullptr;
}

std::optional<std::uint64_t> fake_context::address_in_window(
    const transport::verbs::memory_object* object, std::span<const std::byte> bytes) const noexcept {
  const auto found = memories_.find(object->local_key);
  if (found == memories_.end() || found->second.get() != object) return std::nullopt;
  const memory& m = *found->second;
  if (m.use != transport::verbs::register_for::windows || !holds(m.local_key, bytes.data(), bytes.size()))
    return std::nullopt;
  return m.remote_address + static_cast<std::uint64_t>(bytes.data() - m.bytes.data());
}

result<transport::verbs::completion_queue*> fake_context::make_completion_queue(std::uint32_t entries) {
  fake_completion_queue& made = completion_queues_.emplace_back();
  made.entries = entries;
  return &made;
}

void fake_context::destroy(transport::verbs::completion_queue* queue) noexcept {
  small_queue<coming> kept;
  for (; !coming_.empty(); coming_.pop_front()) {
    if (coming_.front().queue != queue) kept.push_back(coming_.front());
  }
  coming_ = std::move(kept);
  completion_queues_.remove_if([&](const fake_completion_queue& q) { return &q == queue; });
}

result<transport::verbs::receive_queue*> fake_context::make_receive_queue(std::uint32_t entries) {
  fake_receive_queue& made = receive_queues_.emplace_back();
  made.entries = entries;
  return &made;
}

void fake_context::destroy(transport::verbs::receive_queue* queue) noexcept {
  receive_queues_.remove_if([&](const fake_receive_queue& q) { return &q == queue; });
}

result<transport::verbs::queue_pair_object*> fake_context::make_queue_pair(
    const transport::verbs::queue_pair_request& what, std::uint8_t) {
  if (failed_) return error(errc::io_error, "the device has failed");
  return new fake_pair(*this, what);
}

status fake_context::connect(transport::verbs::queue_pair_object* pair,
                             const transport::verbs::path_request& path) {
  return static_cast<fake_pair*>(pair)->connect(path);
}

result<transport::verbs::queue_pair_object*> fake_context::make_datagram_pair(
    const transport::verbs::datagram_pair_request& what, std::uint8_t) {
  if (failed_) return error(errc::io_error, "the device has failed");
  return new fake_datagram_pair(*this, what);
}

void fake_context::destroy(transport::verbs::queue_pair_object* pair) noexcept {
  bring_all_of(*pair);
  const auto& datagrams = fabric_.datagrams().pairs();
  if (const auto found = datagrams.find(pair->number); found != datagrams.end()) {
    delete found->second;
  } else {
    delete static_cast<fake_pair*>(pair);
  }
}

result<transport::verbs::address_handle*> fake_context::make_address_handle(
    const transport::verbs::address_request& to) {
  const std::uint32_t host = host_of_gid(to.remote, fabric_.host_count());
  if (failed_ || host == fabric_.host_count()) return error(errc::io_error, "no port has this address");
  fake_address_handle& made = handles_.emplace_back();
  made.host = host;
  ++fabric_.statistics.address_handles;
  return &made;
}

/// A handle must stay until the last datagram that is sent by it has left.
void fake_context::destroy(transport::verbs::address_handle* handle) noexcept {
  auto& own = static_cast<fake_address_handle&>(*handle);
  --fabric_.statistics.address_handles;
  own.destroyed = own.sends != 0;
  if (own.destroyed) {
    ++fabric_.statistics.illegal_calls;
  } else {
    handles_.remove_if([&](const fake_address_handle& h) { return &h == handle; });
  }
}

bool fake_context::has(const transport::verbs::address_handle* handle) const noexcept {
  return std::any_of(handles_.begin(), handles_.end(),
                     [&](const fake_address_handle& h) { return &h == handle && !h.destroyed; });
}

// ---- queues

std::size_t fake_context::post(transport::verbs::receive_queue* queue,
                               std::span<const transport::verbs::receive_request> receives) noexcept {
  auto& into = static_cast<fake_receive_queue&>(*queue);
  const std::size_t room = failed_ ? 0 : into.entries - into.places.size();
  const std::size_t count = std::min(room, receives.size());
  if (count < receives.size() && !failed_) ++fabric_.statistics.illegal_calls;
  for (const auto& each : receives.first(count)) into.places.push_back(each);
  return count;
}

std::size_t fake_context::post(transport::verbs::queue_pair_object* pair,
                               std::span<const transport::verbs::send_request> sends) noexcept {
  return static_cast<fake_pair*>(pair)->post(sends);
}

std::size_t fake_context::post(transport::verbs::queue_pair_object* pair,
                               std::span<const transport::verbs::read_request> reads) noexcept {
  return static_cast<fake_pair*>(pair)->post(reads);
}

std::size_t fake_context::post(transport::verbs::queue_pair_object* pair,
                               std::span<const transport::verbs::window_request> windows) noexcept {
  return static_cast<fake_pair*>(pair)->post(windows);
}

std::uint32_t fake_context::window_key(const transport::verbs::queue_pair_object* pair,
                                       std::uint32_t window) const noexcept {
  return static_cast<const fake_pair*>(pair)->windows().key(window);
}

std::size_t fake_context::post(transport::verbs::queue_pair_object* pair,
                               std::span<const transport::verbs::datagram_request> sends) noexcept {
  return static_cast<fake_datagram_pair*>(pair)->post(sends);
}

void fake_context::complete(fake_completion_queue& queue, const completion& done) noexcept {
  const nanoseconds late{static_cast<std::int64_t>(fabric_.world().random().below(most_late_ns))};
  const nanoseconds before = coming_.empty() ? nanoseconds(0) : coming_.back().due;
  coming_.push_back({std::max(before, fabric_.world().now() + late), &queue, done});
  if (!arrivals_.armed()) fabric_.world().arm(arrivals_, coming_.front().due);
}

/// A queue pair for connections is destroyed only when all that it completes is visible.
void fake_context::bring_all_of(const transport::verbs::queue_pair_object& pair) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < coming_.size(); ++i) {
    if (coming_[i].done.queue_pair == pair.number) count = i + 1;
  }
  for (std::size_t i = 0; i < count; ++i) coming_[i].due = fabric_.world().now();
  bring();
}

/// Some devices tell of failures to those who wait for arrivals alone, and others do not.
bool fake_context::wakes(transport::verbs::wake_for armed, const completion& done) const noexcept {
  using transport::verbs::wake_for;
  if (armed != wake_for::arrivals) return armed == wake_for::everything;
  if (done.outcome == completion::result::success) return done.has_immediate;
  return fabric_.world().random().below(2) == 0;
}

/// Completions become visible, unless the host is frozen.
void fake_context::bring() noexcept {
  if (fabric_.frozen(host_)) return;
  const nanoseconds now = fabric_.world().now();
  while (!coming_.empty() && coming_.front().due <= now) {
    fake_completion_queue& queue = *coming_.front().queue;
    const completion done = coming_.front().done;
    coming_.pop_front();
    if (queue.done.size() >= queue.entries) {
      ++fabric_.statistics.overruns;
      fail();
      return;
    }
    queue.done.push_back(done);
    if (!wakes(queue.armed, done)) continue;
    queue.armed = transport::verbs::wake_for::nothing;
    event_ready_ = true;
  }
  if (!coming_.empty() && !arrivals_.armed()) fabric_.world().arm(arrivals_, coming_.front().due);
  if (event_ready_ && waiter_ != nullptr) wake_.at(now);
}

std::size_t fake_context::not_taken() const noexcept {
  std::size_t count = 0;
  for (const fake_completion_queue& queue : completion_queues_) count += queue.done.size();
  return count;
}

int fake_context::poll(transport::verbs::completion_queue* queue, std::span<completion> into) noexcept {
  if (failed_) return -1;
  auto& from = static_cast<fake_completion_queue&>(*queue);
  const std::size_t count = std::min(into.size(), from.done.size());
  for (std::size_t i = 0; i < count; ++i) {
    into[i] = from.done.front();
    from.done.pop_front();
  }
  return static_cast<int>(count);
}

/// A completion that comes just before its queue is armed wakes nobody.
void fake_context::bring_before_arming() noexcept {
  if (coming_.empty() || fabric_.world().random().below(4) != 0) return;
  coming_.front().due = std::min(coming_.front().due, fabric_.world().now());
  bring();
}

status fake_context::arm(transport::verbs::completion_queue* queue,
                         transport::verbs::wake_for what) noexcept {
  if (failed_) return error(errc::io_error, "the device has failed");
  bring_before_arming();
  auto& armed = static_cast<fake_completion_queue*>(queue)->armed;
  armed = std::max(armed, what);
  return {};
}

// ---- waiting

void fake_context::wake_on_completion(transport::verbs::wakeup& waiter) noexcept {
  waiter_ = &waiter;
  if (event_ready_) wake_.at(fabric_.world().now());
}

void fake_context::wake() noexcept {
  if (waiter_ == nullptr) return;
  event_ready_ = false;
  ++fabric_.statistics.wakeups;
  std::exchange(waiter_, nullptr)->on_wake();
}

void fake_context::wake_on_event(transport::verbs::wakeup& waiter) noexcept {
  event_waiter_ = &waiter;
  if (!events_.empty()) wake_for_event_.at(fabric_.world().now());
}

void fake_context::wake_for_event() noexcept {
  if (event_waiter_ != nullptr) std::exchange(event_waiter_, nullptr)->on_wake();
}

void fake_context::stop_waking(transport::verbs::wakeup& stopped) noexcept {
  waiter_ = event_waiter_ = nullptr;
  stopped_ = &stopped;
  say_stopped_.at(fabric_.world().now());
}

void fake_context::say_stopped() noexcept {
  std::exchange(stopped_, nullptr)->on_wake();
}

bool fake_context::take_event(device_event& into) noexcept {
  if (events_.empty()) return false;
  into = events_.front();
  events_.pop_front();
  return true;
}

void fake_context::tell(const device_event& event) {
  events_.push_back(event);
  if (event_waiter_ != nullptr) wake_for_event_.at(fabric_.world().now());
}

void fake_context::fail() {
  if (std::exchange(failed_, true)) return;
  std::vector<fake_pair*> own;
  for (const auto& [number, pair] : fabric_.pairs()) {
    if (&pair->device() == this) own.push_back(pair);
  }
  for (fake_pair* pair : own) pair->fail_all();
  for (const auto& [number, pair] : fabric_.datagrams().pairs()) {
    if (&pair->device() == this) pair->fail_all();
  }
  tell({.kind = device_event::what::device_failed});
}

}  // namespace scoll::testing
