#include "scoll/collective/group_admin.hpp"

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/wire/varint.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

struct group_admin {
  static constexpr service_id id{1};
  static constexpr std::string_view name = "group";
  struct request {};
  static void execute(const request&, bcast_context&) noexcept {}
};

status accept_any(void* at, std::span<const std::byte>) noexcept {
  new (at) group_admin::request{};
  return {};
}

constexpr service_table make_table() {
  service_table t = make_service_table<group_admin>();
  t.decode_request = &accept_any;  // the engine has read the request already
  return t;
}

constexpr service_table table = make_table();

constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t coded) noexcept {
  return (coded >> 1) ^ (0 - (coded & 1));
}

using place_member = std::uint16_t target::*;
constexpr place_member place_members[]{&target::zone, &target::host};

void put_places(wire::writer& out, const std::vector<target>& targets, place_member what) {
  for (std::size_t first = 0; first != targets.size();) {
    std::size_t last = first + 1;
    while (last != targets.size() && targets[last].*what == targets[first].*what) ++last;
    wire::put_varint(out, last - first);
    wire::put_varint(out, targets[first].*what);
    first = last;
  }
}

/// Returns false unless the runs cover the targets exactly, and some place is known.
bool take_places(wire::reader& in, std::vector<target>& targets) {
  bool known = false;
  for (const place_member what : place_members) {
    for (std::size_t first = 0; first != targets.size();) {
      const std::uint64_t size = wire::take_varint(in);
      const std::uint64_t place = wire::take_varint(in);
      if (!in.ok() || size == 0 || size > targets.size() - first || place > UINT16_MAX) return false;
      for (const std::size_t last = first + size; first != last; ++first)
        targets[first].*what = static_cast<std::uint16_t>(place);
      known |= place != 0;
    }
  }
  return known;
}

}  // namespace

const service_table& group_admin_table() noexcept {
  return table;
}

void* group_admin_instance() noexcept {
  static group_admin instance;  // one instance is enough, as it has no state
  return &instance;
}

void put_membership(wire::writer& out, const membership& members) {
  wire::put_varint(out, members.size());
  std::uint64_t previous = 0;
  for (const target& t : members.targets()) {
    wire::put_varint(out, zigzag(t.node - previous));
    wire::put_varint(out, t.entities.size());
    for (const entity& e : t.entities) wire::encode(out, e);
    previous = t.node;
  }
  if (!members.has_places()) return;
  for (const place_member what : place_members) put_places(out, members.targets(), what);
}

result<std::size_t> encode_membership(const void* members, std::span<std::byte> into) noexcept {
  wire::writer out(into);
  put_membership(out, *static_cast<const membership*>(members));
  if (!out.ok()) return out.error();
  return out.needed();
}

result<std::size_t> encode_forget(const forget_request& what, std::span<std::byte> into) noexcept {
  wire::writer out(into);
  wire::encode(out, static_cast<std::uint8_t>(what.ends_with));
  if (what.said) put_statement(out, *what.said);
  if (!out.ok()) return out.error();
  return out.needed();
}

result<forget_request> decode_forget(std::span<const std::byte> bytes) {
  wire::reader in(bytes);
  std::uint8_t ends_with = 0;
  wire::decode(in, ends_with);
  if (!in.ok()) return in.error();
  if (ends_with > static_cast<std::uint8_t>(lifetime::members))
    return make_error(errc::malformed, "a group with a lifetime of kind {}", ends_with);
  forget_request what{static_cast<lifetime>(ends_with), {}};
  if (in.remaining() == 0) return what;
  what.said = take_statement(in);
  if (!what.said || in.remaining() != 0)
    return error(errc::malformed, "a creator's statement that does not decode");
  return what;
}

std::size_t membership_bytes(const membership& members) noexcept {
  wire::writer out({});
  put_membership(out, members);
  return out.needed();
}

result<std::vector<target>> decode_membership(std::span<const std::byte> bytes) {
  constexpr std::size_t entity_bytes = 16;
  wire::reader in(bytes);
  const std::uint64_t count = wire::take_varint(in);
  if (!in.ok() || count == 0 || count > max_members || count > in.remaining()) {
    return make_error(errc::malformed, "a membership of {} members in {} bytes", count, bytes.size());
  }
  std::vector<target> targets(count);
  std::uint64_t previous = 0;
  for (target& t : targets) {
    t.node = previous += unzigzag(wire::take_varint(in));
    const std::uint64_t entities = wire::take_varint(in);
    if (!in.ok() || entities > in.remaining() / entity_bytes)
      return error(errc::malformed, "a membership that ends early");
    t.entities.resize(entities);
    for (entity& e : t.entities) wire::decode(in, e);
    if (SCOLL_MUTANT(entity_lost, "a membership loses the last entity of a node") && entities > 2)
      t.entities.pop_back();
  }
  if (in.ok() && in.remaining() != 0 && !take_places(in, targets))
    return error(errc::malformed, "the zones and hosts of a membership do not fit its members");
  in.finish();
  if (!in.ok()) return in.error();
  return targets;
}

}  // namespace scoll::detail
