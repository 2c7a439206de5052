#pragma once

#include <memory>
#include <string>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "transport/io/host_address.hpp"

namespace scoll::transport {

/// One wait for the addresses of a name. It must stay where it is until it has been called back or
/// `name_resolver::cancel` has returned true.
class name_wait : private list_hook<name_wait> {
 public:
  using function = void (*)(name_wait&) noexcept;
  name_wait(const name_wait&) = delete;
  name_wait& operator=(const name_wait&) = delete;

 protected:
  explicit name_wait(function answered) noexcept : answered_(answered) {}
  ~name_wait() = default;

  /// The answer, from the call back on: addresses, or, if there are none, the reason.
  address_list addresses_;
  error no_address_;

 private:
  friend class name_resolver;
  template <class T, class U>
  friend class scoll::intrusive_list;

  function answered_;
  bool has_answer_ = false;
};

/// Looks names up on threads of its own, because that blocks. There are none before the first name, and never
/// more than `most_threads`. Waits for one name share a look-up, so a name whose servers are silent holds one
/// thread only; a wait that finds all threads held waits for a free one.
///
/// A look-up under way cannot be stopped. Cancelling and destroying do not wait for it: its thread goes on
/// alone and ends when the system has answered. Thread: the executor's, which must outlive this object.
class name_resolver final {
 public:
  static constexpr std::size_t most_threads = 4;

  name_resolver(executor& home, resolve_function resolve);
  /// No wait may be under way.
  ~name_resolver();
  name_resolver(const name_resolver&) = delete;
  name_resolver& operator=(const name_resolver&) = delete;

  /// Begins to look `host` up; the wait is called back in a later turn. If no thread can be started, the
  /// result says why, and there is no call.
  status begin(name_wait& wait, std::string host);
  /// Ends a wait. True: it will not be called. False: its answer has come and is about to be delivered, so it
  /// will be called all the same.
  bool cancel(name_wait& wait) noexcept;

 private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

}  // namespace scoll::transport
