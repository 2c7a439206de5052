#include "client_desk.hpp"

#include "scoll/coro/error_format.hpp"
#include "transport/session/greeting.hpp"

namespace shard {
namespace {

using scoll::errc;

scoll::error refusal(scoll::node_id client, const eviction& why) {
  return scoll::make_error(errc::not_authorised, "client {} is evicted, by node {}{}{}", client, why.by,
                           why.note.empty() ? "" : ": ", why.note);
}

}  // namespace

scoll::task<scoll::result<object_reply>> client_desk::serve(scoll::node_id caller,
                                                            const object_request& asked,
                                                            scoll::stop_token stop) {
  if (const eviction* const why = evicted_->find(caller)) co_return refusal(caller, *why);
  std::shared_ptr<visit>& known = visits_[caller];
  if (!known) known = std::make_shared<visit>();
  const std::shared_ptr<visit> mine = known;
  ++mine->calls;
  const auto fire = [](void* source) noexcept { static_cast<scoll::stop_source*>(source)->request_stop(); };
  scoll::stop_source either;
  const scoll::stop_callback by_caller(stop, fire, &either), by_eviction(mine->stop.token(), fire, &either);
  auto done = co_await objects_.handle(caller, asked, either.token());
  if (--mine->calls == 0) {
    mine->over.set();
    visits_.erase(caller);
  }
  if (const eviction* const why = evicted_->find(caller); why != nullptr && !done)
    co_return refusal(caller, *why);
  co_return std::move(done);
}

/// The calls that run have begun before the client was on the list; there are no others.
scoll::task<std::uint64_t> client_desk::end_calls(scoll::node_id client) {
  const auto found = visits_.find(client);
  if (found == visits_.end()) co_return 0;
  const std::shared_ptr<visit> under_way = found->second;
  const std::uint64_t calls = under_way->calls;
  under_way->stop.request_stop();
  co_await under_way->over.wait();
  co_return calls;
}

/// An eviction that the disk refuses holds for this process all the same.
scoll::task<scoll::result<ended_work>> client_desk::evict(scoll::node_id client, eviction why) {
  if (!scoll::transport::is_client(client)) {
    co_return scoll::make_error(errc::invalid_argument, "{} is no client: their ids are {} or more", client,
                                scoll::transport::client_bit);
  }
  const auto kept = co_await evicted_->add(client, std::move(why));
  if (evicted_->find(client) == nullptr)
    co_return kept ? scoll::error(errc::stale, "admitted meanwhile") : kept.error();
  ended_work ended;
  ended.calls = co_await end_calls(client);
  ended.uploads = objects_.drop_uploads(client);
  if (!kept) co_return kept.error();
  co_return ended;
}

std::map<scoll::node_id, std::uint32_t> client_desk::uploads() const {
  auto all = objects_.uploads();
  std::erase_if(all, [](const auto& each) { return !scoll::transport::is_client(each.first); });
  return all;
}

scoll::task<scoll::status> client_desk::admit(scoll::node_id client) {
  co_return co_await evicted_->remove(client);
}

}  // namespace shard
