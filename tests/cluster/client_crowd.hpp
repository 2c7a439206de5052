#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace scoll::test {

/// One server process and many client processes, which share memory with the test.
class client_crowd {
 public:
  static constexpr std::size_t most = 1024;

  /// What a client does until it is told otherwise.
  enum class task : std::uint32_t { wait, call, leave };
  struct client {
    std::atomic<std::uint32_t> served{0};  ///< calls
    std::atomic<std::uint32_t> busy{0};    ///< calls that were refused because there was no place
    std::atomic<std::uint32_t> failed{0};  ///< calls with another end
    std::atomic<std::uint32_t> code{0};    ///< of the latest of these
  };
  struct board {
    std::array<char, 64> address{};
    std::atomic<bool> listening{false};
    std::atomic<task> now{task::wait};
    std::atomic<std::uint64_t> rounds{0};      ///< of the server's loop
    std::atomic<std::uint64_t> places{0};      ///< of clients, in use at the server
    std::atomic<std::uint64_t> heap_bytes{0};  ///< that the server uses
    std::array<client, most> clients;
  };

  /// Starts a server with places for so many clients.
  explicit client_crowd(std::uint32_t places);
  /// Ends and reaps all processes.
  ~client_crowd();
  client_crowd(const client_crowd&) = delete;
  client_crowd& operator=(const client_crowd&) = delete;

  /// Starts client processes, which call until they have been served or refused once, and then do as told.
  void start_clients(std::uint32_t count);
  void tell(task what) { board_->now = what; }
  /// Kills a client process.
  void kill_client(std::uint32_t i);
  /// Connects sockets to the server that say nothing.
  void connect_mute(std::uint32_t count);

  const client& at(std::uint32_t i) const { return board_->clients[i]; }
  std::uint64_t places() const { return board_->places; }
  /// The bytes that the server uses, counted from now on.
  std::uint64_t heap_bytes();
  /// Waits in real time. False after `seconds`.
  static bool until(const std::function<bool()>& done, int seconds);

 private:
  void serve(std::uint32_t places);
  void ask(std::uint32_t i);

  board* board_;
  pid_t server_ = -1;
  std::vector<pid_t> clients_;
  std::vector<int> mute_;
};

}  // namespace scoll::test
