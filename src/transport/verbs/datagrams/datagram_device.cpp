#include "transport/verbs/datagrams/datagram_device.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/verbs/datagrams/global_header.hpp"
#include "transport/verbs/device_checks.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::size_t cache_line = 64;

}  // namespace

result<std::unique_ptr<datagram_device>> datagram_device::open(verbs_api& api, const wish& wanted) {
  std::unique_ptr<datagram_device> made;
  const status opened = open_first(api, wanted.options.device,
                                   [&](const std::string& name, std::unique_ptr<device_context> context) {
                                     made.reset(new datagram_device);
                                     made->name = name;
                                     return made->use(std::move(context), wanted);
                                   });
  if (!opened) return opened.error();
  return made;
}

status datagram_device::use(std::unique_ptr<device_context> opened, const wish& wanted) {
  context = std::move(opened);
  port = wanted.options.port;
  service_level_ = wanted.options.service_level;
  traffic_class_ = wanted.options.traffic_class;
  const auto facts = context->port(port);
  if (!facts) return facts.error();
  if (const auto s = check_port(*facts, name, port); !s) return s;
  const std::string& address = wanted.options.address.empty() ? wanted.host : wanted.options.address;
  const auto chosen = choose_address(*context, name, port, facts->ethernet, address);
  if (!chosen) return chosen.error();
  gid_index = chosen->index;
  if (const auto s = check(wanted, *facts); !s) return s;
  mtu_ = facts->mtu;
  where = {.address = chosen->address,
           .queue_key = wanted.queue_key,
           .mtu = facts->mtu,
           .lid = facts->lid,
           .epoch = wanted.epoch};
  if (const auto s = register_memory(wanted.options); !s) return s;
  return make_queues(wanted);
}

status datagram_device::check(const wish& wanted, const port_facts& facts) {
  const verbs_port_options& o = wanted.options;
  if (facts.mtu < wanted.least_mtu) {
    return make_error(errc::unsupported,
                      "verbs: port {} of {} has an MTU of {}, and datagrams need {}: raise the MTU of its "
                      "network interface",
                      port, name, facts.mtu, wanted.least_mtu);
  }
  const device_limits limits = context->limits();
  if (limits.shared_receives >= o.receive_slots && limits.queue_entries >= o.receive_slots + o.send_buffers &&
      limits.queue_pair_entries >= o.send_buffers)
    return {};
  return make_error(errc::unsupported,
                    "verbs: {} has {} shared receives, {} queue entries and {} sends of a queue pair: lower "
                    "the receive slots or send buffers of its datagrams",
                    name, limits.shared_receives, limits.queue_entries, limits.queue_pair_entries);
}

status datagram_device::register_memory(const verbs_port_options& options) {
  receive_slot_bytes_ = (global_header_bytes + mtu_ + cache_line - 1) / cache_line * cache_line;
  const std::size_t for_receives = options.receive_slots * receive_slot_bytes_;
  const std::size_t bytes = for_receives + options.send_buffers * mtu_;
  memory_ = allocate_block(bytes);
  if (memory_ == nullptr) return error(errc::busy, "verbs: no memory for datagrams");
  sends_ = memory_.get() + for_receives;
  const auto registered = context->register_memory({memory_.get(), bytes}, register_for::messages);
  if (!registered) return registered.error();
  registered_ = *registered;
  memory_key = registered_->local_key;
  return {};
}

status datagram_device::make_queues(const wish& wanted) {
  const verbs_port_options& o = wanted.options;
  const auto cq = context->make_completion_queue(o.receive_slots + o.send_buffers);
  if (!cq) return cq.error();
  completions = *cq;
  const auto srq = context->make_receive_queue(o.receive_slots);
  if (!srq) return srq.error();
  receives = *srq;
  const auto made = context->make_datagram_pair({.completions = completions,
                                                 .receives = receives,
                                                 .sends = o.send_buffers,
                                                 .inline_bytes = inline_bytes,
                                                 .queue_key = wanted.queue_key},
                                                port);
  if (!made) return made.error();
  pair = *made;
  where.queue_pair = pair->number;
  return {};
}

address_request datagram_device::way_to(const whereabouts& to) const noexcept {
  return {.port = port,
          .remote = to.address,
          .remote_lid = to.lid,
          .gid_index = gid_index,
          .service_level = service_level_,
          .traffic_class = traffic_class_};
}

datagram_device::~datagram_device() {
  if (context == nullptr) return;
  if (pair != nullptr) context->destroy(pair);
  for (address_handle* each : handles_) context->destroy(each);
  if (receives != nullptr) context->destroy(receives);
  if (completions != nullptr) context->destroy(completions);
  if (registered_ != nullptr) context->deregister(registered_);
}

}  // namespace scoll::transport::verbs
