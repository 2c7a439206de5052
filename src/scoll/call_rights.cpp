#include "scoll/call_rights.hpp"

#include <algorithm>
#include <charconv>

#include "scoll/coro/error_format.hpp"
#include "transport/session/greeting.hpp"

namespace scoll {
namespace {

constexpr std::string_view all_nodes = "node";
constexpr std::string_view all_clients = "client";
constexpr std::string_view one_client = "client/";
constexpr std::string_view of_service = "service:0x";
constexpr std::string_view everything = "*";

std::string_view without_spaces(std::string_view text) noexcept {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Takes the part before the next `mark` off a text.
std::string_view next_part(std::string_view& text, char mark) noexcept {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return without_spaces(part);
}

bool is_caller(std::string_view who) noexcept {
  if (who == all_nodes || who == all_clients) return true;
  return who.starts_with(one_client) && who.size() > one_client.size();
}

}  // namespace

status call_rights::add(std::string_view what, entry& to) {
  if (what.empty()) return error(errc::invalid_argument, "a function is missing");
  if (what == everything) {
    to.all = true;
  } else if (what.starts_with("service:")) {
    std::uint32_t id = 0;
    const std::string_view digits = what.substr(std::min(of_service.size(), what.size()));
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), id, 16);
    if (!what.starts_with(of_service) || failed != std::errc() || end != digits.data() + digits.size())
      return make_error(errc::invalid_argument, "'{:.32}': a service is written as service:0x0204", what);
    to.services.push_back(id);
  } else {
    to.functions.emplace_back(what);
  }
  return {};
}

result<call_rights> call_rights::parse(std::string_view text) {
  call_rights made;
  for (std::size_t number = 1; !without_spaces(text).empty(); ++number) {
    std::string_view rest = next_part(text, ',');
    const bool assigned = rest.find('=') != std::string_view::npos;
    const std::string_view who = next_part(rest, '=');
    const auto refuse = [&](std::string_view why) {
      return make_error(errc::invalid_argument, "entry {}, '{:.24}': {}", number, who, why);
    };
    if (!assigned || !is_caller(who)) return refuse("expected node=…, client=… or client/NAME=…");
    if (made.find(who) != nullptr) return refuse("it is there already");
    entry& to = made.entries_.emplace_back();
    to.who = who;
    do {
      if (const status s = add(next_part(rest, '|'), to); !s) return refuse(s.error().text());
    } while (!rest.empty());
  }
  return made;
}

const call_rights::entry* call_rights::find(std::string_view who) const noexcept {
  const auto found = std::ranges::find(entries_, who, [](const entry& e) { return std::string_view(e.who); });
  return found == entries_.end() ? nullptr : &*found;
}

const call_rights::entry* call_rights::entry_of(node_id caller, std::string_view client) const noexcept {
  if (!transport::is_client(caller)) return find(all_nodes);
  const auto named = std::ranges::find_if(
      entries_,
      [client](std::string_view who) {
        return who.starts_with(one_client) && who.substr(one_client.size()) == client;
      },
      [](const entry& e) { return std::string_view(e.who); });
  return named == entries_.end() ? find(all_clients) : &*named;
}

bool call_rights::without_entry(node_id caller) const noexcept {
  return entries_.empty() || !transport::is_client(caller);
}

bool call_rights::may_call(node_id caller, std::string_view client,
                           std::string_view function) const noexcept {
  const entry* const e = entry_of(caller, client);
  if (e == nullptr) return without_entry(caller);
  return e->all || std::ranges::find(e->functions, function) != e->functions.end();
}

bool call_rights::may_broadcast(node_id caller, std::string_view client, service_id service) const noexcept {
  const entry* const e = entry_of(caller, client);
  if (e == nullptr) return without_entry(caller);
  return e->all || std::ranges::find(e->services, static_cast<std::uint32_t>(service)) != e->services.end();
}

std::string to_string(const call_rights& rights) {
  std::string text;
  for (const call_rights::entry& e : rights.entries_) {
    if (!text.empty()) text += ", ";
    text += e.who + '=';
    std::string_view between;
    const auto put = [&](std::string_view what) {
      text.append(between).append(what);
      between = "|";
    };
    if (e.all) put(everything);
    for (const std::string& each : e.functions) put(each);
    for (const std::uint32_t each : e.services) put(fmt::format("service:{:#06x}", each));
  }
  return text;
}

}  // namespace scoll
