#include "tools/scoll-sim/rails/rails_transfers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/memory/transfer.hpp"

namespace scoll::sim {
namespace {

constexpr std::size_t most_bytes_of_transfer = 1U << 20U;

constexpr std::size_t cargoes = 251;

/// The content of a memory that is being sent; it differs from that of the transfers before. No run of it is one
/// byte repeated.
std::span<const std::byte> moved_content(std::uint64_t number, std::size_t size) {
  static const std::vector<std::byte> all = [] {
    std::vector<std::byte> bytes(most_bytes_of_transfer + cargoes);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + (i >> 9));
    return bytes;
  }();
  return std::span(all).subspan(number % cargoes, size);
}

bool equal(std::span<const std::byte> left, std::span<const std::byte> right) noexcept {
  return std::memcmp(left.data(), right.data(), left.size()) == 0;
}

bool holds_only(std::span<const std::byte> memory, std::uint8_t fill) noexcept {
  if (memory.empty()) return true;
  return memory[0] == std::byte{fill} && equal(memory.first(memory.size() - 1), memory.subspan(1));
}

}  // namespace

rails_transfers::rails_transfers(testing::sim_world& world, std::vector<std::unique_ptr<rails_host>>& hosts,
                                 std::uint64_t seed, report found)
    : world_(world), hosts_(hosts), random_(seed, "rails transfers"), found_(std::move(found)) {
  for (std::uint32_t from = 0; from < 2; ++from) {
    direction& d = directions_.emplace_back();
    d.from = from;
    d.to = 1 - from;
    d.here.resize(most_bytes_of_transfer);
    d.there.resize(most_bytes_of_transfer);
    rails_host& owner = *hosts_[d.to];
    owner.home.enter([&] {
      d.exposed = transport::memory_region::expose(*owner.wire, std::span<std::byte>(d.there),
                                                   transport::memory_access::read_write)
                      .value();
    });
    d.work = std::make_unique<scope>(hosts_[from]->home);
  }
}

void rails_transfers::begin(bool often) {
  for (direction& d : directions_) {
    if (d.busy || !random_.chance(1, often ? 1 : 60)) continue;
    look_at(d);
    constexpr std::uint32_t segments[]{512, 9'000, 32'768, 131'072, 131'072};
    const std::uint32_t segment = random_.one_of(segments);
    const std::uint64_t count = segment == 512 ? random_.between(200, 700) : random_.between(4, 24);
    const std::size_t size =
        std::min<std::size_t>(most_bytes_of_transfer, segment * count - random_.below(segment));
    const bool push = random_.chance(3, 4);
    d.busy = true;
    d.began = world_.now();
    hosts_[d.from]->home.enter([&] { d.work->spawn(carry(d, push, size, segment)); });
  }
}

task<void> rails_transfers::carry(direction& d, bool push, std::size_t size, std::uint32_t segment) {
  const std::uint64_t number = ++done_;
  const std::span<std::byte> here(d.here.data(), size);
  const std::span<std::byte> there(d.there.data(), size);
  transport::transfer_options options;
  options.segment_bytes = segment;
  transport::endpoint& wire = *hosts_[d.from]->wire;
  error outcome;
  std::memcpy((push ? here : there).data(), moved_content(number, size).data(), size);
  if (push) {
    const transport::push_status ended =
        co_await transport::push(wire, d.exposed.descriptor(), 0, here, options);
    if (!ended) outcome = ended.error();
  } else {
    const status ended = co_await transport::pull(wire, d.exposed.descriptor(), 0, here, options);
    if (!ended) outcome = ended.error();
  }
  if (outcome)
    found_("nothing is lost while a rail lives",
           fmt::format("transfer {} of host {}: {}", number, d.from, describe(outcome)));
  if (!outcome && !equal(push ? there : here, moved_content(number, size)))
    found_("bytes arrive as they were", fmt::format("transfer {} of host {}", number, d.from));
  use_otherwise(d, size);
  d.busy = false;
}

void rails_transfers::use_otherwise(direction& d, std::size_t size) {
  d.used = size;
  d.fill_here = static_cast<std::uint8_t>(random_.below(256));
  d.fill_there = static_cast<std::uint8_t>(random_.below(256));
  std::memset(d.here.data(), d.fill_here, size);
  std::memset(d.there.data(), d.fill_there, size);
}

void rails_transfers::look_at(const direction& d) {
  if (!holds_only(std::span(d.here).first(d.used), d.fill_here) ||
      !holds_only(std::span(d.there).first(d.used), d.fill_there))
    found_("a late copy changes nothing",
           fmt::format("the memory of a transfer from host {} to {} was written afterwards", d.from, d.to));
}

void rails_transfers::check(nanoseconds bound) {
  for (const direction& d : directions_) {
    if (d.busy && world_.now() - d.began > bound)
      found_("a stall is bounded", fmt::format("a transfer of host {} has taken {} ms", d.from,
                                               (world_.now() - d.began) / std::chrono::milliseconds(1)));
  }
}

bool rails_transfers::idle() const noexcept {
  return std::ranges::none_of(directions_, &direction::busy);
}

void rails_transfers::close() {
  for (direction& d : directions_) {
    look_at(d);
    hosts_[d.to]->home.enter([&] { d.exposed.unexpose(); });
    if (!d.work->try_join()) found_("every await ends", "a transfer is under way");
  }
}

}  // namespace scoll::sim
