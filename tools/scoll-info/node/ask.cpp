#include "ask.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "transport/io/control_client.hpp"

namespace info {
namespace {

using scoll::transport::control_client;
using std::chrono::milliseconds;

using clock = std::chrono::steady_clock;

constexpr milliseconds patience{5000};
constexpr milliseconds pause_when_busy{200};
constexpr int most_attempts = 10;

complaint nobody_answers(const std::string& socket) {
  if (::access(socket.c_str(), F_OK) != 0) {
    return {
        fmt::format("{}: {}\nA program has this socket while it runs if its setting node.control is that "
                    "path: SCOLL_NODE_CONTROL={}. {{node}} in the setting stands for the id of its node.",
                    socket, std::strerror(errno), socket)};
  }
  if (::access(socket.c_str(), W_OK) != 0) {
    return {
        fmt::format("{}: {}\nOnly the user who runs the program may ask it.", socket, std::strerror(errno))};
  }
  return {
      fmt::format("{}: nobody answers\nThe program that made this socket has ended; it makes the socket "
                  "anew when it starts.",
                  socket)};
}

complaint no_answer(const std::string& socket, clock::time_point asked) {
  if (clock::now() - asked < patience)
    return {
        fmt::format("{}: the program has closed the connection without an answer; it is "
                    "ending, or too many ask at once",
                    socket)};
  return {
      fmt::format("{}: the node has not answered within {} s\nIts thread may be blocked, or the program "
                  "stopped.",
                  socket, patience.count() / 1000)};
}

/// The error in an answer, if it is one.
std::optional<complaint> error_in(const json& answer, bool& busy) {
  if (!answer.is_object()) return complaint{"the answer is not JSON: is this the socket of a node?"};
  const auto error = answer.find("error");
  if (error == answer.end()) return std::nullopt;
  if (!error->is_object()) return complaint{"this is not the control socket of a node"};
  const auto code = error->value("code", "");
  busy = code == "busy";
  return complaint{fmt::format("the node refuses: {}: {}", code, error->value("text", "")), !busy};
}

std::variant<json, complaint> ask_once(const std::string& socket, const std::string& command, bool& busy) {
  auto client = control_client::connect(socket);
  if (!client) return nobody_answers(socket);
  const auto asked = clock::now();
  const bool sent = client->send_line(command);
  const auto line = sent ? client->read_line(patience) : std::nullopt;
  if (!line) return no_answer(socket, asked);
  json answer = json::parse(*line, nullptr, false);
  if (auto wrong = error_in(answer, busy)) return std::move(*wrong);
  return answer;
}

/// Asks again while the node is busy.
std::variant<json, complaint> ask_patiently(const std::string& socket, const std::string& command) {
  for (int attempt = 1;; ++attempt) {
    bool busy = false;
    auto answer = ask_once(socket, command, busy);
    if (!busy || attempt == most_attempts) return answer;
    std::this_thread::sleep_for(pause_when_busy);
  }
}

}  // namespace

std::string list_of(const std::string& command) {
  for (const char* name : {"peers", "groups", "operations", "events"}) {
    if (command == name) return name;
  }
  if (command == "rails") return "peers";
  return command == "memory" ? "resources" : "";
}

std::variant<json, complaint> ask(const std::string& socket, const std::string& command) {
  auto whole = ask_patiently(socket, command);
  auto* const all = std::get_if<json>(&whole);
  if (all == nullptr) return whole;
  const std::string list = list_of(command);
  while (all->contains("next")) {
    const std::string next = (*all)["next"].get<std::string>();
    all->erase("next");
    auto portion = ask_patiently(socket, command + " " + next);
    auto* const more = std::get_if<json>(&portion);
    if (more == nullptr) return portion;
    for (json& row : (*more)[list]) (*all)[list].push_back(std::move(row));
    if (more->contains("next")) (*all)["next"] = (*more)["next"];
  }
  return whole;
}

std::variant<std::string, complaint> ask_metrics(const std::string& socket) {
  auto client = control_client::connect(socket);
  if (!client) return nobody_answers(socket);
  if (!client->send_line("metrics")) return no_answer(socket, clock::now());
  std::string text;
  for (;;) {
    const auto asked = clock::now();
    const auto line = client->read_line(patience);
    if (!line) return no_answer(socket, asked);
    if (text.empty() && !line->starts_with('#')) {
      bool busy = false;
      if (auto wrong = error_in(json::parse(*line, nullptr, false), busy)) return std::move(*wrong);
    }
    if (*line == "# EOF") return text;
    text.append(*line).append("\n");
  }
}

std::variant<std::monostate, complaint> follow_events(const std::string& socket,
                                                      const std::function<void(const json&)>& tell) {
  constexpr milliseconds for_ever{-1};
  auto client = control_client::connect(socket);
  if (!client) return nobody_answers(socket);
  if (!client->send_line("events follow")) return no_answer(socket, clock::now());
  while (const auto line = client->read_line(for_ever)) {
    const json event = json::parse(*line, nullptr, false);
    bool busy = false;
    if (auto wrong = error_in(event, busy)) return std::move(*wrong);
    tell(event);
  }
  return std::monostate{};
}

}  // namespace info
