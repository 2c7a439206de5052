#include "scoll/collective/link_probe.hpp"

#include <fstream>
#include <span>
#include <thread>

#include "scoll/collective/engine.hpp"
#include "scoll/node_access.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll {

host_facts host_facts::here() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return {wire::checksum(std::as_bytes(std::span(boot))), std::thread::hardware_concurrency()};
}

result<service_handle> serve_link_probe(node& self, const host_facts& facts) {
  auto entry = detail::make_service_entry(detail::link_probe{facts});
  detail::engine& engine = detail::node_access::engine(self);
  if (auto added = engine.add_own_service(entry); !added) return added.error();
  return service_handle(engine, std::move(entry));
}

namespace detail {

link_probe::reply link_probe::execute(const request& asked, bcast_context& c) const {
  if (c.is_root()) {
    // All requests to children have been handed to the operating system when `execute` starts.
    if (watch->timed) watch->sent_processor_time = c.get_executor().processor_time();
    return {};
  }
  reply mine;
  if (asked.timed)
    mine.processor_ns.value = static_cast<std::uint64_t>(c.get_executor().processor_time().count());
  mine.host.value = facts.host;
  mine.processors.value = facts.processors;
  return mine;
}

void link_probe::on_reply(const arrival<reply>&, bcast_context& c) const {
  if (!watch->timed || !c.is_root()) return;
  const executor& home = c.get_executor();
  watch->last = home.now();
  if (watch->replies++ != 0) return;
  watch->first = watch->last;
  watch->first_processor_time = home.processor_time();
}

}  // namespace detail
}  // namespace scoll
