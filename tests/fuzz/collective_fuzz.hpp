#pragma once

/// The fuzzer and the replay of its corpus run this code: the decoders that a collective message passes
/// through. Any bytes either decode to a consistent result or fail with an error. The first byte of an input
/// chooses the decoder.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "scoll/collective/agree.hpp"
#include "scoll/collective/agreement/messages.hpp"
#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/counter_ranges.hpp"
#include "scoll/collective/creation_section.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/item_run.hpp"
#include "scoll/collective/life_tag.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/notice_head.hpp"
#include "scoll/collective/operation/fold.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/collective/revocation.hpp"
#include "scoll/collective/trace/record.hpp"
#include "scoll/tree/spec.hpp"
#include "transport/wire/wire.hpp"

namespace fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

/// A membership that decodes encodes to the same number of bytes or fewer, and to the same members.
inline void membership_input(std::span<const std::byte> bytes) {
  const auto targets = scoll::detail::decode_membership(bytes);
  if (!targets) return;
  const auto members = scoll::membership::make(*targets);
  if (!members) return;
  std::vector<std::byte> again(scoll::detail::membership_bytes(**members));
  require(scoll::detail::encode_membership(members->get(), again).has_value());
  const auto read = scoll::detail::decode_membership(again);
  require(read.has_value() && read->size() == (*members)->size() && again.size() <= bytes.size());
  for (std::uint32_t rank = 0; rank < read->size(); ++rank) {
    const scoll::target& t = (*read)[rank];
    require((*members)->place(rank) == scoll::member_place{t.zone, t.host});
  }
}

/// An accepted account names each member of the subtree once, with a cause that exists.
inline void account_input(std::span<const std::byte> bytes) {
  constexpr scoll::rank_range subtree[] = {{1, 9}, {12, 40}, {64, 65}};
  scoll::detail::outcome_builder account;
  scoll::wire::reader in(bytes);
  if (!account.decode(in, subtree)) {
    require(account.empty());
    return;
  }
  account.normalise();
  std::uint32_t members = 0;
  std::uint32_t end = 0;
  for (const scoll::member_report& run : account.runs()) {
    require(run.members.first >= end && run.cause_index < account.causes().size());
    members += run.members.size();
    end = run.members.last;
  }
  require(members == 8 + 28 + 1);
  // A later round says the same of the same members, so that none is lost and none is merged anew.
  scoll::detail::outcome_builder folded = account;
  scoll::detail::fold_into(folded, account);
  const auto merged = [](std::span<const scoll::member_report> runs) {
    std::uint32_t sum = 0;
    for (const scoll::member_report& run : runs)
      sum += run.state == scoll::member_state::merged ? run.members.size() : 0;
    return sum;
  };
  require(merged(folded.runs()) == merged(account.runs()));
  require(folded.runs().back().members.last == end);
  std::vector<std::byte> again(8192);
  scoll::wire::writer out(again);
  account.encode(out);
  require(out.ok());
}

/// A creation that decodes has members, or says where they are, and its terms encode again.
inline void creation_input(std::span<const std::byte> bytes) {
  const auto read = scoll::detail::decode_creation(bytes);
  if (!read) return;
  require(read->targets.empty() == read->elsewhere.has_value());
  std::vector<std::byte> again(scoll::detail::max_descriptor_creation_bytes);
  require(
      scoll::detail::encode_creation(read->terms, scoll::transport::region_descriptor{}, again).has_value());
}

inline void head_input(std::span<const std::byte> bytes) {
  const auto head = scoll::wire::decode_from<scoll::detail::collective_head>(bytes);
  if (!head) return;
  static_cast<void>(head->has_valid_flags());
  static_cast<void>(scoll::check_tree({head->tree_kind, head->tree_params}, head->root_rank % 4096 + 1));
  static_cast<void>(scoll::wire::decode_from<scoll::detail::collective_reply_head>(bytes.first(16)));
}

/// The tags of lives that are read are the same when they are written again.
inline void lives_input(std::span<const std::byte> bytes) {
  using scoll::detail::life_tags;
  if (bytes.size() < life_tags::bytes_of(0)) return;
  const auto members = scoll::wire::detail::load_little<std::uint32_t>(bytes.data());
  require(!life_tags::read(bytes, members + 1));
  const auto read = life_tags::read(bytes, members);
  require(read.has_value() == (bytes.size() >= life_tags::bytes_of(members)));
  if (!read) return;
  std::vector<std::byte> again(life_tags::bytes_of(members));
  life_tags::write(again.data(), members, [&](std::uint32_t index) { return (*read)[index]; });
  require(std::ranges::equal(again, bytes.first(again.size())));
}

/// Ranks that decode are the same when they are encoded again.
inline void require_ranks(const scoll::detail::encoded_ranks& ranks) {
  require(scoll::detail::encoded(scoll::detail::decoded(ranks)).numbers == ranks.numbers);
}

/// A request or reply of the agreement that decodes has ranks in order and values of an allowed size.
inline void agreement_input(std::span<const std::byte> bytes) {
  using namespace scoll::detail;
  if (const auto request = scoll::wire::decode_from<agreement_request>(bytes)) {
    require_ranks(request->held);
    require(request->what.has_value() == (request->kind != agreement_kind::collect));
    if (request->what) require_ranks(request->what->failed);
  }
  auto reply = scoll::wire::decode_from<agreement_reply>(bytes);
  if (!reply) return;
  require_ranks(reply->voters);
  const agreement_answers answers = taken_from(*reply);
  for (const contribution& part : answers.contributions)
    require(!part.from.empty() && part.value.size() <= scoll::max_agreed_bytes);
  put(*reply, answers);
  require(scoll::detail::wire_valid(*reply));
}

/// Counters that decode are ascending ranges that do not touch, and fit into as many bytes again.
inline void counters_input(std::span<const std::byte> bytes) {
  const auto ranges = scoll::detail::take_counters(bytes);
  if (!ranges) return;
  std::uint64_t least = 1;
  for (const scoll::detail::counter_range& r : *ranges) {
    require(r.first >= least && r.last >= r.first);
    least = r.last + 2;
  }
  std::vector<std::byte> again(bytes.size());
  scoll::wire::writer out(again);
  require(scoll::detail::put_counters(out, *ranges, again.size()) == ranges->size() && out.ok());
}

/// The end of a group, and the notices about it.
inline void end_input(std::span<const std::byte> bytes) {
  if (const auto forgets = scoll::detail::decode_forget(bytes)) {
    std::vector<std::byte> again(scoll::detail::max_forget_bytes);
    const auto size = scoll::detail::encode_forget(*forgets, again);
    require(size.has_value() && *size == bytes.size());
  }
  const auto notice = scoll::wire::decode_from<scoll::detail::notice_head>(bytes);
  if (!notice) return;
  const scoll::error why = scoll::detail::revoked_by(*notice);
  scoll::detail::notice_head read;
  scoll::detail::read_revoked(why, read);
  require(read.by == notice->by && (notice->by == 0 || read.reason == notice->reason));
}

/// A trace that decodes names no member twice, each after its parent, and its records encode as they came.
inline void trace_input(std::span<const std::byte> bytes) {
  static const auto tree = scoll::any_tree::resolve(scoll::knomial{2}, 40).value();
  const auto block = scoll::detail::read_block(bytes, tree, 40, 8);
  if (!block) return;
  require(block->ends.size() + block->dropped <= tree.subtree_nodes(40, 8));
  std::vector<std::byte> again(block->records.size());
  scoll::wire::writer out(again);
  scoll::wire::reader in(block->records);
  for (scoll::detail::trace_record r; in.remaining() != 0;) {
    require(scoll::detail::take_record(in, r));
    scoll::detail::put_record(out, r);
  }
  require(out.ok() && std::ranges::equal(again, block->records));
}

/// Runs of items that decode consist of whole items, and their heads are the same when they are written again.
inline void items_input(std::span<const std::byte> bytes) {
  scoll::wire::reader in(bytes);
  while (in.ok() && in.remaining() != 0) {
    const std::size_t before = in.remaining();
    scoll::detail::item_run run = scoll::detail::take_run(in);
    if (!in.ok()) return;
    require(run.count != 0 || run.last);
    std::vector<std::byte> head(scoll::detail::most_run_head_bytes);
    scoll::wire::writer out(head);
    scoll::detail::put_run_head(out, run);
    require(out.ok() && out.needed() + run.items.size() == before - in.remaining());
    while (run.count != 0) run.take_item();
    require(run.items.empty());
  }
}

inline void collective_input(std::span<const std::uint8_t> data) {
  if (data.empty()) return;
  const auto bytes = std::as_bytes(data.subspan(1));
  switch (data[0] % 10) {
    case 0: return membership_input(bytes);
    case 1: return account_input(bytes);
    case 2: return head_input(bytes);
    case 3: return creation_input(bytes);
    case 4: return agreement_input(bytes);
    case 5: return counters_input(bytes);
    case 6: return end_input(bytes);
    case 7: return trace_input(bytes);
    case 8: return items_input(bytes);
    default: return lives_input(bytes);
  }
}

}  // namespace fuzz
