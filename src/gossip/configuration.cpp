#include "gossip/configuration.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <span>

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

configuration_digest digest_of(const std::vector<std::string>& participants) {
  hash h("scoll gossip participants 1");
  h.put(participants.size());
  for (const std::string& p : participants) {
    h.put(p.size());
    h.put(p);
  }
  return h.end();
}

status check(const std::vector<std::string>& participants, nanoseconds interval) {
  if (participants.empty()) return error(errc::invalid_argument, "gossip: the list of participants is empty");
  if (participants.size() > most_participants)
    return make_error(errc::too_large, "gossip: {} participants, at most {} are possible",
                      participants.size(), most_participants);
  for (const std::string& p : participants) {
    if (p.empty() || p.size() > longest_address)
      return make_error(errc::invalid_argument, "gossip: an address has {} bytes, not 1 to {}", p.size(),
                        longest_address);
  }
  const bool whole = interval % std::chrono::milliseconds(1) == nanoseconds(0);
  if (interval < least_interval || interval > longest_interval || !whole)
    return make_error(errc::invalid_argument,
                      "gossip: an interval of {} us is not 200 ms to 10 min, in whole ms",
                      interval.count() / 1000);
  return {};
}

}  // namespace

result<configuration_ptr> configuration::make(std::vector<std::string> participants, nanoseconds interval) {
  if (status s = check(participants, interval); !s) return s.error();
  std::shared_ptr<configuration> made(new configuration);
  made->participants_ = std::move(participants);
  made->interval_ = interval;
  auto& all = made->participants_;
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return before(a, b); });
  if (const auto twice = std::adjacent_find(all.begin(), all.end()); twice != all.end())
    return make_error(errc::duplicate_target, "gossip: {} is named twice", *twice);
  made->participants_digest_ = digest_of(all);
  hash h("scoll gossip configuration 1");
  h.put(std::uint64_t{protocol_version});
  h.put(static_cast<std::uint64_t>(interval.count()));
  h.put(made->participants_digest_);
  made->digest_ = h.end();
  return configuration_ptr(std::move(made));
}

std::optional<participant_index> configuration::index_of(std::string_view address) const noexcept {
  const auto at = std::lower_bound(participants_.begin(), participants_.end(), address,
                                   [](const std::string& a, std::string_view b) { return before(a, b); });
  if (at == participants_.end() || *at != address) return std::nullopt;
  return static_cast<participant_index>(at - participants_.begin());
}

}  // namespace scoll::gossip
