#include "scoll/collective/creation_statement.hpp"

#include <algorithm>
#include <functional>

#include "scoll/collective/limits.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {

bool creation_statement::covers(std::uint64_t counter) const noexcept {
  const auto named = excepted();
  return counter < below && std::find(named.begin(), named.end(), counter) == named.end();
}

void put_statement(wire::writer& out, const creation_statement& said) {
  wire::encode(out, said.below);
  wire::encode(out, said.count);
  for (const std::uint64_t counter : said.excepted()) wire::encode(out, counter);
}

std::optional<creation_statement> take_statement(wire::reader& in) {
  creation_statement said;
  wire::decode(in, said.below);
  wire::decode(in, said.count);
  if (!in.ok() || said.count > creation_statement::most_exceptions) return std::nullopt;
  for (std::size_t i = 0; i < said.count; ++i) wire::decode(in, said.exceptions[i]);
  const auto named = said.excepted();
  const bool ascending =
      std::adjacent_find(named.begin(), named.end(), std::greater_equal<>()) == named.end();
  if (!in.ok() || !ascending) return std::nullopt;
  return said;
}

std::uint64_t own_creations::begin() {
  under_way_.push_back(next_);
  return next_++;
}

void own_creations::settle(std::uint64_t counter) noexcept {
  const auto at = std::lower_bound(under_way_.begin(), under_way_.end(), counter);
  if (at != under_way_.end() && *at == counter) under_way_.erase(at);
}

void own_creations::lose_sight(std::uint64_t counter) {
  settle(counter);
  out_of_sight_.push_back(counter);
  if (out_of_sight_.size() > max_groups_out_of_sight) out_of_sight_.pop_front();
}

creation_statement own_creations::statement() const noexcept {
  creation_statement said;
  const std::size_t named = std::min(under_way_.size(), creation_statement::most_exceptions);
  said.below = named < under_way_.size() ? under_way_[named] : next_;
  if (SCOLL_MUTANT(below_overstated, "a creator says that a creation is over while it is under way"))
    return said;
  said.count = static_cast<std::uint8_t>(named);
  std::copy_n(under_way_.begin(), named, said.exceptions.begin());
  return said;
}

}  // namespace scoll::detail
