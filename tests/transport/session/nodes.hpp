#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "tests/transport/session/messages.hpp"
#include "transport/session/link_guard.hpp"

namespace network {

inline endpoint_options options_of(node_id node, std::uint64_t incarnation = 1) {
  endpoint_options o;
  o.self = node;
  o.cluster = "test";
  o.incarnation = incarnation;
  return o;
}

/// Serves requests as ordered, and records the events.
class service final : public endpoint_events {
 public:
  struct job {
    incoming work;
    ask a;
    buffer_view payload;
  };

  bool hold = false;
  bool hold_payloads = false;  // with what is held, where it has arrived
  error refuse_with;
  std::map<std::uint64_t, int> seen;
  std::vector<std::uint64_t> order;
  std::vector<traffic_class> classes;
  std::vector<std::pair<path_key, path_key>> crossed;  // paths, and what they really lead to
  std::vector<std::unique_ptr<job>> held;
  std::vector<std::unique_ptr<job>> spare;
  std::vector<error> losses;
  std::pair<std::size_t, std::size_t> missing;  // what waited in vain, and what was worked at
  int cancelled = 0;                            // aborted or not
  int aborted = 0;
  std::vector<errc> reasons;  // of the cancels
  std::vector<std::vector<std::byte>> notices;
  int damaged = 0;
  bool drop_cancelled = true;
  bool quick = false;  // does not keep the records above
  endpoint* owner = nullptr;
  std::function<void(session&, const error&)> lost;
  std::function<void(session&)> noticed;
  std::function<void(session&)> begun;
  std::function<void(const rail_news&)> news;
  bool ignore_notices = false;

  void answer(std::size_t i) {
    auto j = std::move(held[i]);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    j->payload = {};
    reply(*j);
    spare.push_back(std::move(j));
  }
  void answer_all() {
    while (!held.empty()) answer(0);
  }
  void drop_all() {
    for (auto& j : held) j->work.drop();
    held.clear();
  }

  void on_answers_missing(node_id, std::size_t waiting, std::size_t owing) noexcept override {
    missing = {waiting, owing};
  }
  void on_request(request_view& r) noexcept override {
    ask a;
    if (r.head().size() != ask_bytes) return;
    std::memcpy(&a, r.head().data(), sizeof a);
    damaged += !fits(a.number, r.payload().bytes);
    if (!quick) {
      ++seen[a.number];
      order.push_back(a.number);
      classes.push_back(r.klass());
    }
    if (refuse_with) return r.refuse(refuse_with);
    auto j = spare.empty() ? std::make_unique<job>() : std::move(spare.back());
    if (!spare.empty()) spare.pop_back();
    j->a = a;
    r.accept(j->work);
    if (hold) {
      if (hold_payloads) j->payload = std::move(r.payload());
      held.push_back(std::move(j));
      return;
    }
    reply(*j);
    spare.push_back(std::move(j));
  }
  void on_cancelled(incoming& work, const cancel_reason& reason) noexcept override {
    ++cancelled;
    aborted += reason.answer_awaited;
    reasons.push_back(reason.why);
    if (!drop_cancelled) return;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (&held[i]->work != &work) continue;
      if (reason.answer_awaited) return answer(i);
      work.drop();
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  bool on_notice(session& from, std::span<const std::byte> head) noexcept override {
    notices.emplace_back(head.begin(), head.end());
    if (noticed) noticed(from);
    return !ignore_notices;
  }
  void on_session_begun(session& peer) noexcept override {
    if (begun) begun(peer);
  }
  void on_path_news(session&, const path_news& what) noexcept override {
    if (what.what == path_news::kind::crossed) crossed.emplace_back(what.path, what.to);
  }
  void on_rail_news(const rail_news& what) noexcept override {
    if (news) news(what);
  }
  void on_session_lost(session& peer, const error& reason) noexcept override {
    losses.push_back(reason);
    if (lost) lost(peer, reason);
  }

 private:
  void reply(job& j) {
    for (std::uint32_t part = 1; part < j.a.parts; ++part)
      j.work.reply_part(compose(*owner, j.a, j.a.reply_bytes));
    j.work.reply(compose(*owner, j.a, j.a.reply_bytes));
  }
};

/// A node: rail, endpoint, service.
class node final {
 public:
  node(world& w, const endpoint_options& o, const std::string& at = {})
      : world_(w),
        id(o.self),
        rail_(w.make_rail(o.self)),
        ep(std::make_unique<endpoint>(w.ex(), *rail_, secured(w, o), in)) {
    in.owner = ep.get();
    if (o.client) return;
    const auto listening = ep->listen(at.empty() ? w.address(id) : at);
    if (!listening) FAIL(describe(listening.error()));
  }
  ~node() { stop(); }
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// Ends the node without a goodbye.
  void stop() {
    if (!rail_) return;
    ep.reset();
    const bool closed = world_.until([this] { return rail_->open() == 0; });
    CHECK(closed);
    rail_.reset();
  }
  /// Requests of class bulk go to the service of these tests instead of being gets and puts.
  void take_bulk() { ep->route(traffic_class::bulk, in); }
  void knows(node& other) { REQUIRE(ep->add_peer(other.id, other.ep->listen_address()).has_value()); }
  session& to(node_id other) { return *ep->find(other); }
  rail& transport() { return *rail_; }

 private:
  /// With the security of the world, if the options choose none.
  static endpoint_options secured(world& w, endpoint_options o) {
    if (o.security == nullptr) o.security = make_security(w.security(o.self), o.cluster).value();
    return o;
  }

  world& world_;

 public:
  node_id id;
  service in;

 private:
  std::unique_ptr<rail> rail_;

 public:
  std::unique_ptr<endpoint> ep;
};

inline void introduce(node& a, node& b) {
  a.knows(b);
  b.knows(a);
}

/// Nodes 1 and 2, which know each other.
struct linked_nodes {
  explicit linked_nodes(world& on, const std::function<void(endpoint_options&)>& tune = {}) : w(on) {
    endpoint_options a = options_of(1);
    endpoint_options b = options_of(2);
    if (tune) {
      tune(a);
      tune(b);
    }
    left = std::make_unique<node>(w, a);
    right = std::make_unique<node>(w, b);
    introduce(*left, *right);
  }

  world& w;
  std::unique_ptr<node> left;
  std::unique_ptr<node> right;
};

}  // namespace network
