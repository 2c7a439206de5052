#include "scoll/bulk/plan.hpp"

#include <array>
#include <charconv>

namespace scoll {

namespace {

constexpr std::array<std::string_view, 5> names{"whole", "chain", "kary", "knomial", "circulant"};

}  // namespace

const char* describe(bulk_plan_fault fault) noexcept {
  switch (fault) {
    case bulk_plan_fault::none: return "a valid plan for bulk data";
    case bulk_plan_fault::unknown_kind: return "this member knows no plan for bulk data of that kind";
    case bulk_plan_fault::bad_radix: return "the radix of the plan for bulk data is out of range";
  }
  return "not a fault of a plan for bulk data";
}

std::string to_string(const bulk_plan& plan) {
  const auto kind = static_cast<std::uint8_t>(plan.kind());
  std::string text = kind < names.size() ? std::string(names[kind]) : std::to_string(kind);
  if (plan.radix() != 0) text += ':' + std::to_string(plan.radix());
  return text;
}

std::optional<bulk_plan> parse_bulk_plan(std::string_view text) {
  const std::size_t colon = text.find(':');
  std::uint8_t kind = 0;
  while (kind < names.size() && names[kind] != text.substr(0, colon)) ++kind;
  std::uint8_t radix = 0;
  if (colon != std::string_view::npos) {
    const std::string_view number = text.substr(colon + 1);
    const char* const begin = number.data();
    const char* const end = begin + number.size();
    const auto [after, error] = std::from_chars(begin, end, radix);
    if (error != std::errc{} || after != end || radix == 0) return std::nullopt;
  }
  const bulk_plan plan = bulk_plan::unchecked(kind, radix);
  if (check_bulk_plan(plan) != bulk_plan_fault::none) return std::nullopt;
  return plan;
}

}  // namespace scoll
