#include "job.hpp"

#include <algorithm>

#include "bench/kit/clock.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/wire/encode.hpp"

namespace bench::bcast {
namespace {

/// The bytes that a request needs besides, to be as long as the setting says.
template <class Request>
std::size_t missing(const Request& without, const setting& s) {
  return s.size - std::min<std::size_t>(s.size, scoll::wire::encoded_size(without));
}

}  // namespace

counts witness::count() const noexcept {
  return counts::now(ring, here.wire());
}

void witness::executed() const noexcept {
  me.page().reached_ns.store(now_ns(), std::memory_order_relaxed);
  if (me.index() != 0) count().show_on(me.page());
}

tuned::tuned(const setting& s) : bytes_(missing(service::request{}, s)) {}

tuned::service::reply tuned::service::execute(const request&, scoll::bcast_context& c) const {
  seen->executed();
  return {std::uint64_t{c.rank()} + 1};
}

plain::plain(const setting& s) {
  request_.prefix = "objects/";
  request_.sample.resize(missing(request_, s));
}

scoll::task<scoll::result<plain::service::reply>> plain::service::execute(const request& asked,
                                                                          scoll::bcast_context& c) const {
  seen->executed();
  return guide::survey::execute(asked, c);
}

}  // namespace bench::bcast
