#pragma once

#include "scoll/collective/aggregate.hpp"
#include "scoll/collective/size_limits.hpp"
#include "scoll/detail/service_traits.hpp"

namespace scoll {

/// A class whose hooks run on every member of a broadcast. Only `id`, `request` and `execute` are mandatory:
///
/// ```cpp
/// struct scrub {
///   static constexpr scoll::service_id id{0x0102};       // equal on all nodes, `first_user_service` or more
///   static constexpr std::uint16_t version = 1;          // optional, 0
///   static constexpr std::string_view name = "scrub";    // optional, for messages
///   static constexpr std::size_t reply_capacity = 1024;  // optional: bytes of a merged reply, at most
///   static constexpr std::chrono::nanoseconds processing_bound = std::chrono::seconds(5);  // optional, 10 s
///   static constexpr bool short_execute = false;         // optional, false
///   static constexpr std::uint32_t bulk_window = 8;      // optional, 0
///
///   struct request {
///     std::uint64_t epoch = 0;
///   };
///   struct reply {  // optional, `no_reply`
///     scoll::sum<std::uint64_t> bytes;
///   };
///
///   // Runs before the request is forwarded: checks it, rewrites it or refuses it.
///   scoll::task<scoll::status> prepare(request&, scoll::bcast_context&);
///   // Sees the bulk data of the broadcast, part by part, as they come.
///   scoll::task<scoll::status> on_bulk(const scoll::bulk_chunk&, scoll::bcast_context&);
///   // `prepare` has given a place for bulk data, and there will be no `execute`.
///   void bulk_failed(const scoll::error&, scoll::bcast_context&) noexcept;
///   // Does the work, once on every member.
///   scoll::task<scoll::result<reply>> execute(const request&, scoll::bcast_context&);
///   // Merges as a commutative monoid; not needed if all members of the reply have a `merge`.
///   static void merge(reply& into, const reply& from) noexcept;
///   // Hears the answer of each child as it arrives, or that there will be none.
///   scoll::task<void> on_reply(const scoll::arrival<reply>&, scoll::bcast_context&);
///   // Runs when all answers are merged: looks at the reply, changes it or refuses it.
///   scoll::task<scoll::status> finish(reply&, scoll::bcast_context&);
///   // Runs when the reply has left, or is not wanted any more.
///   void replied(scoll::bcast_context&) noexcept;
///   // Names the members of an out-of-band group, where `node::out_of_band` or a message asks for it.
///   scoll::task<scoll::result<scoll::membership_ptr>> members(std::uint64_t id);
/// };
/// static_assert(scoll::collective_service<scrub>);
/// ```
///
/// `prepare`, `on_bulk`, `execute`, `on_reply`, `finish` and `members` may also be plain functions, which
/// costs less. A hook of the right name and the wrong form does not compile. A hook that throws fails this
/// node's part of the broadcast with the exception's text, or with the error of a `failure`. Hooks run on the
/// thread of the node's executor; `merge` and `on_reply` of one broadcast never overlap.
///
/// `short_execute` says that `execute` is a plain function and never takes more than a few microseconds. The
/// request of such a service leaves for the children when the turn ends, together with other messages. Any
/// other request leaves before `execute` begins, which costs a system call of its own.
///
/// `reply_capacity` may also be a function, for replies that grow with the number of nodes that they are
/// merged of: `static std::size_t reply_capacity(const request&, std::uint32_t nodes)`. A parent asks it for
/// each child, and each member for itself; a value beyond `max_reply_bytes` counts as that.
///
/// A service whose reply is `scoll::parts` streams it, item by item (docs/streams.md). It has no `merge`,
/// `on_reply`, `finish`, `reply_capacity` or `short_execute`:
///
/// ```cpp
/// struct list {
///   static constexpr scoll::service_id id{0x0103};
///   struct request {};
///   using page = std::vector<std::string>;
///   using reply = scoll::parts<page>;
///
///   scoll::task<scoll::status> execute(const request&, scoll::bcast_context&, scoll::part_sink<page>&);
/// };
/// static_assert(scoll::collective_service<list>);
/// ```
///
/// `bulk_window` is for services that take bulk data only part by part: where `prepare` gives no place, the
/// pieces pass through as many slots of the library, up to 64 (docs/collectives.md).
template <class S>
concept collective_service = detail::check_service<S>();

}  // namespace scoll
