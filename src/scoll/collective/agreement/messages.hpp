#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "scoll/collective/agreement/answers.hpp"
#include "scoll/collective/agreement/ballot.hpp"
#include "transport/wire/wire.hpp"

// The requests and replies of the library's service 3, as they travel. docs/wire.md describes them.
namespace scoll::detail {

/// Ranks as ranges: for each the gap to the end of the one before, and its length.
struct encoded_ranks {
  std::vector<wire::varint> numbers;
};
bool wire_valid(const encoded_ranks& ranks) noexcept;

struct encoded_proposal {
  std::vector<std::byte> value;
  encoded_ranks failed;
  std::uint64_t creator = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t counter = 0;
};
bool wire_valid(const encoded_proposal& p) noexcept;

struct encoded_contribution {
  encoded_ranks from;
  std::vector<std::byte> value;
};
bool wire_valid(const encoded_contribution& c) noexcept;

/// The kinds of requests that a proposer makes.
enum class agreement_kind : std::uint8_t {
  collect = 0,  ///< a promise, and the member's value
  accept = 1,   ///< a vote
  decided = 2,  ///< nothing: it tells the outcome
};

/// The number space of an instance. Shrinks have a space apart from the numbers of the callers.
enum class agreement_space : std::uint8_t { agree = 0, shrink = 1 };

/// The ballot's rank is the root of the broadcast.
struct agreement_request {
  agreement_kind kind{};
  agreement_space space{};
  quorum_rule rule{};
  std::uint8_t reserved = 0;
  std::uint32_t round = 0;
  std::uint64_t instance = 0;
  encoded_ranks held;                    ///< a collect: the members whose value the proposer holds
  std::optional<encoded_proposal> what;  ///< an accept, and the outcome
};
bool wire_valid(const agreement_request& r) noexcept;

struct agreement_reply {
  agreement_space space{};
  std::uint64_t instance = 0;
  std::uint32_t forgotten = 0;
  std::uint32_t other_rule = 0;
  std::uint32_t overtaken_round = 0;
  std::uint32_t overtaken_rank = 0;
  std::uint32_t accepted_round = 0;
  std::uint32_t accepted_rank = 0;
  encoded_ranks voters;
  std::optional<encoded_proposal> accepted;
  std::optional<encoded_proposal> decided;
  std::vector<encoded_contribution> contributions;
};
bool wire_valid(const agreement_reply& r) noexcept;

encoded_ranks encoded(const rank_set& ranks);
encoded_proposal encoded(const proposal& p);
rank_set decoded(const encoded_ranks& ranks);
proposal decoded(const encoded_proposal& p);

/// Puts answers into a reply, whose instance the caller names, and takes them out again.
void put(agreement_reply& into, const agreement_answers& answers);
agreement_answers taken_from(const agreement_reply& reply);

}  // namespace scoll::detail
