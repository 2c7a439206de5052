#include "scoll/ship/function_text.hpp"

#include <algorithm>
#include <cctype>
#include <new>
#include <string>

#include "scoll/coro/error_format.hpp"

namespace scoll::detail {
namespace {

constexpr std::string_view gap = "...";

/// Leaves out the middle of a longer name.
std::string shortened(std::string_view name, std::size_t room) {
  if (name.size() <= room) return std::string(name);
  const std::size_t kept = room - gap.size();
  const std::size_t end = kept / 2;
  return std::string(name.substr(0, kept - end)).append(gap).append(name.substr(name.size() - end));
}

struct pair_of_texts {
  std::string first, second;
};

/// Gives each text half of the room; the part that one does not need goes to the other.
pair_of_texts shortened(std::string_view a, std::string_view b, std::size_t room) {
  const std::size_t half = room / 2;
  const std::size_t for_a = room - std::min(half, b.size());
  const std::size_t for_b = room - std::min(room - half, a.size());
  return {shortened(a, for_a), shortened(b, for_b)};
}

std::string form(std::string_view argument, std::string_view result) {
  return std::string("(").append(argument).append(") -> ").append(result);
}

/// Shows `text` from the beginning of the word at `from` on, within `room`.
std::string excerpt(const std::string& text, std::size_t from, std::size_t room) {
  if (text.size() <= room) return text;
  while (from != 0 && from < text.size() && std::isalnum(static_cast<unsigned char>(text[from - 1])) != 0)
    --from;
  std::string shown = from == 0 ? std::string() : std::string(gap);
  shown += text.substr(std::min(from, text.size()));
  if (shown.size() <= room) return shown;
  return shown.substr(0, room - gap.size()).append(gap);
}

/// Fits both texts into `room`. Each begins where they first differ, unless there is room for all of it.
pair_of_texts where_they_differ(const std::string& a, const std::string& b, std::size_t room) {
  const auto differs = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  const auto from = static_cast<std::size_t>(differs - a.begin());
  const std::string first = excerpt(a, from, room / 2);
  const std::string second = excerpt(b, from, room - first.size());
  return {excerpt(a, from, room - second.size()), second};
}

constexpr std::size_t digits(std::uint64_t n) noexcept {
  std::size_t count = 1;
  for (; n >= 10; n /= 10) ++count;
  return count;
}

/// The room that a text of the given letters leaves for the names filled in.
constexpr std::size_t room_beside(std::string_view letters) noexcept {
  return error::text_capacity - letters.size();
}

error other_name(const function_key& here, node_id peer, std::string_view there) {
  const std::size_t room = room_beside("'' here, '' on node : one number") - digits(peer);
  const pair_of_texts names = shortened(here.name, there, room);
  return make_error(errc::type_mismatch, "'{}' here, '{}' on node {}: one number", names.first, names.second,
                    peer);
}

error other_types(const function_key& here, node_id peer, const function_text& there) {
  constexpr std::size_t most = 32;
  const std::string name = shortened(here.name, most);
  const std::size_t room = room_beside("'' is  here,  on node ") - name.size() - digits(peer);
  const pair_of_texts types =
      where_they_differ(form(here.argument, here.result), form(there.argument.view, there.result.view), room);
  return make_error(errc::type_mismatch, "'{}' is {} here, {} on node {}", name, types.first, types.second,
                    peer);
}

}  // namespace

std::size_t describe_function(const function_key& f, std::span<std::byte> into) noexcept {
  function_text text{{f.name}, {}, {}};
  const std::size_t least = wire::encoded_size(text);
  if (least > into.size()) return 0;
  const std::size_t room = into.size() - least;
  text.result.view = f.result.substr(0, room - std::min(room / 2, f.argument.size()));
  text.argument.view = f.argument.substr(0, room - text.result.view.size());
  return *wire::encode_to(into, text);
}

error same_number(const function_key& taken, const function_key& added) noexcept try {
  const std::size_t room = room_beside("functions '' and '' have the same number");
  const pair_of_texts names = shortened(taken.name, added.name, room);
  return make_error(errc::already_exists, "functions '{}' and '{}' have the same number", names.first,
                    names.second);
} catch (const std::bad_alloc&) {
  return {errc::already_exists, taken.name};
}

error not_served(const function_key& f, node_id peer) noexcept try {
  const std::size_t room = room_beside("node  does not serve ''") - digits(peer);
  return make_error(errc::unknown_function, "node {} does not serve '{}'", peer, shortened(f.name, room));
} catch (const std::bad_alloc&) {
  return {errc::unknown_function, f.name};
}

error other_function(const function_key& here, node_id peer, const function_text& there) noexcept try {
  return here.name == there.name.view ? other_types(here, peer, there)
                                      : other_name(here, peer, there.name.view);
} catch (const std::bad_alloc&) {
  return {errc::type_mismatch, here.name};
}

}  // namespace scoll::detail
