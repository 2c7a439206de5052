#include "scoll/collective/trace/record.hpp"

#include <algorithm>

#include "scoll/collective/limits.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/varint.hpp"

namespace scoll::detail {
namespace {

/// One more than the stamp; 0 if there is none.
void put_stamp(wire::writer& out, std::uint64_t stamp) {
  wire::put_varint(out, stamp + 1);
}

std::uint64_t take_stamp(wire::reader& in) {
  return wire::take_varint(in) - 1;
}

/// True if `later` has not happened, or `earlier` has, and not after it.
bool follows(std::uint64_t earlier, std::uint64_t later) noexcept {
  return later == trace_record::never || earlier <= later;
}

bool is_consistent(const trace_record& r) noexcept {
  const auto within = [&](std::uint64_t stamp) {
    return stamp == trace_record::never || stamp <= r.answered;
  };
  const bool in_order = follows(r.prepared, r.begun) && follows(r.begun, r.ended);
  return r.answered <= trace_record::latest && in_order && within(r.prepared) && within(r.begun) &&
         within(r.ended) && std::ranges::all_of(r.children, [&](const trace_record::exchange& c) {
           return follows(c.sent, c.answered) && within(c.sent) && within(c.answered);
         });
}

}  // namespace

void put_record(wire::writer& out, const trace_record& record) {
  wire::put_varint(out, record.member);
  wire::put_varint(out, record.answered);
  put_stamp(out, record.prepared);
  put_stamp(out, record.begun);
  put_stamp(out, record.ended);
  wire::put_varint(out, record.children.size());
  for (const trace_record::exchange& c : record.children) {
    put_stamp(out, c.sent);
    put_stamp(out, c.answered);
  }
}

bool take_record(wire::reader& in, trace_record& record) {
  const std::uint64_t member = wire::take_varint(in);
  record.member = static_cast<std::uint32_t>(member);
  record.answered = wire::take_varint(in);
  record.prepared = take_stamp(in);
  record.begun = take_stamp(in);
  record.ended = take_stamp(in);
  const std::uint64_t children = wire::take_varint(in);
  if (!in.ok() || member > UINT32_MAX || children > in.remaining() / 2) return false;
  record.children.resize(children);
  for (trace_record::exchange& c : record.children) {
    c.sent = take_stamp(in);
    c.answered = take_stamp(in);
  }
  return in.ok() && is_consistent(record);
}

void put_block_head(std::span<std::byte, trace_block::head_bytes> into, std::uint32_t dropped) noexcept {
  wire::detail::store_little(into.data(), dropped);
}

result<trace_block> read_block(std::span<const std::byte> bytes, const any_tree& tree, std::uint32_t members,
                               std::uint32_t top) {
  const error malformed(errc::malformed, "the trace of a reply does not decode");
  if (bytes.size() < trace_block::head_bytes || bytes.size() > trace_limit) return malformed;
  trace_block block;
  block.dropped = wire::detail::load_little<std::uint32_t>(bytes.data());
  block.records = bytes.subspan(trace_block::head_bytes);
  std::vector<bool> has_come(members);
  wire::reader in(block.records);
  trace_record r;
  while (in.remaining() != 0) {
    if (!take_record(in, r) || r.member >= members || has_come[r.member]) return malformed;
    const std::uint32_t parent = tree.parent(members, r.member);
    const bool follows_parent = block.ends.empty() ? r.member == top : parent < members && has_come[parent];
    if (!follows_parent || r.children.size() > tree.fan_out(members, r.member)) return malformed;
    has_come[r.member] = true;
    block.ends.push_back(static_cast<std::uint32_t>(in.position()));
  }
  const std::uint32_t most = tree.subtree_nodes(members, top);
  if (block.ends.size() > most || block.dropped > most - block.ends.size()) return malformed;
  return block;
}

}  // namespace scoll::detail
