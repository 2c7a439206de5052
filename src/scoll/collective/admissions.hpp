#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scoll/collective/admission_request.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/pending_admission.hpp"
#include "scoll/collective/resolution.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/task.hpp"

namespace scoll::detail {

/// The requests that wait until their group is known here, and the searches for the members of these groups.
/// Requests for one group share one search. When it has ended, all checks run again for each of them, in the
/// order in which they arrived.
///
/// ```text
///   on_request ─► waits ─► found ───────────► the checks run again ─► operation, or refused
///                   │      not found ───────► refused
///                   └── its time is over, its parent, root, group, service or this node ends ─► refused
/// ```
class engine::admissions final {
 public:
  explicit admissions(engine& owner) noexcept : owner_(owner) {}
  ~admissions();
  admissions(const admissions&) = delete;
  admissions& operator=(const admissions&) = delete;

  /// The number of requests that wait.
  std::size_t waiting() const noexcept { return waiting_count_; }
  /// The time by which the first of them ends; `never` if none waits.
  time_point due() noexcept;
  /// True if a `members` hook has not returned.
  bool asking() const noexcept;
  /// Adds "scrub::members" for every such hook.
  void add_running_hooks(std::vector<std::string>& names) const;

  /// Lets a request wait for the hook of its service, or for the members that its parent offers. Error:
  /// `busy`; the request is then as it was.
  error await_hook(const admission_request& request, const collective_head& head,
                   const std::shared_ptr<service_entry>& service);
  error await_pull(const admission_request& request, const collective_head& head,
                   const transport::region_descriptor& from);
  /// Asks the hook of a service for the members of a group, or joins the search under way.
  std::shared_ptr<resolution> ask(const std::shared_ptr<service_entry>& service, std::uint64_t id);
  /// Asks a member of a group who the others are, or joins a search for them that is under way.
  std::shared_ptr<resolution> ask_member(const group_id& group, node_id member);

  // The ends that a request does not wait for.
  void cancelled(pending_admission& waiting, const transport::cancel_reason& reason) noexcept;
  void end_group(const group_id& group, const error& why) noexcept;
  void end_root(node_id root, std::uint64_t last_incarnation) noexcept;
  void end_service(const service_entry& service) noexcept;
  void end_all(const error& why) noexcept;

 private:
  template <class Ends>
  void refuse_if(const error& why, Ends&& ends) noexcept;
  error why_full() const;
  pending_admission& keep(const admission_request& request, const collective_head& head,
                          std::shared_ptr<resolution> members);
  void take_out(pending_admission& waiting) noexcept;
  void refuse(pending_admission& waiting, const error& why) noexcept;
  void give_back(pending_admission& waiting) noexcept;
  pending_admission& free_place();
  void stop_unwanted_pulls() noexcept;
  void rearm() noexcept;
  void on_timer() noexcept;

  result<std::shared_ptr<resolution>> pull(const group_id& group, const transport::region_descriptor& from);
  task<void> run_hook(std::shared_ptr<resolution> search);
  task<void> run_pull(std::shared_ptr<resolution> search);
  task<void> run_question(std::shared_ptr<resolution> search);
  task<void> pull_members(resolution& search);
  std::shared_ptr<resolution> search_of_members(const group_id& group) const;
  error why_no_pull(std::uint64_t bytes) const;
  void finish(const std::shared_ptr<resolution>& search) noexcept;
  void admit_again(pending_admission& waited) noexcept;

  engine& owner_;
  std::vector<std::unique_ptr<pending_admission>> places_;
  intrusive_list<pending_admission> free_;
  intrusive_list<pending_admission> waiting_;  // in the order of arrival
  std::size_t waiting_count_ = 0;
  std::vector<std::shared_ptr<resolution>> searches_;
  member_timer<&admissions::on_timer> timer_{*this};
};

}  // namespace scoll::detail
