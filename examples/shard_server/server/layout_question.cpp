#include "layout_question.hpp"

#include <fmt/format.h>

#include <string>

#include "ask_group.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/session/endpoint.hpp"

namespace shard {
namespace {

using scoll::errc;

constexpr std::uint64_t most_slots = 1'000'000;

layout_shape shape_of(const command& c) {
  layout_shape shape;
  shape.slots = c.slots;
  shape.delayed = c.delayed;
  shape.inline_only = c.inline_only;
  return shape;
}

std::string digest_text(const scoll::membership& members) {
  std::string text;
  for (const std::byte each : members.digest())
    text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return text;
}

std::uint64_t count_entities(const scoll::membership& members) {
  std::uint64_t sum = 0;
  for (const scoll::target& each : members.targets()) sum += each.entities.size();
  return sum;
}

}  // namespace

scoll::task<json> layout_question::ask(const command& c, scoll::stop_token stop) {
  const std::size_t servers = all_.servers().size();
  if (c.slots < servers || c.slots > most_slots) {
    co_return failure(make_error(errc::invalid_argument,
                                 "a layout has {} to {} slots: one for each server, at least", servers,
                                 most_slots));
  }
  const layout_shape shape = shape_of(c);
  making how;
  const auto answered = co_await ask_kept(shape, c, stop, how);
  if (answered.account.ended.error() == errc::too_large) co_return failure(answered.account.ended.error());
  json all = to_json(answered);
  all["root"] = self_.id();
  if (!answered.value) co_return all;
  json& value = all["value"];
  value["members"] = answered.account.members->size();
  value["entities"] = count_entities(*answered.account.members);
  value["digest"] = digest_text(*answered.account.members);
  value["populate"] = shape.delayed ? "delayed" : "immediate";
  value["membership"] = shape.inline_only ? "inline_only" : "automatic";
  value["created"] = how.created;
  value["sent_bytes"] = how.sent_bytes;
  co_return all;
}

scoll::task<answer<layout::reply>> layout_question::ask_kept(const layout_shape& shape, const command& c,
                                                             scoll::stop_token stop, making& how) {
  if (kept_.held().valid() && shape != shape_) co_await kept_.drop(self_, kept_.held());
  const std::uint64_t sent_before = sent_bytes();
  const auto targets = with_slots(all_.servers(), shape.slots);
  scoll::group_options creation = all_.creation(c.until);
  creation.name = layout::name;
  if (shape.delayed) creation.populate = scoll::populate::delayed;
  if (shape.inline_only) creation.membership = scoll::inline_only;
  scoll::bcast_options options;
  options.deadline = c.until;
  options.stop = stop;
  const layout::request request;
  for (bool again = true;; again = false) {
    how.created = !kept_.held().valid();
    const auto group = co_await kept_.get(self_, targets, creation);
    if (!group) co_return co_await all_.nobody_asked<layout>(group.error(), stop);
    shape_ = shape;
    auto answered = co_await ask_group<layout>(*group, request, options);
    how.sent_bytes = sent_bytes() - sent_before;
    if (!collectives::knows_a_stale_group(answered.account.outcome)) co_return answered;
    co_await kept_.drop(self_, *group);
    if (!again) co_return answered;
  }
}

std::uint64_t layout_question::sent_bytes() const {
  return self_.wire().statistics().bytes_sent;
}

}  // namespace shard
