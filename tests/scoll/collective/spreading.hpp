#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cluster.hpp"
#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"

/// Broadcasts that spread an object over a cluster.
namespace spreading {

using namespace scoll;

using bytes = std::vector<std::byte>;
inline constexpr std::uint32_t piece = 64 * 1024;

/// The part of one member, and what it has seen.
struct shelf {
  bytes place;
  std::uint64_t seen = 0;  ///< bytes in chunks
  std::vector<std::uint64_t> offsets;
  bool chunks_agree = true;
  std::uint32_t executed = 0;
  std::uint32_t failed = 0;
  error why;
  std::uint32_t replied = 0;
  std::optional<bulk_info> info;
};

/// What the members do beside storing the object.
struct behaviour {
  std::function<status(bcast_context&)> prepare;
  std::function<status(const bulk_chunk&, bcast_context&)> chunk;
  bool gives_place = true;
  bool spoils_when_replied = false;
};

struct world {
  std::deque<shelf> shelves;
  behaviour does;
  bytes object;
};

struct install {
  static constexpr service_id id{0x0310};
  static constexpr nanoseconds processing_bound = std::chrono::seconds(1);
  struct request {
    std::uint32_t number = 0;
  };
  using reply = sum<std::uint64_t>;
  world* w;

  shelf& here(bcast_context& c) const { return w->shelves[c.rank()]; }

  status prepare(request&, bcast_context& c) {
    shelf& s = here(c);
    s.info = c.bulk();
    if (w->does.prepare) {
      if (status checked = w->does.prepare(c); !checked) return checked;
    }
    if (c.is_root() || !w->does.gives_place || !s.info) return {};
    s.place.assign(s.info->length, std::byte{0xee});
    return c.receive_bulk(s.place);
  }
  status on_bulk(const bulk_chunk& chunk, bcast_context& c) {
    shelf& s = here(c);
    s.seen += chunk.bytes.size();
    s.offsets.push_back(chunk.offset);
    s.chunks_agree = s.chunks_agree &&
                     test::same(chunk.bytes, std::span(w->object).subspan(chunk.offset, chunk.bytes.size()));
    return w->does.chunk ? w->does.chunk(chunk, c) : status();
  }
  void bulk_failed(const error& why, bcast_context& c) noexcept {
    ++here(c).failed;
    here(c).why = why;
  }
  reply execute(const request&, bcast_context& c) {
    ++here(c).executed;
    return {here(c).place.size()};
  }
  void replied(bcast_context& c) noexcept {
    shelf& s = here(c);
    ++s.replied;
    if (w->does.spoils_when_replied) s.place.clear();
  }
};

/// A cluster in which an object is spread.
struct party {
  party(test::world_kind kind, std::uint32_t n, std::size_t size, const tree_spec& tree = knomial{2},
        const node_options& base = {})
      : c(kind, n, base) {
    w.shelves.resize(n);
    w.object = test::made(size, 5);
    c.serve(install{&w});
    g = c.make_group<install>(0, tree);
  }
  world w;  // before the nodes, whose hooks use it
  test::cluster c;
  group<install> g;

  bcast_options options(const bulk_plan& plan) const {
    bcast_options o;
    o.bulk = w.object;
    o.bulk_plan = plan;
    o.bulk_piece_bytes = piece;
    return o;
  }
  auto spread(const bulk_plan& plan) { return c.bcast(g, {1}, options(plan)); }
  bool holds(std::uint32_t rank) const { return test::same(w.shelves[rank].place, w.object); }
};

inline const std::vector<bulk_plan> plans{bulk_plan::whole(),    bulk_plan::chain(),
                                          bulk_plan::binary(),   bulk_plan::knomial(2),
                                          bulk_plan::knomial(4), bulk_plan::circulant()};

}  // namespace spreading
