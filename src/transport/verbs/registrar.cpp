#include "transport/verbs/registrar.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/verbs/device.hpp"

namespace scoll::transport::verbs {

/// One piece of memory. It is registered and ended by jobs of its own, except when a device is opened or
/// closed.
class registrar::entry final : public control_job, public device_waiter {
 public:
  entry(registrar& owner, registration* user, std::span<std::byte> memory, register_for use) noexcept
      : memory_(memory), use_(use), owner_(owner), user_(user) {}
  ~entry() = default;

  bool is(const registration& what) const noexcept { return user_ == &what; }
  std::span<std::byte> memory() const noexcept { return memory_; }
  register_for use() const noexcept { return use_; }
  bool is_added() const noexcept { return state_ == state::added; }
  bool is_of_slabs() const noexcept { return user_ == nullptr; }

  void add() noexcept {
    busy_ = owner_.device_.pass();
    owner_.device_.await(*this);
  }
  /// It has been added, by a job or with the device.
  void take(memory_object& made) noexcept {
    object_ = &made;
    state_ = state::added;
    if (user_ == nullptr) return;
    user_->local_key = made.local_key;
    user_->remote_key = made.remote_key;
    user_->remote_address = made.remote_address;
  }
  const memory_object* object() const noexcept { return object_; }
  memory_object* leave_object() noexcept { return std::exchange(object_, nullptr); }
  void set_renewing(bool on) noexcept {
    renewing_ = on;
    if (!on && removed_) begin(state::removing);
  }
  void remove() noexcept {
    busy_ = owner_.device_.pass();
    removed_ = true;
    if (!renewing_) begin(state::removing);
  }

 private:
  enum class state : std::uint8_t { none, adding, added, removing };

  void on_device(const status& open) noexcept override {
    const status usable = open ? owner_.usable() : open;
    if (!usable) return failed(usable);
    begin(state::adding);
  }
  /// The object and the device are looked up now, because they belong to the executor.
  void begin(state next) noexcept {
    state_ = next;
    ended_ = leave_object();
    context_ = owner_.device_.context_if_open();
    ++owner_.jobs_;
    owner_.device_.control().submit(*this);
  }
  void perform() noexcept override {
    if (state_ == state::adding) {
      made_ = context_->register_memory(memory_, use_);
    } else if (ended_ != nullptr) {
      context_->deregister(ended_);
    }
  }
  void on_done() noexcept override {
    registration& user = *user_;
    registrar& owner = owner_;
    const gate_pass done = std::move(busy_);
    if (state_ == state::removing) {
      owner.forget(*this);
      owner.job_done();
      return user.on_removed();
    }
    const status outcome = made_ ? status{} : status(made_.error());
    outcome ? take(**made_) : owner.forget(*this);
    owner.job_done();
    user.on_added(outcome);
  }
  void failed(const status& outcome) noexcept {
    registration& user = *user_;
    const status why = outcome;
    const gate_pass done = std::move(busy_);
    owner_.forget(*this);
    user.on_added(why);
  }

  std::span<std::byte> memory_;
  register_for use_;
  registrar& owner_;
  registration* user_;  // null for the slabs
  memory_object* object_ = nullptr;
  state state_ = state::none;
  bool renewing_ = false;
  bool removed_ = false;
  gate_pass busy_;
  // of the job
  device_context* context_ = nullptr;
  memory_object* ended_ = nullptr;
  result<memory_object*> made_ = error(errc::closed);
};

registrar::registrar(device& owner) noexcept : device_(owner) {}

registrar::~registrar() {
  SCOLL_ASSERT(std::ranges::all_of(entries_, [](const auto& e) { return e->is_of_slabs(); }),
               "registered memory must end before its rail");
}

void registrar::add(registration& what, std::span<std::byte> memory, memory_access access) noexcept {
  const register_for use = access == memory_access::write ? register_for::messages : for_peers();
  entries_.push_back(std::make_unique<entry>(*this, &what, memory, use));
  entries_.back()->add();
}

register_for registrar::for_peers() const noexcept {
  return device_.options().windows == 0 ? register_for::remote_read : register_for::windows;
}

const memory_object* registrar::find_object(std::uint32_t local_key) const noexcept {
  for (const auto& each : entries_) {
    if (each->object() != nullptr && each->object()->local_key == local_key) return each->object();
  }
  return nullptr;
}

void registrar::remove(registration& what) noexcept {
  find(what)->remove();
}

registrar::entry* registrar::find(const registration& what) noexcept {
  const auto found = std::ranges::find_if(entries_, [&](const auto& e) { return e->is(what); });
  SCOLL_ASSERT(found != entries_.end(), "memory is removed that was not added");
  return found->get();
}

void registrar::forget(entry& gone) noexcept {
  std::erase_if(entries_, [&](const auto& e) { return e.get() == &gone; });
}

void registrar::job_done() noexcept {
  if (--jobs_ == 0) device_.close_if_failed();
}

/// They exist from the first opening on. Peers can read those that go out. What comes in from one peer is not for
/// the others, so those slabs are registered apart.
void registrar::make_slabs() {
  const verbs_options& options = device_.options();
  const std::size_t half = options.read_slabs * options.read_slab_bytes;
  if (slab_memory_ != nullptr || half == 0) return;
  slab_memory_ = allocate_block(2 * half);
  if (slab_memory_ == nullptr) return;
  for (std::size_t i = 0; i < 2 * options.read_slabs; ++i) {
    slab& s = slabs_.emplace_back();
    s.memory.bytes = {slab_memory_.get() + i * options.read_slab_bytes, options.read_slab_bytes};
    (i < options.read_slabs ? outgoing_ : incoming_).add(s);
  }
  const std::span<std::byte> all(slab_memory_.get(), 2 * half);
  entries_.push_back(std::make_unique<entry>(*this, nullptr, all.first(half), for_peers()));
  entries_.push_back(std::make_unique<entry>(*this, nullptr, all.last(half), register_for::messages));
}

void registrar::name_keys(std::span<std::byte> of, const memory_object& made) noexcept {
  for (slab& s : slabs_) {
    const std::byte* const at = s.memory.bytes.data();
    if (at < of.data() || at >= of.data() + of.size()) continue;
    s.memory.local_key = made.local_key;
    s.memory.remote_key = made.remote_key;
    s.memory.remote_address = made.remote_address + static_cast<std::uint64_t>(at - of.data());
  }
}

// ---- the opening and closing of devices

std::unique_ptr<registrar::renewal> registrar::begin_renewal() {
  auto work = std::make_unique<renewal>();
  if (device_.options().read_depth == 0) return work;
  make_slabs();
  for (const auto& each : entries_) {
    if (!each->is_added() && !each->is_of_slabs()) continue;
    each->set_renewing(true);
    work->items_.push_back({each.get(), each->memory(), each->use(), nullptr});
  }
  return work;
}

void registrar::renewal::perform(device_context& context) noexcept {
  for (item& each : items_) {
    const auto made = context.register_memory(each.memory, each.use);
    if (!made) {
      outcome_ = made.error();
      return;
    }
    each.made = *made;
  }
}

void registrar::end_renewal(std::unique_ptr<renewal> done, const status& opened) noexcept {
  usable_ = opened ? done->outcome_ : opened;
  if (opened && slab_memory_ == nullptr)
    usable_ = error(errc::unsupported, "verbs: no READs: no memory for verbs.read_slabs");
  for (const renewal::item& each : done->items_) {
    if (each.made != nullptr) each.of->take(*each.made);
    if (each.made != nullptr && each.of->is_of_slabs()) name_keys(each.memory, *each.made);
    each.of->set_renewing(false);
  }
}

void registrar::leave_to(opened_device& closing) noexcept {
  usable_ = error(errc::unreachable, "verbs: the device is not open");
  for (const auto& each : entries_) {
    if (memory_object* const object = each->leave_object()) closing.take_over(*object);
  }
}

}  // namespace scoll::transport::verbs
