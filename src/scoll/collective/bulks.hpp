#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/operation/bulk.hpp"
#include "scoll/collective/parent_request.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/time.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

/// The bulk data of the operations that run on a node, and the other members' requests to read them. Such a
/// request stays open until its member needs nothing more. One that comes before the broadcast has come here
/// waits for it, for as long as it says.
class engine::bulks final {
 public:
  explicit bulks(engine& owner) noexcept : owner_(owner) {}
  ~bulks();
  bulks(const bulks&) = delete;
  bulks& operator=(const bulks&) = delete;

  // The operations of this node.

  operation_bulk& acquire();
  /// The operation's head is known, so that requests to read can find its bulk data.
  void enter(operation_bulk& bulk);
  void release(operation_bulk& bulk) noexcept;
  /// It is known now whether the operation has memory to read from: those that wait are answered.
  void decided(operation_bulk& bulk) noexcept;
  /// A request that is not admitted here had bulk data: those that wait for it are told.
  void refused(const collective_head& head) noexcept;

  /// A request to read, or the word that this node does not want to.
  transport::message& make_request(const operation_bulk& bulk, nanoseconds wait, bool declines) const;
  /// Tells a member that this node will not read there.
  void decline(const operation_bulk& bulk, node_id source, nanoseconds wait) noexcept;

  /// The number of operations with bulk data, and of requests to read them.
  std::size_t running() const noexcept { return running_.size(); }
  std::size_t reading() const noexcept { return reading_.size(); }
  /// The requests to read that wait for their broadcast: of all nodes, and of one.
  std::size_t early_readers() const noexcept;
  std::size_t early_readers_of(node_id node) const noexcept;

  // Other members.

  /// Serves a request to read, or gives the reason why not.
  error serve(transport::request_view& request, const collective_head& head);
  /// A node is dead or in another life: it reads nothing any more.
  void gone(node_id node) noexcept;
  /// The operations of the root of `latest` in this group with lower counters have ended there.
  void ended_below(const group_id& group, const operation_id& latest, std::uint64_t counter) noexcept;
  /// Ends all requests.
  void stop() noexcept;

 private:
  /// A request of another member, which is open until that member needs nothing more.
  struct reader final : parent_request {
    explicit reader(bulks& its_owner) noexcept : owner(&its_owner) {}
    void on_parent_cancelled(const transport::cancel_reason& reason) noexcept override;

    bulks* owner;
    std::list<reader>::iterator self;
    group_id group;
    operation_id operation;
    node_id node = 0;
    time_point until{};
    operation_bulk* of = nullptr;  ///< null as long as the broadcast is not here
    bool answered = false;
    bool declines = false;
  };
  /// The word to a source that this node will not read there. The answer says nothing.
  struct refusal final : transport::exchange {
    refusal() noexcept : exchange([](transport::exchange&, transport::reply_event&) noexcept {}) {}
  };

  operation_bulk* find(const group_id& group, const operation_id& operation) noexcept;
  error why_no_room(node_id node) const;
  void answer(reader& r) noexcept;
  void refuse(reader& r, const error& why) noexcept;
  void remove(reader& r) noexcept;
  void rearm() noexcept;
  void on_timer() noexcept;

  engine& owner_;
  std::vector<std::unique_ptr<operation_bulk>> all_;
  std::vector<operation_bulk*> free_;
  std::vector<operation_bulk*> running_;
  std::list<reader> reading_;
  std::list<reader> unused_;
  std::vector<std::unique_ptr<refusal>> declining_;
  member_timer<&bulks::on_timer> timer_{*this};
};

}  // namespace scoll::detail
