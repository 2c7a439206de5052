#include "scoll/incarnation_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <span>
#include <string_view>

#include "transport/io/file.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll {
namespace {

constexpr std::string_view head = "scoll incarnation ";
constexpr std::size_t most_bytes = 256;  // a longer file was not written by this store

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string to_text(std::uint64_t incarnation) {
  const std::string number = fmt::format("{}{}", head, incarnation);
  return fmt::format("{} xxh3 {:016x}\n", number, wire::checksum(bytes_of(number)));
}

/// Returns zero unless the text is exactly what `to_text` makes.
std::uint64_t from_text(const std::string& text) {
  std::uint64_t found = 0;
  if (!text.starts_with(head)) return 0;
  std::from_chars(text.data() + head.size(), text.data() + text.size(), found);
  return text == to_text(found) ? found : 0;
}

}  // namespace

std::uint64_t wall_clock_ns() noexcept {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<nanoseconds>(since).count());
}

/// Gives the latest number, or zero if there is none. In that case it creates the directory, so that the
/// number is not lost with the directory's name.
task<result<std::uint64_t>> incarnation_store::latest() {
  const auto content = co_await transport::read_file(files_, file_name(), most_bytes);
  if (!content && transport::no_such_file(content.error())) {
    const auto made = co_await transport::ensure_directory(files_, directory_);
    if (!made) co_return made.error();
    co_return std::uint64_t{0};
  }
  if (!content && content.error() != errc::too_large) co_return content.error();
  std::uint64_t found = 0;
  if (content) found = from_text({reinterpret_cast<const char*>(content->data()), content->size()});
  if (found == 0 && policy_ == damage::refuse)
    co_return transport::file_error(errc::checksum_mismatch, "damaged:", file_name());
  co_return found;
}

task<result<std::uint64_t>> incarnation_store::next(std::uint64_t now_ns) {
  const auto before = co_await latest();
  if (!before) co_return before.error();
  if (*before == UINT64_MAX)
    co_return transport::file_error(errc::too_large, "no greater number than in", file_name());
  const std::uint64_t chosen = std::max(*before + 1, now_ns);
  const std::string text = to_text(chosen);
  const auto kept = co_await transport::replace_file(files_, file_name(), bytes_of(text));
  if (!kept) co_return kept.error();
  co_return chosen;
}

task<status> choose_incarnation(transport::file_system& files, node_options& options, std::uint64_t now_ns) {
  if (options.incarnation != 0) co_return status{};
  if (options.directory.empty()) {
    options.incarnation = now_ns;
    co_return status{};
  }
  incarnation_store store(files, options.directory);
  const auto next = co_await store.next(now_ns);
  if (!next) co_return next.error();
  options.incarnation = *next;
  co_return status{};
}

}  // namespace scoll
