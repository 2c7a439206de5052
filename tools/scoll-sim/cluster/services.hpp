#pragma once

#include <chrono>
#include <utility>

#include "tools/scoll-sim/cluster/job.hpp"
#include "tools/scoll-sim/cluster/streaming_service.hpp"
#include "tools/scoll-sim/plan/events.hpp"

namespace scoll::sim {

/// What all simulated services share.
struct job_service {
  static constexpr std::size_t reply_capacity = tally_capacity;
  using request = job;
  using reply = tally;
  ledger* log = nullptr;
  std::uint64_t life = 0;  ///< the number of the life that serves it

  task<result<membership_ptr>> members(std::uint64_t group) const { return name_members(*log, life, group); }
  status take_place(const job& j, bcast_context& c) const {
    return c.bulk() ? log->loads().place_for(life, j.broadcast, c) : status();
  }
  void bulk_failed(const error&, bcast_context& c) const noexcept { log->loads().bulk_failed(c); }
  void replied(bcast_context& c) const noexcept {
    if (c.bulk()) log->loads().place_returned(c);
  }
  static void merge(tally& into, const tally& from) noexcept { merge_tallies(into, from); }
};

/// True for the few broadcasts whose merged reply some members refuse.
inline bool finish_refuses(const bcast_context& c) {
  return c.id().counter % 16 == 7 && c.rank() % 4 == 2;
}

inline void extend_if_asked(const job& j, bcast_context& c) {
  if (j.extend_us != 0 && extends(c.rank()))
    c.extend_processing_bound(std::chrono::microseconds(j.extend_us));
}

/// A service with `execute` only.
struct bare_service : job_service {
  static constexpr service_id id{0x0301};
  static constexpr std::string_view name = "bare";
  static constexpr nanoseconds processing_bound = std::chrono::seconds(1);

  task<result<tally>> execute(const job& j, bcast_context& c) { return do_job(*log, j, c); }
};

/// A service with every hook, all of them coroutines.
struct hooked_service : job_service {
  static constexpr service_id id{0x0302};
  static constexpr std::string_view name = "hooked";
  static constexpr nanoseconds processing_bound = std::chrono::milliseconds(700);

  task<status> prepare(job& j, bcast_context& c) {
    log->hook_ran(false);
    extend_if_asked(j, c);
    if (j.prepare_us != 0) {
      const status slept = co_await sleep_for(std::chrono::microseconds(j.prepare_us), c.stop());
      if (!slept) co_return slept;
    }
    if (holds(j.refusing, c.rank())) co_return error(errc::io_error, "told to refuse");
    co_return take_place(j, c);
  }
  static constexpr std::uint32_t bulk_window = 2;
  task<status> on_bulk(const bulk_chunk& chunk, bcast_context& c) {
    if (const nanoseconds time = log->loads().stands_still(chunk, c); time.count() != 0) {
      if (const status slept = co_await sleep_for(time, c.stop()); !slept) co_return slept;
    }
    const status looked = log->loads().chunk_came(chunk, c);
    if (chunk.offset % 5 == 0) co_await sleep_for(std::chrono::microseconds(chunk.bytes.size() / 1000));
    co_return looked;
  }
  task<result<tally>> execute(const job& j, bcast_context& c) { return do_job(*log, j, c); }
  task<void> on_reply(const arrival<tally>& a, bcast_context&) {
    if (a.rank % 3 == 0) co_await sleep_for(std::chrono::microseconds(20));
  }
  task<status> finish(tally&, bcast_context& c) {
    if (c.rank() % 4 == 1) co_await sleep_for(std::chrono::microseconds(30));
    if (finish_refuses(c)) co_return error(errc::io_error, "told to refuse the reply");
    co_return status{};
  }
};

/// A service with every hook, all of them plain functions.
struct plain_service : job_service {
  static constexpr service_id id{0x0303};
  static constexpr std::string_view name = "plain";
  static constexpr nanoseconds processing_bound = std::chrono::milliseconds(500);
  static constexpr std::uint32_t bulk_window = 3;

  status prepare(job& j, bcast_context& c) {
    log->hook_ran(true);
    extend_if_asked(j, c);
    if (holds(j.refusing, c.rank())) return error(errc::io_error, "told to refuse");
    return take_place(j, c);
  }
  status on_bulk(const bulk_chunk& chunk, bcast_context& c) { return log->loads().chunk_came(chunk, c); }
  result<tally> execute(const job& j, bcast_context& c) { return do_job_now(*log, j, c); }
  void on_reply(const arrival<tally>&, bcast_context&) { log->hook_ran(true); }
  status finish(tally&, bcast_context& c) {
    if (finish_refuses(c)) return error(errc::io_error, "told to refuse the reply");
    return {};
  }
};

/// A service whose `execute` is short, so that its requests leave with the turn.
struct brief_service : job_service {
  static constexpr service_id id{0x0304};
  static constexpr std::string_view name = "brief";
  static constexpr nanoseconds processing_bound = std::chrono::milliseconds(300);
  static constexpr bool short_execute = true;

  result<tally> execute(const job& j, bcast_context& c) { return do_job_now(*log, j, c); }
};

/// A service of which the hosts have two versions.
template <std::uint16_t Version>
struct versioned_service : job_service {
  static constexpr service_id id{0x0305};
  static constexpr std::uint16_t version = Version;
  static constexpr std::string_view name = "versioned";
  static constexpr nanoseconds processing_bound = std::chrono::milliseconds(600);

  status prepare(job& j, bcast_context& c) { return take_place(j, c); }
  task<result<tally>> execute(const job& j, bcast_context& c) { return do_job(*log, j, c); }
};

/// Calls `use.operator()<S>()` with the service of a kind. `is_old`: of the versioned one, the old version.
template <class Use>
decltype(auto) with_service(service_kind kind, bool is_old, Use&& use) {
  switch (kind) {
    case service_kind::bare: break;
    case service_kind::hooked: return use.template operator()<hooked_service>();
    case service_kind::plain: return use.template operator()<plain_service>();
    case service_kind::brief: return use.template operator()<brief_service>();
    case service_kind::versioned:
      return is_old ? use.template operator()<versioned_service<1>>()
                    : use.template operator()<versioned_service<2>>();
    case service_kind::streaming:
      return is_old ? use.template operator()<streaming_service<1>>()
                    : use.template operator()<streaming_service<2>>();
  }
  return use.template operator()<bare_service>();
}

/// True if the members prepare, and so may extend the processing bound.
constexpr bool prepares(service_kind kind) {
  return kind == service_kind::hooked || kind == service_kind::plain;
}
/// True if some hosts serve another version than others.
constexpr bool has_versions(service_kind kind) {
  return kind == service_kind::versioned || kind == service_kind::streaming;
}
/// True if `execute` takes the time that its request says.
constexpr bool takes_time(service_kind kind) {
  return kind != service_kind::plain && kind != service_kind::brief;
}

}  // namespace scoll::sim
