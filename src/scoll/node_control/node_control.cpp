#include "scoll/node_control.hpp"

#include <unistd.h>

#include <optional>
#include <utility>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/node_control/answers.hpp"
#include "scoll/node_control/ask_limit.hpp"
#include "transport/io/acceptor.hpp"
#include "transport/io/control_socket.hpp"

namespace scoll {
namespace {

constexpr nanoseconds patience = std::chrono::seconds(2);

std::string path_for(const node& of, std::string path) {
  constexpr std::string_view place = "{node}";
  for (auto at = path.find(place); at != std::string::npos; at = path.find(place))
    path.replace(at, place.size(), std::to_string(of.id()));
  return path;
}

}  // namespace

class node_control::server {
 public:
  server(node& of, transport::reactor& loop, std::string path)
      : node_(of), reactor_(loop), path_(path_for(of, std::move(path))), limit_(most_commands_per_second) {}

  const std::string& path() const noexcept { return path_; }

  status open() {
    if (path_.empty()) return {};
    auto listener = transport::open_control_socket(path_);
    if (!listener) return listener.error();
    listener_ = std::move(*listener);
    scope_.emplace(reactor_);
    scope_->spawn(accept_clients());
    return {};
  }

  task<void> close() {
    if (!scope_) co_return;
    ::unlink(path_.c_str());
    scope_->request_stop();
    co_await scope_->join();
    scope_.reset();
    listener_ = {};
  }

 private:
  using connection = transport::control_connection;

  task<void> accept_clients() {
    transport::acceptor incoming(reactor_, listener_.get());
    while (!scope_->stop_requested()) {
      auto client = co_await incoming.next(scope_->token());
      // Each client holds a descriptor until it has been answered, even if the answer is `busy`.
      if (client && scope_->running() <= 4 * most_clients) {
        scope_->spawn(attend(std::move(*client)));
      } else if (!client && !scope_->stop_requested()) {
        (co_await sleep_for(std::chrono::milliseconds(100), scope_->token())).ignore();
      }
    }
    co_await incoming.close();
  }

  /// Counts one more in `of`, until it is destroyed.
  class counted {
   public:
    explicit counted(std::size_t& of) noexcept : of_(of) { ++of_; }
    ~counted() { --of_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;

   private:
    std::size_t& of_;
  };

  task<void> attend(transport::unique_fd fd) {
    connection client(reactor_, std::move(fd));
    const counted one(clients_);
    deadline_stop waiting(deadline::in(patience), scope_->token());
    const auto line = co_await client.read_line(waiting.token());
    if (!line) co_return;
    const auto command = detail::control_command::parse(*line);
    const auto events = detail::asks_for_events(command);
    if (clients_ > most_clients) {
      co_await send(client,
                    detail::error_line(make_error(
                        errc::busy, "{} clients are being answered, which is the limit", most_clients)));
    } else if (!limit_.take(reactor_.now())) {
      co_await send(client, detail::error_line(make_error(errc::busy,
                                                          "more than {} commands in a second: ask less often",
                                                          most_commands_per_second)));
    } else if (events && events->follow) {
      co_await follow(client, events->after);
    } else {
      co_await send(client, detail::answer_to(command, node_, reactor_));
    }
  }

  /// Sends what ends with a newline. False if it did not get through.
  task<bool> send(connection& client, std::string text) {
    text.pop_back();  // the connection adds it again
    deadline_stop sending(deadline::in(patience), scope_->token());
    const status sent = co_await client.write_line(std::move(text), sending.token());
    co_return sent.has_value();
  }

  task<void> follow(connection& client, std::uint64_t after) {
    if (followers_ >= most_followers) {
      co_await send(client,
                    detail::error_line(make_error(
                        errc::busy, "{} clients follow the events, which is the limit", most_followers)));
      co_return;
    }
    const counted one(followers_);
    scope watching(scope_->token());
    watching.spawn(watch(client, watching));
    co_await tell_events(client, after, watching.token());
    watching.request_stop();
    co_await watching.join();
  }

  task<void> tell_events(connection& client, std::uint64_t after, stop_token stop) {
    for (;;) {
      std::string lines;
      for (const node_event& e : node_.events(after)) {
        lines += detail::event_line(node_, e);
        after = e.number;
      }
      if (!lines.empty()) {
        const bool sent = co_await send(client, std::move(lines));
        if (!sent) co_return;
      }
      const status more = co_await node_.event_after(after, stop);
      if (!more) co_return;
    }
  }

  /// Ends the following when the client has gone.
  static task<void> watch(connection& client, scope& watching) {
    (co_await client.hung_up(watching.token())).ignore();
    watching.request_stop();
  }

  node& node_;
  transport::reactor& reactor_;
  std::string path_;
  detail::ask_limit limit_;
  transport::unique_fd listener_;
  std::optional<scope> scope_;
  std::size_t clients_ = 0;
  std::size_t followers_ = 0;
};

node_control::node_control(node& of, transport::reactor& loop, std::string path)
    : server_(std::make_unique<server>(of, loop, std::move(path))) {}

node_control::~node_control() = default;

status node_control::open() {
  return server_->open();
}

task<void> node_control::close() {
  return server_->close();
}

const std::string& node_control::path() const noexcept {
  return server_->path();
}

}  // namespace scoll
