#include <algorithm>
#include <cmath>
#include <cstring>

#include "gossip/core.hpp"
#include "gossip/core_log.hpp"
#include "gossip/liveness/merge.hpp"
#include "scoll/coro/mutants.hpp"

namespace scoll::gossip {
namespace {

constexpr std::uint32_t entries_alignment = 64;
constexpr std::uint32_t most_in_table = 4096;
constexpr double loss_scale = 255;
constexpr std::int64_t jitter_room = 20;  // the first ping of a cycle may be late by 1/20 of it
constexpr int least_fresher_stamps = 1;
constexpr int least_fresher_relative = 2;  // one more hop makes an age one older

std::size_t trailer(const message_seal* seal) noexcept {
  return seal != nullptr ? seal->overhead() : checksum_bytes;
}

}  // namespace

std::size_t core::least_bytes(const message_seal* seal) noexcept {
  return most_overhead + trailer(seal) + entries_alignment;
}

// ---- sending

/// The room for a message, without its seal or checksum.
std::span<std::byte> core::room() noexcept {
  return {outgoing_.data(), outgoing_.size() - trailer(options_.seal)};
}

std::uint32_t core::entries_per_message() const noexcept {
  const std::size_t room = std::min(most_bytes_, outgoing_.size()) - most_overhead - trailer(options_.seal);
  const auto fit = static_cast<std::uint32_t>(std::min<std::size_t>(room, most_participants));
  return fit >= shared_->size() ? shared_->size() : fit / entries_alignment * entries_alignment;
}

/// Sends the first ping of a cycle, or another after one without a reply.
void core::ping() noexcept {
  next_ping_ = never;
  if (replied_ || attempts_ > options_.retries) return;
  const participant_index to = peers_.draw(random_, {tried_.data(), attempts_});
  if (to == nobody) return;
  tried_[attempts_] = to;
  const bool stays = SCOLL_MUTANT(gossip_one_rail, "retries stay on the rail of the first ping");
  const rail_index rail = attempts_ == 0 ? rails_.first(random_) : stays ? rails_.latest() : rails_.next();
  ++(attempts_ == 0 ? counts_.pings : counts_.retries);
  ++attempts_;
  ping(to, rail);
  // All attempts of a cycle end before the next cycle begins, and answers have time to arrive.
  const nanoseconds interval = shared_->interval();
  const auto tries = static_cast<std::int64_t>(options_.retries) + 2;
  const nanoseconds patience = std::clamp(4 * options_.rtt, interval / (2 * tries), interval / tries);
  if (attempts_ <= options_.retries) next_ping_ = last_tick_ + interval / jitter_room + patience * attempts_;
}

/// A participant with fewer rails is reached on those that it has.
way core::way_to(participant_index to, rail_index rail) const noexcept {
  const auto both = static_cast<rail_index>(shared_->addresses(to).size());
  const auto taken = static_cast<rail_index>(rail % both);
  return {taken, taken};
}

void core::ping(participant_index to, rail_index rail) noexcept {
  record& r = records_[to];
  const way via = way_to(to, rail);
  counts_.other_rail += via.own != rails_.preferred();
  r.last_tried = clock_.now();
  ++r.unanswered;
  const std::uint32_t each = entries_per_message();
  for (std::uint32_t first = 0; first < shared_->size(); first += each) {
    message_head h = head_for(message_kind::ping, shared_->id(to));
    h.asks = !lives_.complete() || unconfirmed_ != nobody;
    if (h.asks) h.asked = lives_.complete() ? unconfirmed_ : lives_.asked_up_to();
    if (first == 0) loss_.sent(to, h.sequence, clock_.now());
    message_writer w(room());
    w.head(h);
    if (h.in_full) w.configuration(claim_);
    const vector_part part{first, std::min(each, shared_->size() - first)};
    w.all_entries(part, ages_.data() + first);
    write_rest(w, nullptr);
    finish_and_send(to, via, 0, h, w.size());
  }
}

message_head core::head_for(message_kind kind, participant_id receiver) noexcept {
  message_head h;
  h.kind = kind;
  h.in_full = full_left_ != 0;
  h.established = agreement_.established();
  h.sender = static_cast<std::uint16_t>(self_);
  h.loss = static_cast<std::uint8_t>(std::lround(std::clamp(loss_.own(), 0.0, 1.0) * loss_scale));
  h.clock = clock_.now();
  h.incarnation = options_.incarnation;
  h.sequence = ++sequence_;
  h.digest = digest_;
  h.sender_id = shared_->id(self_);
  h.receiver_id = receiver;
  return h;
}

/// Writes lives, and the part of their table that was asked for.
void core::write_rest(message_writer& w, const message_view* asked) noexcept {
  std::array<life, incarnations::most_told> told;
  w.lives({told.data(), lives_.tell(told)});
  if (asked == nullptr || !asked->head.asks || asked->head.asked > shared_->size()) return w.table(0, {}, 0);
  w.table(asked->head.asked, lives_.all().subspan(asked->head.asked), most_in_table);
}

/// `life`: the incarnation that a reply is for; 0 for a ping, whose receiver may be in another life than the
/// known one.
bool core::finish_and_send(participant_index to, way via, std::uint64_t life, const message_head& h,
                           std::size_t size) noexcept {
  const addressee receiver{h.receiver_id, life};
  if (options_.seal == nullptr) {
    size = add_checksum(outgoing_, size, receiver);
  } else {
    const std::span<std::byte> all(outgoing_);
    const seal_context context{self_, h.sender_id, h.incarnation, h.sequence, h.clock, receiver};
    const auto body = all.subspan(message_head::bytes, size - message_head::bytes);
    if (!options_.seal->seal(context, all.first(message_head::bytes), body)) {
      ++counts_.send_failures;
      return false;
    }
    size += options_.seal->overhead();
  }
  if (!out_.send(to, via, std::span(outgoing_).first(size))) {
    ++counts_.send_failures;
    return false;
  }
  ++counts_.messages_sent;
  counts_.bytes_sent += size;
  return true;
}

// ---- receiving

void core::on_message(participant_index from, std::span<const std::byte> bytes, time_point now,
                      way via) noexcept {
  if (stage_ == participation::stopped) return;
  via_ = via;
  ++counts_.messages_received;
  counts_.bytes_received += bytes.size();
  const auto head = decode_head(bytes);
  if (!head || bytes.size() > most_bytes_) {
    ++counts_.malformed;
    return;
  }
  if (from == self_) {
    ++counts_.malformed;
    return;
  }
  const auto body = opened(*head, bytes);
  const bool authentic = body.data() != nullptr;
  if (head->version != protocol_version) {
    ++counts_.other_version;
    return authentic ? disagree(from, *head, body, now) : report(from, *head, parameter::version, now);
  }
  if (!authentic) {
    ++(options_.seal != nullptr && bytes.size() >= least_sealed() ? counts_.not_authentic
                                                                  : counts_.malformed);
    return;
  }
  const bool agrees = head->digest == digest_ && !head->objects;
  if (!agrees && !SCOLL_MUTANT(gossip_digest_unchecked, "entries of another configuration are merged"))
    return disagree(from, *head, body, now);
  if (SCOLL_MUTANT(gossip_any_source, "a message is believed from the address of any participant"))
    from = std::min<participant_index>(head->sender, shared_->size() - 1);
  const auto m = decode_body(*head, body, shared_->size());
  if (!m || !is_of(*head, from)) {
    ++counts_.malformed;
    return;
  }
  if (!admit(from, *head, records_[from].agreeing)) return;
  agreement_.hear(from, true, head->established, head->in_full);
  take(from, *m, now);
}

/// True if the sender is who has the address, by its index and by its id.
bool core::is_of(const message_head& h, participant_index from) const noexcept {
  return h.sender == from && h.sender_id == shared_->id(from);
}

/// The least bytes of a message that the seal can open.
std::size_t core::least_sealed() const noexcept {
  return message_head::bytes + trailer(options_.seal);
}

/// The opened body. It has no data if the message was altered, or was meant for another participant or an
/// earlier life; otherwise it has data but may have no bytes. The sender of another list may have this
/// participant under another id, except in replies, whose receiver has said its own.
std::span<const std::byte> core::opened(const message_head& h, std::span<const std::byte> bytes) noexcept {
  const bool replies = h.kind == message_kind::reply;
  const bool is_for_others = h.receiver_id != shared_->id(self_) && (replies || h.digest == digest_);
  if (bytes.size() < least_sealed() || is_for_others) return {};
  const addressee receiver{h.receiver_id, replies ? options_.incarnation : 0};
  if (options_.seal == nullptr) {
    const auto plain = without_checksum(bytes, receiver);
    return plain ? plain->subspan(message_head::bytes) : std::span<const std::byte>();
  }
  std::memcpy(incoming_.data(), bytes.data(), bytes.size());
  const std::span<std::byte> copy(incoming_.data(), bytes.size());
  const auto sealed = copy.subspan(message_head::bytes);
  const seal_context context{h.sender, h.sender_id, h.incarnation, h.sequence, h.clock, receiver};
  if (!options_.seal->open(context, copy.first(message_head::bytes), sealed)) return {};
  return sealed.first(sealed.size() - options_.seal->overhead());
}

/// Admits a message that is neither from an earlier life nor a repetition.
bool core::admit(participant_index from, const message_head& h, heard_life& heard) noexcept {
  const bool earlier = h.incarnation < std::max(lives_.of(from), heard.incarnation);
  if (earlier && !SCOLL_MUTANT(gossip_stale_incarnation, "messages of an earlier life are accepted")) {
    ++counts_.stale_incarnation;
    return false;
  }
  if (h.incarnation != heard.incarnation) {
    heard.guard.begin();
    heard.incarnation = h.incarnation;
  } else if (heard.guard.seen(h.sequence)) {
    ++counts_.repeated;
    return false;
  }
  heard.guard.add(h.sequence);
  return true;
}

void core::take(participant_index from, const message_view& m, time_point now) noexcept {
  const std::uint64_t before = clock_.now();
  counts_.clock_clipped += clock_.hear(from, m.head.clock, now);
  move_ages(before);
  const bool pinged = m.head.kind == message_kind::ping;
  if (m.head.clock + obsolete_after() < clock_.now() &&
      !SCOLL_MUTANT(gossip_obsolete_accepted, "messages that are too old are merged")) {
    ++counts_.obsolete;
    if (pinged && stage_ == participation::active) reply_without_entries(from, m.head, false);
    return;
  }
  records_[from].last_direct = std::min(m.head.clock, clock_.now());
  records_[from].unanswered = 0;
  loss_.others_say(m.head.loss / loss_scale);
  const int shift = merge(m);
  // Ages come first, so that a new life that has been heard of is announced at once.
  learn(from, m.head.incarnation, false);
  learn_lives(m);
  if (stage_ == participation::stopped) return;
  confirm_lives(m);
  look_for_oneself(m);
  if (!pinged) return answered(from, m.head);
  if (stage_ == participation::active) return reply(from, m, shift);
  ++counts_.not_running;
}

void core::learn_lives(const message_view& m) noexcept {
  for (std::size_t i = 0; i < m.life_count(); ++i) {
    const life l = m.life_at(i);
    learn(l.who, l.incarnation, false);
  }
  for (std::size_t i = 0; i < m.table_count(); ++i) {
    const auto who = static_cast<participant_index>(m.table_first + i);
    learn(who, m.table_at(i), true);
  }
  if (m.table_count() != 0) lives_.received(m.table_first, static_cast<std::uint32_t>(m.table_count()));
}

/// A participant that was held dead and is heard of again may be in another life than the one known here,
/// because the news of it may have been missed. It is alive once a message names its life.
void core::confirm_lives(const message_view& m) noexcept {
  confirm(m.head.sender, m.head.incarnation);
  for (std::size_t i = 0; i < m.life_count(); ++i) confirm(m.life_at(i).who, m.life_at(i).incarnation);
  for (std::size_t i = 0; i < m.table_count(); ++i)
    confirm(static_cast<participant_index>(m.table_first + i), m.table_at(i));
}

void core::confirm(participant_index who, std::uint64_t incarnation) noexcept {
  if (restless_[who] == 0) return;  // held alive, so its record need not be read
  if (incarnation == lives_.of(who) && ages_[who] <= threshold_) records_[who].confirmed = true;
}

/// A participant that was held alive has rebooted at this moment. One that was held dead or is unknown is
/// judged by its age.
void core::learn(participant_index who, std::uint64_t incarnation, bool from_table) noexcept {
  if (who == self_) {
    if (incarnation <= options_.incarnation) return;
    return fail(make_error(errc::stale, "gossip: {} is known in life {}, this is life {}",
                           shared_->address(who), incarnation, options_.incarnation));
  }
  if (!lives_.learn(who, incarnation, from_table)) return;
  restless_[who] = 1;
  // Its age may still be that of its previous life, so it is not judged dead here.
  if (records_[who].state == liveness::alive && ages_[who] <= threshold_) judge(who, reason());
}

/// Merges the fresher of each two entries. Returns by how much the heard ages are shifted to fit this clock.
/// Ages from a clock that is ahead, and was not followed, stay as they are: they must not look fresher here
/// than there.
int core::merge(const message_view& m) noexcept {
  const std::uint64_t behind = clock_.now() - std::min(m.head.clock, clock_.now());
  int shift = relative() ? 1 : static_cast<int>(std::min<std::uint64_t>(behind, old_age));
  if (SCOLL_MUTANT(gossip_delay_ignored, "heard ages are taken as if clocks were equal")) shift = 0;
  if (m.ages({heard_.data() + m.part.first, m.part.count})) {
    std::uint8_t* const own = ages_.data() + m.part.first;
    const std::uint8_t* const heard = heard_.data() + m.part.first;
    if (SCOLL_MUTANT(gossip_merge_overwrites, "heard ages replace fresher ones")) {
      std::memcpy(own, heard, m.part.count);
    } else {
      merge_ages(own, heard, m.part.count, shift);
    }
    ++counts_.merged;
  }
  // The sender itself has just been heard, whichever part this was.
  const std::uint8_t now_heard = 0;
  const participant_index sender =
      SCOLL_MUTANT(gossip_wrong_owner, "a message counts as heard from the next participant")
          ? (m.head.sender + 1U) % shared_->size()
          : m.head.sender;
  merge_ages(&ages_[sender], &now_heard, 1, shift);
  ages_[self_] = 0;
  return shift;
}

void core::answered(participant_index from, const message_head& h) noexcept {
  const bool waited_for = loss_.answered(h.echo);
  counts_.answered += waited_for;
  if (waited_for) rails_.answered(via_.own);
  const std::span tried(tried_.data(), attempts_);
  if (std::find(tried.begin(), tried.end(), from) == tried.end()) return;
  replied_ = true;
}

/// Ends stealth when an active participant holds this one's previous life dead, or has never heard of it. The
/// others must also confirm the time: with a clock that is behind, its messages would look old.
void core::look_for_oneself(const message_view& m) noexcept {
  if (stage_ != participation::stealth || m.part.count == 0 || !m.head.established) return;
  if (!clock_.confirmed(shared_->size() - 1)) return;
  if (self_ < m.part.first || self_ - m.part.first >= m.part.count) return;
  const bool complete = m.head.kind == message_kind::ping;
  const int age = heard_[self_];
  if (complete && (age == never_heard || age > static_cast<int>(threshold_))) begin();
}

/// Takes effect like a message of the present cycle, except that it says nothing of others.
void core::on_heard(participant_index who, std::uint64_t incarnation) noexcept {
  if (stage_ == participation::stopped || who >= shared_->size() || who == self_) return;
  if (incarnation == 0 || incarnation < lives_.of(who)) return;
  ++counts_.heard_elsewhere;
  records_[who].last_direct = clock_.now();
  records_[who].unanswered = 0;
  ages_[who] = 0;
  learn(who, incarnation, false);
  confirm(who, incarnation);
}

// ---- replying

/// Replies with the entries that the other participant lacks or has less fresh.
void core::reply(participant_index to, const message_view& m, int shift) noexcept {
  const vector_part part = m.part;
  std::uint8_t* const told = heard_.data() + part.first;
  const std::uint8_t* const own = ages_.data() + part.first;
  const int least =
      (relative() ? least_fresher_relative : least_fresher_stamps) + static_cast<int>(options_.fudge_cycles);
  keep_fresher_ages(told, own, part.count, relative() ? 0 : shift, least);
  message_head h = head_for(message_kind::reply, m.head.sender_id);
  h.echo = m.head.sequence;
  message_writer w(room());
  w.head(h);
  if (h.in_full) w.configuration(claim_);
  w.entries(part, told);
  write_rest(w, &m);
  counts_.replies_sent += finish_and_send(to, via_, m.head.incarnation, h, w.size());
}

void core::reply_without_entries(participant_index to, const message_head& ping, bool objects) noexcept {
  message_head h = head_for(message_kind::reply, ping.sender_id);
  h.echo = ping.sequence;
  h.objects = objects;
  h.obsolete = !objects;
  h.in_full = objects || h.in_full;
  message_writer w(room());
  w.head(h);
  if (h.in_full) w.configuration(claim_);
  if (!objects) {
    w.no_entries();
    w.lives({});
    w.table(0, {}, 0);
  }
  counts_.replies_sent += finish_and_send(to, via_, ping.incarnation, h, w.size());
}

}  // namespace scoll::gossip
