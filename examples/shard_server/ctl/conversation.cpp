#include "conversation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "text.hpp"

namespace shard {
namespace {

using nlohmann::json;

/// Formats a line such as "1.2 GiB of 2.0 GiB (60%), 3 of 8 servers have the file".
std::string describe_installation(const json& p, std::uint64_t total_bytes) {
  const auto bytes = p.value("bytes", std::uint64_t{0});
  return fmt::format("{} of {} ({}%), {} of {} servers have the file", as_size(bytes), as_size(total_bytes),
                     100 * bytes / total_bytes, p.value("done", 0), p.value("total", 0));
}

/// Formats a line such as "1,204 of 4,000 objects (30%), 61.3 MiB, 16 servers".
std::string describe_progress(const json& p) {
  if (const auto bytes = p.value("total_bytes", std::uint64_t{0}); bytes != 0)
    return describe_installation(p, bytes);
  const auto done = p.value("done", std::uint64_t{0});
  const auto total = p.value("total", std::uint64_t{0});
  const std::string known =
      total == 0 ? "" : fmt::format(" of {} objects ({}%)", with_commas(total), 100 * done / total);
  return fmt::format("{}{}, {}, {} servers", with_commas(done), known,
                     as_size(p.value("bytes", std::uint64_t{0})), p.value("servers", 0));
}

/// Draws the share of the work that is done, as in "[######--------------] "; "" if the whole is not known.
std::string draw_progress(const json& p) {
  constexpr std::uint64_t cells = 20;
  const bool by_bytes = p.value("total_bytes", std::uint64_t{0}) != 0;
  const auto done = p.value(by_bytes ? "bytes" : "done", std::uint64_t{0});
  const auto total = p.value(by_bytes ? "total_bytes" : "total", std::uint64_t{0});
  if (total == 0) return "";
  const auto full = static_cast<std::size_t>(cells * std::min(done, total) / total);
  return fmt::format("[{:#<{}}{:-<{}}] ", "", full, "", cells - full);
}

/// Clears its line when it is destroyed.
class progress_line {
 public:
  explicit progress_line(progress_style style) : style_(style) {}
  ~progress_line() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void show(const json& progress) {
    if (style_ == progress_style::none) return;
    shown_ = style_ == progress_style::one_line;
    const std::string text = describe_progress(progress);
    std::fputs((shown_ ? "\r\x1b[K" + draw_progress(progress) + text : text + '\n').c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  progress_style style_;
  bool shown_ = false;
};

bool empty_or_absent(const json& answer, const char* key) {
  return !answer.contains(key) || answer[key].empty();
}

}  // namespace

std::optional<control_client> connect(const cluster_config& config, std::optional<scoll::node_id> node) {
  for (const cluster_node& each : config.nodes) {
    if (node && each.id != *node) continue;
    if (auto client = control_client::connect(each.control)) return client;
  }
  return std::nullopt;
}

std::optional<json> converse(control_client& server, const json& command, progress_style style,
                             std::chrono::milliseconds silence,
                             const std::function<void(const std::string&)>& on_bytes) {
  if (!server.send_line(command.dump(-1, ' ', false, json::error_handler_t::replace))) return std::nullopt;
  return await_answer(server, style, silence, on_bytes);
}

std::optional<json> await_answer(control_client& server, progress_style style,
                                 std::chrono::milliseconds silence,
                                 const std::function<void(const std::string&)>& on_bytes) {
  progress_line progress(style);
  while (const auto line = server.read_line(silence)) {
    json said = json::parse(*line, nullptr, false);
    if (!said.is_object()) break;
    if (said.contains("progress")) {
      progress.show(said["progress"]);
    } else if (said.contains("bytes") && on_bytes) {
      on_bytes(said["bytes"].get<std::string>());
    } else {
      return said;
    }
  }
  return std::nullopt;
}

exit_code exit_code_of(const json& answer) {
  const std::string code = answer["status"]["code"];
  if (code == "ok" && empty_or_absent(answer, "absent")) return all_executed;
  if (code == "invalid_argument" && !answer.contains("outcome")) return bad_usage;
  const bool some = answer.contains("outcome") &&
                    !(answer["outcome"]["merged"].empty() && answer["outcome"]["executed"].empty());
  return some ? partial_answer : no_answer;
}

}  // namespace shard
