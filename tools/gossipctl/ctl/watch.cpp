#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <deque>

#include "choose.hpp"
#include "run.hpp"
#include "text.hpp"

namespace gossipctl {
namespace {

using scoll::transport::control_client;
using steady = std::chrono::steady_clock;

constexpr std::size_t changes_shown = 10;

std::string time_of_day() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%H:%M:%S}.{:03}", fmt::localtime(seconds), ms);
}

/// The content of the screen, drawn again at each status.
class screen {
 public:
  explicit screen(const arguments& args)
      : args_(args), config_(need_config(args)), style_(style::of_stdout()) {}

  void changed(const json& event) {
    changes_.push_back(event_text(event, time_of_day(), style_));
    if (changes_.size() > changes_shown) changes_.pop_front();
  }
  void draw(const json& status) {
    auto daemon = connect(config_, args_);
    const auto said = daemon ? ask(*daemon, {{"command", "members"}}, args_.wait_s) : std::nullopt;
    std::string out = "\x1b[H\x1b[2J" + status_text(status, style_) + '\n';
    if (said && said->value("ok", false))
      out += members_text((*said)["value"], status["interval_ms"].get<double>(), style_);
    if (!changes_.empty()) out += '\n';
    for (const std::string& line : changes_) out += line;
    fmt::print("{}", out);
    std::fflush(stdout);
  }

 private:
  const arguments& args_;
  config config_;
  style style_;
  std::deque<std::string> changes_;
};

/// Calls `take` with each line until the time is over, which gives true, or the daemon has gone, which gives
/// false.
template <class Take>
bool read_lines(control_client& daemon, std::optional<double> seconds, Take take) {
  const auto end = steady::now() + std::chrono::duration_cast<steady::duration>(
                                       std::chrono::duration<double>(seconds.value_or(1e8)));
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady::now());
    if (left.count() <= 0) return true;
    const auto line = daemon.read_line(std::min(left, std::chrono::milliseconds(5000)));
    if (line) {
      const json parsed = json::parse(*line, nullptr, false);
      if (parsed.is_object()) take(parsed);
    } else if (steady::now() < end) {
      return false;  // the daemon sends a line every second
    }
  }
}

}  // namespace

int watch(const arguments& args) {
  const config c = need_config(args);
  auto daemon = connect(c, args);
  if (!daemon || !daemon->send_line(R"({"command": "watch"})")) {
    fmt::print(stderr, "no daemon answers: `gossipctl start` starts one\n");
    return no_daemon;
  }
  const style with = style::of_stdout();
  bool ended_in_time = false;
  if (args.as_json) {
    ended_in_time = read_lines(*daemon, args.seconds, [](const json& line) {
      fmt::print("{}\n", line.dump());
      std::fflush(stdout);
    });
  } else if (args.table || isatty(STDOUT_FILENO) == 1) {
    screen on(args);
    ended_in_time = read_lines(*daemon, args.seconds, [&on](const json& line) {
      if (line.contains("event")) {
        on.changed(line);
      } else {
        on.draw(line["status"]);
      }
    });
  } else {
    ended_in_time = read_lines(*daemon, args.seconds, [&with](const json& line) {
      if (!line.contains("event")) return;
      fmt::print("{}", event_text(line, time_of_day(), with));
      std::fflush(stdout);
    });
  }
  if (ended_in_time) return all_well;
  fmt::print(stderr, "the daemon has gone\n");
  return no_daemon;
}

}  // namespace gossipctl
