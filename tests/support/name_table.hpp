#pragma once

#include <condition_variable>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "transport/io/host_address.hpp"

namespace scoll::test {

/// Resolves names as the test says, when the test says. Look-ups may outlast it; it lets them go when it is
/// destroyed.
class name_table {
 public:
  name_table() = default;
  ~name_table() { release(); }
  name_table(const name_table&) = delete;
  name_table& operator=(const name_table&) = delete;

  /// From now on, the answer for a name: numeric addresses such as "127.0.0.1". Without one, there is no such
  /// host.
  void set(const std::string& host, std::initializer_list<const char*> numbers) {
    transport::address_list all;
    for (const char* number : numbers)
      all.push_back(transport::socket_address::parse(std::string(number) + ":0").value());
    const std::scoped_lock lock(state_->mutex);
    state_->answers.insert_or_assign(host, std::move(all));
  }
  void forget(const std::string& host) {
    const std::scoped_lock lock(state_->mutex);
    state_->answers.erase(host);
  }

  /// From now on, look-ups are not answered, until `release`.
  void hold() {
    const std::scoped_lock lock(state_->mutex);
    state_->held = true;
  }
  void release() {
    const std::scoped_lock lock(state_->mutex);
    state_->held = false;
    state_->changed.notify_all();
  }

  /// The number of look-ups that have begun.
  std::size_t asked() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->asked;
  }
  /// Blocks until so many look-ups have begun.
  void await_asked(std::size_t count) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->asked >= count; });
  }

  transport::resolve_function function() const {
    return [state = state_](const std::string& host) { return state->ask(host); };
  }

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, transport::address_list> answers;
    bool held = false;
    std::size_t asked = 0;

    result<transport::address_list> ask(const std::string& host) {
      std::unique_lock lock(mutex);
      ++asked;
      changed.notify_all();
      changed.wait(lock, [this] { return !held; });
      const auto found = answers.find(host);
      if (found == answers.end()) return error(errc::not_found, "no such host");
      return found->second;
    }
  };

  std::shared_ptr<state> state_ = std::make_shared<state>();
};

}  // namespace scoll::test
