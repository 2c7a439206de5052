#include "gossip/configuration.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/wire/byte_order.hpp"

namespace scoll::gossip {
namespace {

constexpr std::size_t longest_address = 255;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// The number at the beginning of a text, without leading zeros, so that equal numbers of any spelling are
/// next to each other.
std::string_view number_at(std::string_view text) noexcept {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  return text.substr(0, end);
}

int compare_numbers(std::string_view a, std::string_view b) noexcept {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

bool before(std::string_view a, std::string_view b) noexcept {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    std::size_t taken_a = 1, taken_b = 1;
    if (is_digit(a[0]) && is_digit(b[0])) {
      const auto x = number_at(a), y = number_at(b);
      if (const int order = compare_numbers(x, y); order != 0) return order < 0;
      taken_a = x.size();
      taken_b = y.size();
    } else if (a[0] != b[0]) {
      return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    }
    a.remove_prefix(taken_a);
    b.remove_prefix(taken_b);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

/// A SHA-256, fed piece by piece.
class hash {
 public:
  explicit hash(std::string_view domain) : context_(EVP_MD_CTX_new()) {
    SCOLL_ASSERT(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1,
                 "the cryptographic library offers no SHA-256");
    put(domain);
  }
  ~hash() { EVP_MD_CTX_free(context_); }
  hash(const hash&) = delete;
  hash& operator=(const hash&) = delete;

  void put(std::string_view text) { EVP_DigestUpdate(context_, text.data(), text.size()); }
  void put(std::span<const std::byte> bytes) { EVP_DigestUpdate(context_, bytes.data(), bytes.size()); }
  void put(std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    wire::detail::store_little(bytes.data(), value);
    put(bytes);
  }
  configuration_digest end() {
    configuration_digest digest;
    EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(digest.data()), nullptr);
    return digest;
  }

 private:
  EVP_MD_CTX* context_;
};

configuration_digest digest_of(const configuration& shared) {
  hash h("scoll gossip participants 2");
  h.put(std::uint64_t{shared.size()});
  for (participant_index i = 0; i < shared.size(); ++i) {
    h.put(shared.id(i));
    h.put(shared.addresses(i).size());
    for (const std::string& address : shared.addresses(i)) {
      h.put(address.size());
      h.put(address);
    }
  }
  return h.end();
}

status check_interval(nanoseconds interval) {
  const bool whole = interval % std::chrono::milliseconds(1) == nanoseconds(0);
  if (interval >= least_interval && interval <= longest_interval && whole) return {};
  return make_error(errc::invalid_argument,
                    "gossip: an interval of {} us is not 200 ms to 10 min, in whole ms",
                    interval.count() / 1000);
}

std::string name_of(const participant_entry& e) {
  if (e.id != 0) return fmt::format("participant {}", e.id);
  return e.addresses.empty() ? "a participant without an id" : e.addresses.front();
}

status check(const participant_entry& e) {
  const std::size_t count = e.addresses.size();
  if (count == 0 || count > most_addresses)
    return make_error(errc::invalid_argument, "gossip: {} has {} addresses, not 1 to {}", name_of(e), count,
                      most_addresses);
  if (e.id == 0 && count > 1)
    return make_error(errc::invalid_argument,
                      "gossip: {} has {} addresses and no id: give every participant an id", name_of(e),
                      count);
  for (const std::string& a : e.addresses) {
    if (a.empty() || a.size() > longest_address)
      return make_error(errc::invalid_argument, "gossip: an address has {} bytes, not 1 to {}", a.size(),
                        longest_address);
  }
  return {};
}

/// Either all entries have an id, or none has.
status check(const std::vector<participant_entry>& entries) {
  if (entries.empty()) return error(errc::invalid_argument, "gossip: the list of participants is empty");
  if (entries.size() > most_participants)
    return make_error(errc::too_large, "gossip: {} participants, at most {} are possible", entries.size(),
                      most_participants);
  for (const participant_entry& e : entries) {
    if (status s = check(e); !s) return s;
    if ((e.id == 0) != (entries.front().id == 0))
      return make_error(errc::invalid_argument,
                        "gossip: {} has {}, but {} has {}: give an id to every participant, or to none",
                        name_of(entries.front()), entries.front().id == 0 ? "no id" : "an id", name_of(e),
                        e.id == 0 ? "none" : "one");
  }
  return {};
}

}  // namespace

result<configuration_ptr> configuration::make(std::vector<std::string> participants, nanoseconds interval) {
  std::vector<participant_entry> entries;
  entries.reserve(participants.size());
  for (std::string& p : participants) entries.push_back({0, {std::move(p)}});
  return of_entries(std::move(entries), interval);
}

result<configuration_ptr> configuration::of_entries(std::vector<participant_entry> entries,
                                                    nanoseconds interval) {
  if (status s = check(entries); !s) return s.error();
  if (status s = check_interval(interval); !s) return s.error();
  std::shared_ptr<configuration> made(new configuration);
  made->interval_ = interval;
  if (status s = made->take(std::move(entries)); !s) return s.error();
  made->participants_digest_ = digest_of(*made);
  hash h("scoll gossip configuration 2");
  h.put(std::uint64_t{protocol_version});
  h.put(static_cast<std::uint64_t>(interval.count()));
  h.put(made->participants_digest_);
  made->digest_ = h.end();
  return configuration_ptr(std::move(made));
}

/// Bare addresses are numbered in their order, so that equal lists have equal ids.
status configuration::take(std::vector<participant_entry> entries) {
  const bool bare = entries.front().id == 0;
  std::sort(entries.begin(), entries.end(), [bare](const auto& a, const auto& b) {
    return bare ? before(a.addresses.front(), b.addresses.front()) : a.id < b.id;
  });
  begins_.push_back(0);
  for (participant_entry& e : entries) {
    if (!bare && !ids_.empty() && ids_.back() == e.id)
      return make_error(errc::duplicate_target, "gossip: participant {} is named twice", e.id);
    ids_.push_back(bare ? ids_.size() + 1 : e.id);
    std::move(e.addresses.begin(), e.addresses.end(), std::back_inserter(addresses_));
    begins_.push_back(static_cast<std::uint32_t>(addresses_.size()));
  }
  return sort_addresses();
}

status configuration::sort_addresses() {
  by_text_.resize(addresses_.size());
  std::iota(by_text_.begin(), by_text_.end(), 0);
  std::sort(by_text_.begin(), by_text_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return before(addresses_[a], addresses_[b]); });
  const auto twice =
      std::adjacent_find(by_text_.begin(), by_text_.end(),
                         [this](std::uint32_t a, std::uint32_t b) { return addresses_[a] == addresses_[b]; });
  if (twice == by_text_.end()) return {};
  return make_error(errc::duplicate_target, "gossip: {} is named twice", addresses_[*twice]);
}

std::optional<participant_index> configuration::index_of(std::string_view address) const noexcept {
  const auto at =
      std::lower_bound(by_text_.begin(), by_text_.end(), address,
                       [this](std::uint32_t a, std::string_view b) { return before(addresses_[a], b); });
  if (at == by_text_.end() || addresses_[*at] != address) return std::nullopt;
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), *at);
  return static_cast<participant_index>(after - begins_.begin() - 1);
}

std::optional<participant_index> configuration::index_of_id(participant_id id) const noexcept {
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (at == ids_.end() || *at != id) return std::nullopt;
  return static_cast<participant_index>(at - ids_.begin());
}

}  // namespace scoll::gossip
