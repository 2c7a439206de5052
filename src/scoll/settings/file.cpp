#include "scoll/settings/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

#include "transport/io/socket.hpp"

namespace scoll::detail {
namespace {

std::optional<std::string> as_text(const toml::node& value) {
  if (auto text = value.value_exact<std::string>()) return text;
  if (const auto number = value.value_exact<std::int64_t>()) return fmt::format("{}", *number);
  if (const auto truth = value.value_exact<bool>()) return *truth ? "true" : "false";
  return std::nullopt;
}

std::string place(const std::string& path, const toml::source_region& region) {
  return fmt::format("{}:{}", path, region.begin.line);
}

void refuse(file_settings& found, errc code, std::string complaint) {
  if (!found.complaint.empty()) return;
  found.code = code;
  found.complaint = std::move(complaint);
}

void read_table(const std::string& path, const std::string& before, const toml::table& table,
                file_settings& into) {
  for (const auto& [key, value] : table) {
    const std::string name = before + std::string(key.str());
    if (const toml::table* inner = value.as_table(); inner != nullptr) {
      read_table(path, name + ".", *inner, into);
    } else if (auto text = as_text(value)) {
      into.all.push_back({name, *std::move(text), place(path, value.source())});
    } else {
      refuse(into, errc::invalid_argument,
             fmt::format("{}: {} is neither a text, a whole number, true nor false",
                         place(path, value.source()), name));
    }
  }
}

/// Reads the whole file, or returns the error. It does not use a stream, which would take a folder, or a
/// failure half-way, for the end of the file.
std::error_code read_all(const std::string& path, std::string& into) {
  const transport::unique_fd from(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from) return {errno, std::generic_category()};
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t got = ::read(from.get(), part.data(), part.size());
    if (got == 0) return {};
    if (got > 0) {
      into.append(part.data(), static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return {errno, std::generic_category()};
    }
  }
}

}  // namespace

file_settings read_settings_file(const std::string& path) {
  file_settings found;
  try {
    std::string text;
    const std::error_code failed = read_all(path, text);
    if (failed == std::errc::no_such_file_or_directory) {
      refuse(found, errc::not_found, path + ": there is no such file");
    } else if (failed) {
      refuse(found, errc::io_error, fmt::format("{}: it cannot be read: {}", path, failed.message()));
    } else {
      read_table(path, "", toml::parse(text), found);
    }
  } catch (const toml::parse_error& e) {
    refuse(found, errc::invalid_argument, fmt::format("{}: {}", place(path, e.source()), e.description()));
  } catch (const std::exception& e) {
    refuse(found, errc::io_error, fmt::format("{}: {}", path, e.what()));
  }
  return found;
}

}  // namespace scoll::detail
