#include <algorithm>
#include <chrono>

#include "gossip/core.hpp"
#include "gossip/core_log.hpp"

// Messages of other configurations, of other versions of the protocol, and of strangers. They change nothing but the
// opinion of the configuration.

namespace scoll::gossip {
namespace {

constexpr nanoseconds between_reports = std::chrono::seconds(10);

}  // namespace

/// The opinion of the configuration changes only by replies. A reply was made for this life, while a
/// participant that has just started and knows no lives cannot tell an old ping from a new one.
void core::disagree(participant_index from, const message_head& h, std::span<const std::byte> body,
                    time_point now) noexcept {
  if (!admit(from, h, records_[from].disagreeing)) return;
  ++counts_.disagreeing;
  const parameter differs = difference_to(h, body);
  report(from, h, differs, now);
  if (h.kind != message_kind::reply) {
    if (stage_ == participation::active) reply_without_entries(from, h, true);
    return;
  }
  const bool in_full = differs != parameter::none;
  if (agreement_.hear(from, false, h.established, in_full) != agreement::outcome::stop) return;
  const errc code = differs == parameter::version ? errc::version_mismatch : errc::wrong_cluster;
  fail(make_error(code, "gossip: {} has another {}", shared_->address(from), to_string(differs)));
}

/// The parameter that differs; `none` if the message does not say.
parameter core::difference_to(const message_head& h, std::span<const std::byte> body) const noexcept {
  if (h.version != protocol_version) return parameter::version;
  if (!h.in_full) return parameter::none;
  message_head claims_only = h;
  claims_only.objects = true;
  const auto m = decode_body(claims_only, body.first(std::min(body.size(), claim_bytes)), shared_->size());
  return m ? difference(claim_, m->configuration) : parameter::none;
}

/// A message that does not say what differs is reported only if none has said so for as long as between two
/// reports: those that are exchanged at the same time say it.
void core::report(participant_index from, const message_head& h, parameter differs, time_point now) noexcept {
  record& r = records_[from];
  const bool vague = differs == parameter::none;
  if (vague && r.next_vague == time_point()) r.next_vague = now + between_reports;
  if (now < (vague ? std::max(r.next_report, r.next_vague) : r.next_report)) return;
  r.next_report = r.next_vague = now + between_reports;
  if (differs == parameter::version) {
    log(log_level::warning, h.clock, "{} speaks version {} of the gossip, this participant version {}",
        shared_->address(from), h.version, protocol_version);
  } else {
    log(log_level::warning, h.clock, "{} has another configuration: {}", shared_->address(from),
        vague ? "not said which" : to_string(differs));
  }
  out_.disagrees({from, differs});
}

bool core::on_stranger(std::span<const std::byte> bytes, time_point now, way via) noexcept {
  ++counts_.messages_received;
  counts_.bytes_received += bytes.size();
  ++counts_.unknown_address;
  if (stage_ == participation::stopped || bytes.size() > most_bytes_) return false;
  via_ = via;
  const auto head = decode_head(bytes);
  if (!head || opened(*head, bytes).data() == nullptr) return false;
  const bool asks = head->kind == message_kind::ping && head->digest != digest_;
  if (asks && stage_ == participation::active) reply_without_entries(nobody, *head, true);
  if (now < next_stranger_) return false;
  next_stranger_ = now + between_reports;
  return true;
}

void core::report_stranger(std::string_view address) noexcept {
  log(log_level::warning, log_sink::no_clock, "{} sends gossip, but is not among the participants here",
      address);
  out_.disagrees({nobody, parameter::participants});
}

}  // namespace scoll::gossip
