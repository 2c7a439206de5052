#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "clock.hpp"
#include "counts.hpp"
#include "key_file.hpp"
#include "member.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/node_options.hpp"
#include "transport/io/io_awaitables.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace bench {

// Code shared by the processes that run scoll.

inline scoll::transport::tcp_options rail_options(const std::string& congestion_control) {
  scoll::transport::tcp_options o;
  o.congestion_control = congestion_control;
  return o;
}

/// Process i is node i + 1. `keys` is the file of the ring that guards its connections; empty: they are in the
/// clear.
inline scoll::transport::endpoint_options endpoint_identity(std::uint32_t index,
                                                            const std::string& keys = {}) {
  scoll::transport::endpoint_options o;
  o.self = index + 1;
  o.cluster = "bench";
  o.incarnation = 1;
  o.security = scoll::transport::make_security(guarded_by(keys), o.cluster).value();
  return o;
}

inline scoll::node_options node_identity(std::uint32_t index, const std::string& keys = {}) {
  scoll::node_options o;
  o.id = index + 1;
  o.cluster = "bench";
  o.incarnation = 1;
  o.security = guarded_by(keys);
  return o;
}

/// Publishes where this process listens and makes the other processes known: `add(id, address)`. `hosts` are the
/// addresses of all processes; empty: all are on loopback.
template <class Add>
void introduce(member& me, const std::string& listening, Add&& add,
               const std::vector<std::string>& hosts = {}) {
  me.publish(static_cast<std::uint16_t>(std::stoi(listening.substr(listening.rfind(':') + 1))));
  for (std::uint32_t i = 0; i < me.count(); ++i) {
    const std::string host = hosts.empty() ? "127.0.0.1" : hosts.at(i);
    if (i != me.index()) add(i + 1, host + ':' + std::to_string(me.port(i)));
  }
  me.ready();
}

template <class Subject>
scoll::task<void> in_turn(Subject& subject, member& me, order o, std::uint32_t& next) {
  while (next < o.operations) {
    const std::uint32_t i = next++;
    const std::int64_t began = now_ns();
    co_await subject.ask(2 + i % (me.count() - 1));
    me.note(i, began, now_ns());
  }
}

/// Operations that begin when they are due, however many are under way; up to a bound, behind which they wait and
/// are late. The clock of a reactor is that of `now_ns`.
class at_rate {
 public:
  explicit at_rate(scoll::executor& on) : under_way_(on) {}

  /// `operation(i)` is an awaitable that does one.
  template <class Operation>
  scoll::task<void> run(member& me, order o, Operation operation) {
    const std::int64_t start = now_ns();
    for (std::uint32_t i = 0; i < o.operations; ++i) {
      const std::int64_t due = start + std::int64_t{o.gap_ns} * i;
      if (due > now_ns()) co_await scoll::sleep_until(scoll::time_point(scoll::nanoseconds(due)));
      co_await places_.acquire();
      under_way_.spawn(one(me, i, due, operation));
    }
    co_await under_way_.join();
  }

 private:
  static constexpr std::size_t most_at_once = 250;  // a link lets no more wait for credit

  template <class Operation>
  scoll::task<void> one(member& me, std::uint32_t i, std::int64_t due, Operation& operation) {
    co_await operation(i);
    me.note(i, due, now_ns());
    places_.release();
  }

  scoll::scope under_way_;
  scoll::semaphore places_{most_at_once};
};

template <class Subject>
scoll::task<void> carry_out(Subject& subject, member& me, scoll::transport::reactor& ring, order o) {
  if (o.gap_ns != 0) {
    at_rate operations(ring);
    co_await operations.run(me, o, [&](std::uint32_t i) { return subject.ask(2 + i % (me.count() - 1)); });
    co_return;
  }
  std::uint32_t begun = 0;
  if (o.in_flight <= 1) {
    co_await in_turn(subject, me, o, begun);
    co_return;
  }
  std::vector<scoll::task<void>> at_once;
  at_once.reserve(o.in_flight);
  for (std::uint32_t i = 0; i < o.in_flight; ++i) at_once.push_back(in_turn(subject, me, o, begun));
  co_await scoll::when_all(std::move(at_once));
}

/// The work of process 0: it carries out orders, with this many concurrent operations or at this rate. An
/// operation is `co_await subject.ask(node)`, with the other processes in turn; `subject.count()` returns the
/// counters up to now.
template <class Subject>
scoll::task<void> obey(Subject& subject, member& me, scoll::transport::reactor& ring) {
  while (true) {
    const auto readable = co_await scoll::transport::async_poll(ring, me.orders(), POLLIN);
    readable.ignore();
    const auto next = me.next_order();
    if (!next) break;
    const counts before = subject.count();
    co_await carry_out(subject, me, ring, *next);
    subject.count().add_to(me.page(), before);
    me.done(next->operations);
  }
  ring.stop();
}

}  // namespace bench
