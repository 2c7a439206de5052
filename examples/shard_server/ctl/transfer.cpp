#include "transfer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "../server/base64.hpp"
#include "conversation.hpp"

namespace shard {
namespace {

using nlohmann::json;

/// A FILE that is closed on destruction unless it is one of the standard streams.
using file_handle = std::unique_ptr<std::FILE, decltype([](std::FILE* f) {
                                      if (f != stdin && f != stdout) std::fclose(f);
                                    })>;

file_handle open_or_say(const std::string& path, const char* mode, std::FILE* standard) {
  if (path.empty() || path == "-") return file_handle(standard);
  file_handle opened(std::fopen(path.c_str(), mode));
  if (!opened) fmt::print(stderr, "{}: {}\n", path, std::strerror(errno));
  return opened;
}

/// Returns false if the file cannot be read. If the server has closed the connection, it may have said why:
/// that is read later.
bool send_content(control_client& server, std::FILE* from) {
  std::array<std::byte, 49152> bytes;
  while (const std::size_t n = std::fread(bytes.data(), 1, bytes.size(), from)) {
    json line;
    line["bytes"] = to_base64(std::span(bytes).first(n));
    if (!server.send_line(line.dump())) return true;
  }
  if (std::ferror(from) != 0) return false;
  json end;
  end["end"] = true;
  static_cast<void>(server.send_line(end.dump()));
  return true;
}

}  // namespace

std::optional<json> put_file(control_client& server, const json& command, const std::string& file,
                             std::chrono::milliseconds silence) {
  const auto from = open_or_say(file, "rb", stdin);
  if (!from || !server.send_line(command.dump())) return std::nullopt;
  if (send_content(server, from.get())) return await_answer(server, progress_style::none, silence);
  fmt::print(stderr, "{}: {}\n", file, std::strerror(errno));
  return std::nullopt;  // closing the connection cancels the put
}

std::optional<json> get_file(control_client& server, const json& command, const std::string& file,
                             std::chrono::milliseconds silence) {
  const bool named = !file.empty() && file != "-";
  const std::string part = named ? file + ".part" : file;
  auto into = open_or_say(part, "wb", stdout);
  if (!into) return std::nullopt;
  bool written = true;
  const auto write = [&](const std::string& base64) {
    const auto bytes = from_base64(base64);
    written = written && bytes && std::fwrite(bytes->data(), 1, bytes->size(), into.get()) == bytes->size();
  };
  auto answer = converse(server, command, progress_style::none, silence, write);
  written = std::fflush(into.get()) == 0 && written;
  into.reset();
  const bool whole = answer && written && (*answer)["status"]["code"] == "ok";
  if (named && (whole ? ::rename(part.c_str(), file.c_str()) : ::unlink(part.c_str())) != 0) written = false;
  if (written) return answer;
  fmt::print(stderr, "{}: cannot be written\n", named ? file : "stdout");
  return std::nullopt;
}

}  // namespace shard
