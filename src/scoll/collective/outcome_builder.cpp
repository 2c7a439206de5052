#include "scoll/collective/outcome_builder.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/service.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/wire/decode.hpp"
#include "transport/wire/encode.hpp"
#include "transport/wire/varint.hpp"

namespace scoll::detail {
namespace {

constexpr std::uint8_t form_runs = 0;
constexpr std::uint8_t form_dense = 1;
constexpr unsigned dense_bits = 3;

using wire::put_varint;
using wire::take_varint;

void put_byte(wire::writer& out, std::uint8_t value) {
  wire::encode(out, value);
}

std::uint8_t take_byte(wire::reader& in) {
  std::uint8_t value = 0;
  wire::decode(in, value);
  return value;
}

void put_cause(wire::writer& out, const cause& c, bool text) {
  put_byte(out, static_cast<std::uint8_t>(c.where));
  put_varint(out, static_cast<std::uint16_t>(c.what.code()));
  put_byte(out, static_cast<std::uint8_t>(c.what.domain()));
  put_varint(out, static_cast<std::uint32_t>(c.what.detail()));
  put_varint(out, c.reporter);
  const std::string_view said = text ? c.what.text() : std::string_view{};
  put_byte(out, static_cast<std::uint8_t>(said.size()));
  if (std::byte* at = said.empty() ? nullptr : out.claim(said.size()))
    std::copy_n(std::as_bytes(std::span(said)).data(), said.size(), at);
}

cause take_cause(wire::reader& in) {
  cause c;
  c.where =
      static_cast<phase>(std::min<std::uint8_t>(take_byte(in), static_cast<std::uint8_t>(phase::delivery)));
  const auto code = static_cast<errc>(static_cast<std::uint16_t>(take_varint(in)));
  const auto domain = static_cast<error_domain>(std::min<std::uint8_t>(take_byte(in), 2));
  const auto detail = static_cast<std::int32_t>(static_cast<std::uint32_t>(take_varint(in)));
  c.reporter = static_cast<std::uint32_t>(take_varint(in));
  const std::uint8_t size = take_byte(in);
  const std::byte* text = in.take(size, "text of a cause");
  if (text == nullptr) return c;
  c.what = error(code, {reinterpret_cast<const char*>(text), size}, detail, domain);
  return c;
}

bool covers(std::span<const member_report> runs, std::span<const rank_range> wanted) {
  std::size_t w = 0;
  std::uint32_t next = wanted.empty() ? 0 : wanted[0].first;
  for (const member_report& run : runs) {
    std::uint32_t first = run.members.first;
    while (first != run.members.last) {
      if (w == wanted.size() || first != next) return false;
      const std::uint32_t end = std::min(run.members.last, wanted[w].last);
      first = next = end;
      if (next == wanted[w].last) {
        ++w;
        if (w < wanted.size()) next = wanted[w].first;
      }
      if (first != run.members.last && first != next) return false;
    }
  }
  return w == wanted.size();
}

/// Takes the members of `runs` out of `from`; both are sorted. False if not all of them are there; then `from`
/// has not changed.
bool take_out(std::vector<rank_range>& from, std::span<const member_report> runs) {
  std::vector<rank_range> left;
  std::size_t next = 0;
  for (rank_range r : from) {
    for (; next < runs.size() && runs[next].members.last <= r.last; ++next) {
      const rank_range taken = runs[next].members;
      if (taken.first < r.first) return false;
      if (taken.first > r.first) left.push_back({r.first, taken.first});
      r.first = taken.last;
    }
    if (next < runs.size() && runs[next].members.first < r.last) return false;
    if (r.first != r.last) left.push_back(r);
  }
  if (next != runs.size()) return false;
  from = std::move(left);
  return true;
}

}  // namespace

void outcome_builder::clear() {
  runs_.clear();
  causes_.resize(1);  // the first cause stands for members that did not fail
}

std::uint16_t outcome_builder::add_cause(const cause& c) {
  const auto known = std::find(causes_.begin(), causes_.end(), c);
  if (known != causes_.end()) return static_cast<std::uint16_t>(known - causes_.begin());
  if (causes_.size() >= max_causes) return add_to_shared(c);
  causes_.push_back(c);
  return static_cast<std::uint16_t>(causes_.size() - 1);
}

/// The last cause stands for all that have no place of their own. It says what they have in common: if they
/// differ in their step it names none, because an admission would say that nothing was executed.
std::uint16_t outcome_builder::add_to_shared(const cause& c) {
  if (causes_.size() == max_causes) {
    causes_.push_back(
        {c.where, error(c.what.code(), "one of several causes that are not listed apart"), c.reporter});
  }
  cause& shared = causes_[max_causes];
  if (SCOLL_MUTANT(shared_cause_is_one, "the cause that several share is that of the first"))
    return max_causes;
  if (shared.where != c.where) shared.where = phase::none;
  if (shared.what.code() != c.what.code()) shared.what = error(errc::incomplete, shared.what.text());
  return max_causes;
}

void outcome_builder::add(rank_range members, member_state state, std::uint16_t cause_index) {
  if (members.first != members.last) runs_.push_back({members, state, cause_index});
}

void outcome_builder::lose_merged(std::uint16_t cause_index, std::size_t from_run) {
  for (member_report& run : std::span(runs_).subspan(from_run)) {
    if (run.state != member_state::merged) continue;
    run.state = member_state::executed;
    run.cause_index = cause_index;
  }
}

void outcome_builder::normalise() {
  std::sort(runs_.begin(), runs_.end(),
            [](const member_report& a, const member_report& b) { return a.members.first < b.members.first; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    member_report* last = kept == 0 ? nullptr : &runs_[kept - 1];
    if (last != nullptr && last->members.last == runs_[i].members.first && last->state == runs_[i].state &&
        last->cause_index == runs_[i].cause_index) {
      last->members.last = runs_[i].members.last;
    } else {
      runs_[kept++] = runs_[i];
    }
  }
  runs_.resize(kept);
}

void outcome_builder::encode_runs(wire::writer& out, bool texts) const {
  put_byte(out, form_runs);
  put_varint(out, causes_.size() - 1);
  for (std::size_t i = 1; i < causes_.size(); ++i) put_cause(out, causes_[i], texts);
  put_varint(out, runs_.size());
  std::uint32_t end = 0;
  for (const member_report& run : runs_) {
    put_varint(out, run.members.first - end);
    put_varint(out, run.members.size());
    put_byte(out, static_cast<std::uint8_t>(run.state));
    put_varint(out, run.cause_index);
    end = run.members.last;
  }
}

void outcome_builder::encode_dense(wire::writer& out) const {
  put_byte(out, form_dense);
  put_varint(out, causes_.size() > 1 ? 1 : 0);
  if (causes_.size() > 1) put_cause(out, causes_[1], true);
  const std::uint32_t first = runs_.front().members.first;
  const std::uint32_t last = runs_.back().members.last;
  put_varint(out, first);
  put_varint(out, last - first);
  const std::size_t size = (std::size_t{last - first} * dense_bits + 7) / 8;
  std::byte* bits = out.claim(size);
  if (bits == nullptr) return;
  std::fill_n(bits, size, std::byte{0});
  constexpr unsigned absent = (1U << dense_bits) - 1;
  const auto put = [&](std::uint32_t member, unsigned value) {
    const std::size_t bit = std::size_t{member - first} * dense_bits;
    for (unsigned b = 0; b < dense_bits; ++b) {
      if ((value >> b & 1U) != 0) bits[(bit + b) / 8] |= std::byte{1} << ((bit + b) % 8);
    }
  };
  std::uint32_t next = first;
  for (const member_report& run : runs_) {
    for (; next != run.members.first; ++next) put(next, absent);
    for (; next != run.members.last; ++next) put(next, static_cast<unsigned>(run.state));
  }
}

std::size_t outcome_builder::runs_bytes(bool texts) const {
  wire::writer trial({});
  encode_runs(trial, texts);
  return trial.needed();
}

std::size_t outcome_builder::dense_bytes() const noexcept {
  constexpr std::size_t most_beside_bits = 160;  // for the form, one cause with its text, and two numbers
  const std::size_t members = runs_.empty() ? 0 : runs_.back().members.last - runs_.front().members.first;
  return most_beside_bits + (members * dense_bits + 7) / 8;
}

bool outcome_builder::fits() const {
  return dense_bytes() <= account_reserve_bytes || runs_bytes(false) <= account_reserve_bytes;
}

void outcome_builder::encode(wire::writer& out) const {
  for (const bool texts : {true, false}) {
    if (runs_bytes(texts) <= account_reserve_bytes) return encode_runs(out, texts);
  }
  if (dense_bytes() <= account_reserve_bytes) return encode_dense(out);
  outcome_builder().encode_runs(out, false);
}

/// Joins neighbouring runs that are both shorter than `limit`.
void outcome_builder::join_short(std::uint32_t limit) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const member_report run = runs_[i];
    member_report* const last = kept == 0 ? nullptr : &runs_[kept - 1];
    if (last != nullptr && last->members.last == run.members.first && last->members.size() < limit &&
        run.members.size() < limit) {
      last->members.last = run.members.last;
      if (last->state != run.state) last->state = member_state::unknown;
    } else {
      runs_[kept++] = run;
    }
  }
  runs_.resize(kept);
}

void outcome_builder::coarsen() {
  for (std::uint32_t limit = 2; limit <= 2 * max_members && !fits(); limit *= 2) join_short(limit);
}

bool outcome_builder::decode_causes(wire::reader& in, std::vector<cause>& causes) const {
  const std::uint64_t count = take_varint(in);
  if (count > max_causes) return false;
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) causes.push_back(take_cause(in));
  return in.ok();
}

bool outcome_builder::decode_runs(wire::reader& in, std::size_t cause_count,
                                  std::vector<member_report>& runs) const {
  const std::uint64_t count = take_varint(in);
  if (count > max_members) return false;
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t gap = take_varint(in);
    const std::uint64_t size = take_varint(in);
    const std::uint8_t state = take_byte(in);
    const std::uint64_t cause_index = take_varint(in);
    if (!in.ok() || gap > max_members || size == 0 || size > max_members || end + gap + size > max_members)
      return false;
    if (state > static_cast<std::uint8_t>(member_state::unknown) || cause_index >= cause_count) return false;
    const auto first = static_cast<std::uint32_t>(end + gap);
    end = first + size;
    runs.push_back({{first, static_cast<std::uint32_t>(end)},
                    static_cast<member_state>(state),
                    static_cast<std::uint16_t>(cause_index)});
  }
  return true;
}

bool outcome_builder::decode_dense(wire::reader& in, std::vector<member_report>& runs) const {
  const std::uint64_t first = take_varint(in);
  const std::uint64_t span = take_varint(in);
  if (!in.ok() || first > max_members || span > max_members - first) return false;
  const std::byte* bits = in.take((span * dense_bits + 7) / 8, "dense account");
  if (bits == nullptr) return false;
  for (std::uint64_t i = 0; i < span; ++i) {
    unsigned value = 0;
    for (unsigned b = 0; b < dense_bits; ++b) {
      const std::uint64_t bit = i * dense_bits + b;
      value |= (std::to_integer<unsigned>(bits[bit / 8]) >> (bit % 8) & 1U) << b;
    }
    if (value == (1U << dense_bits) - 1) continue;
    if (value > static_cast<unsigned>(member_state::unknown)) return false;
    const auto member = static_cast<std::uint32_t>(first + i);
    const auto state = static_cast<member_state>(value);
    runs.push_back(
        {{member, member + 1}, state, static_cast<std::uint16_t>(state == member_state::merged ? 0 : 1)});
  }
  return true;
}

bool outcome_builder::decode_states(wire::reader& in, std::vector<cause>& causes,
                                    std::vector<member_report>& runs) const {
  const std::uint8_t form = take_byte(in);
  if (form > form_dense || !decode_causes(in, causes)) return false;
  if (form == form_dense && causes.size() == 1) causes.emplace_back();
  return form == form_runs ? decode_runs(in, causes.size(), runs) : decode_dense(in, runs);
}

void outcome_builder::add_decoded(std::span<const member_report> runs, std::span<const cause> causes) {
  std::vector<std::uint16_t> mapped(causes.size(), 0);
  for (std::size_t i = 1; i < causes.size(); ++i) mapped[i] = add_cause(causes[i]);
  for (const member_report& run : runs) {
    add(run.members, run.state,
        run.state == member_state::merged ? std::uint16_t{0} : mapped[run.cause_index]);
  }
}

status outcome_builder::decode(wire::reader& in, std::span<const rank_range> subtree) {
  std::vector<cause> causes(1);
  std::vector<member_report> runs;
  if (!decode_states(in, causes, runs))
    return error(errc::malformed, "the account of a subtree does not decode");
  if (!covers(runs, subtree))
    return error(errc::malformed, "the account of a subtree speaks of other members");
  add_decoded(runs, causes);
  return {};
}

status outcome_builder::decode_part(wire::reader& in, std::vector<rank_range>& unsettled) {
  std::vector<cause> causes(1);
  std::vector<member_report> runs;
  if (!decode_states(in, causes, runs) || in.remaining() != 0)
    return error(errc::malformed, "the account of a part of a reply does not decode");
  if (runs.empty() || !take_out(unsettled, runs)) {
    return error(errc::malformed,
                 "a part of a reply settles no member, one again, or one of another subtree");
  }
  add_decoded(runs, causes);
  return {};
}

std::size_t outcome_builder::move_losses(outcome_builder& into, std::size_t room, std::size_t mark) {
  // What a run and a cause take at most, encoded, and what takes room beside them.
  constexpr std::size_t run_bytes = 14, cause_bytes = 16 + error::text_capacity, beside = 16;
  const std::size_t most = (room - beside) / (run_bytes + cause_bytes);
  std::size_t kept = 0, before = 0, moved = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const member_report run = runs_[i];
    if (run.state == member_state::merged || moved == most) {
      runs_[kept++] = run;
      continue;
    }
    into.add(run.members, run.state, into.add_cause(causes_[run.cause_index]));
    before += i < mark;
    ++moved;
  }
  runs_.resize(kept);
  into.normalise();
  return before;
}

void outcome_builder::add_all(const outcome_builder& from) {
  add_decoded(from.runs(), from.causes());
}

}  // namespace scoll::detail
