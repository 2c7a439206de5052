#include "transport/verbs/opened_device.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/verbs/device_checks.hpp"
#include "transport/verbs/mapped_address.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::size_t page_bytes = 4096;

}  // namespace

memory_block allocate_block(std::size_t bytes) noexcept {
  const std::size_t size = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  return memory_block(static_cast<std::byte*>(std::aligned_alloc(page_bytes, size)));
}

result<gid> parse_gid(const std::string& host) {
  gid address{};
  std::string bare = host;
  if (bare.starts_with('[') && bare.ends_with(']')) bare = bare.substr(1, bare.size() - 2);
  if (::inet_pton(AF_INET6, bare.c_str(), address.data()) == 1) return address;
  address = mapped({});
  if (::inet_pton(AF_INET, bare.c_str(), address.data() + mapped_prefix.size()) == 1) return address;
  return make_error(errc::invalid_argument, "verbs: '{:.40}' is no IP address", host);
}

std::string to_text(const gid& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool v4 = is_mapped(address);
  ::inet_ntop(v4 ? AF_INET : AF_INET6, address.data() + (v4 ? mapped_prefix.size() : 0), text.data(),
              text.size());
  return text.data();
}

result<std::unique_ptr<opened_device>> opened_device::open(verbs_api& api, const verbs_options& options,
                                                           const std::string& host) {
  std::unique_ptr<opened_device> made;
  const status opened =
      open_first(api, options.device, [&](const std::string& name, std::unique_ptr<device_context> context) {
        made.reset(new opened_device);
        made->name = name;
        return made->use(std::move(context), options, host);
      });
  if (!opened) return opened.error();
  return made;
}

status opened_device::use(std::unique_ptr<device_context> opened, const verbs_options& options,
                          const std::string& host) {
  context = std::move(opened);
  limits = context->limits();
  const auto facts = context->port(options.port);
  if (!facts) return facts.error();
  port = *facts;
  if (const auto s = check_port(port, name, options.port); !s) return s;
  const std::string& wanted = options.address.empty() ? host : options.address;
  const auto chosen = choose_address(*context, name, options.port, port.ethernet, wanted);
  if (!chosen) return chosen.error();
  address = chosen->address;
  gid_index = chosen->index;
  if (const auto s = check_limits(limits, name, options); !s) return s;
  if (const auto s = make_queues(options); !s) return s;
  return register_memory(options);
}

status opened_device::make_queues(const verbs_options& options) {
  const auto cq = context->make_completion_queue(completion_entries(options));
  if (!cq) return cq.error();
  completions = *cq;
  const auto srq = context->make_receive_queue(options.receive_slots);
  if (!srq) return srq.error();
  receives = *srq;
  return {};
}

result<memory_object*> opened_device::obtain(memory_block& block, std::size_t count) {
  block = allocate_block(count * slot_bytes);
  if (block == nullptr)
    return error(errc::busy, "verbs: no memory for verbs.receive_slots or verbs.send_slabs");
  return context->register_memory({block.get(), count * slot_bytes}, register_for::messages);
}

status opened_device::register_memory(const verbs_options& options) {
  const auto for_slots = obtain(slot_memory_, options.receive_slots);
  if (!for_slots) return for_slots.error();
  slot_object_ = *for_slots;
  slot_key = slot_object_->local_key;
  slots = std::make_unique<buffer_pool>(std::span(slot_memory_.get(), options.receive_slots * slot_bytes),
                                        slot_bytes);
  posted.resize(options.receive_slots);
  const auto for_slabs = obtain(slab_memory_, options.send_slabs);
  if (!for_slabs) return for_slabs.error();
  slab_object_ = *for_slabs;
  for (std::size_t i = 0; i < options.send_slabs; ++i) {
    slab& s = all_slabs_.emplace_back();
    s.memory = {{slab_memory_.get() + i * slot_bytes, slot_bytes}, slab_object_->local_key, 0};
    slabs.add(s);
  }
  return {};
}

void opened_device::forget_slots() noexcept {
  if (slots == nullptr) return;
  slots->on_refill(nullptr, nullptr);
  posted.clear();
  // A hook that does not return still reads its request, which lies in a slot.
  held_ = slots->lent() != 0;
  slots.reset();
}

opened_device::~opened_device() {
  if (context == nullptr) return;
  forget_slots();
  if (receives != nullptr) context->destroy(receives);
  if (completions != nullptr) context->destroy(completions);
  for (memory_object* each : taken_over_) context->deregister(each);
  if (slot_object_ != nullptr) context->deregister(slot_object_);
  if (slab_object_ != nullptr) context->deregister(slab_object_);
  if (held_) std::ignore = slot_memory_.release();
}

}  // namespace scoll::transport::verbs
