#include "scoll/tree/spec.hpp"

#include <charconv>

#include "scoll/tree/any_tree.hpp"

namespace scoll {

namespace {

std::string_view name_of(std::uint8_t kind) {
  switch (kind) {
    case flat::kind: return flat::name;
    case chain::kind: return chain::name;
    case kary::kind: return kary::name;
    case knomial::kind: return knomial::name;
    case greedy::kind: return greedy::name;
    case zoned::kind: return zoned::name;
    default: break;
  }
  const user_tree_functions* user = detail::find_user_tree(kind);
  return user != nullptr ? user->name : std::string_view{};
}

std::optional<std::uint8_t> kind_of(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (unsigned kind = 0; kind < 256; ++kind) {
    if (name_of(static_cast<std::uint8_t>(kind)) == name) return static_cast<std::uint8_t>(kind);
  }
  return std::nullopt;
}

std::optional<tree_params> parse_params(std::string_view text) {
  tree_params params{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint32_t& param : params) {
    const auto [after, error] = std::from_chars(at, end, param);
    if (error != std::errc{}) return std::nullopt;
    if (after == end) return params;
    if (*after != ',') return std::nullopt;
    at = after + 1;
  }
  return std::nullopt;
}

}  // namespace

const char* describe(tree_fault fault) noexcept {
  switch (fault) {
    case tree_fault::none: return "a valid tree";
    case tree_fault::unknown_kind: return "this member knows no spanning tree of that kind";
    case tree_fault::bad_parameters: return "the spanning tree's parameters are out of range";
    case tree_fault::no_members: return "a spanning tree needs at least one member";
    case tree_fault::too_many_members: return "too many members for a tree that needs a table";
  }
  return "not a tree fault";
}

std::string to_string(const tree_spec& spec) {
  const std::string_view name = name_of(spec.kind);
  std::string text = name.empty() ? std::to_string(spec.kind) : std::string(name);
  std::size_t used = spec.params.size();
  while (used > 0 && spec.params[used - 1] == 0) --used;
  for (std::size_t i = 0; i < used; ++i) {
    text += i == 0 ? ':' : ',';
    text += std::to_string(spec.params[i]);
  }
  return text;
}

std::optional<tree_spec> parse_tree(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::optional<std::uint8_t> kind = kind_of(text.substr(0, colon));
  if (!kind) return std::nullopt;
  tree_spec spec(*kind, {});
  if (colon != std::string_view::npos) {
    const std::optional<tree_params> params = parse_params(text.substr(colon + 1));
    if (!params) return std::nullopt;
    spec.params = *params;
  }
  if (check_tree(spec, 1) != tree_fault::none) return std::nullopt;
  return spec;
}

}  // namespace scoll
