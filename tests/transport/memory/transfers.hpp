#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tests/support/bytes.hpp"
#include "tests/transport/session/call.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/memory/transfer.hpp"

/// Nodes that read and write each other's memory.
namespace transfers {

using namespace network;

using bytes = std::vector<std::byte>;

/// The segment size of transfers, in bytes, unless a test says otherwise.
inline constexpr std::size_t segment_bytes = 262144;

using test::made;

inline constexpr std::size_t mebibyte = 1U << 20U;
inline constexpr std::byte poison{0xee};

/// Makes bytes without the poison, so that poison is visible wherever it appears.
inline bytes clean(std::size_t size, std::uint64_t salt) {
  bytes b = made(size, salt);
  test::replace(b, poison, std::byte{1});
  return b;
}
inline bool spoiled(std::span<const std::byte> memory) {
  return test::holds_any(memory, poison);
}

/// Memory between two fences that nothing may touch.
class fenced {
 public:
  explicit fenced(bytes inside) : size_(inside.size()), all_(inside.size() + 2 * fence, guard) {
    std::copy(inside.begin(), inside.end(), all_.begin() + static_cast<std::ptrdiff_t>(fence));
  }
  explicit fenced(std::size_t size) : fenced(bytes(size)) {}

  std::span<std::byte> memory() { return {all_.data() + fence, size_}; }
  bool holds(std::span<const std::byte> expected) { return test::same(memory(), expected) && intact(); }
  bool intact() const {
    const std::span<const std::byte> all(all_);
    return test::holds_only(all.first(fence), guard) && test::holds_only(all.last(fence), guard);
  }

 private:
  static constexpr std::size_t fence = 64;
  static constexpr std::byte guard{0xfe};
  std::size_t size_;
  bytes all_;
};

/// A task that runs beside the test and stores its value.
template <class T>
class started {
 public:
  started(executor& ex, task<T> work)
      : value_(std::make_unique<std::optional<T>>()),
        run_(std::make_unique<background>(ex, on_reactor::keep(std::move(work), *value_))) {}
  bool done() const { return run_->done(); }
  const T& operator*() const { return value_->value(); }
  const T* operator->() const { return &value_->value(); }

 private:
  std::unique_ptr<std::optional<T>> value_;
  std::unique_ptr<background> run_;
};

template <class T>
T finish(world& w, task<T> work) {
  started<T> s(w.ex(), std::move(work));
  REQUIRE(w.until([&] { return s.done(); }, 60s));
  return *s;
}

/// Nodes 1 and 2, with segments so small that a few MiB make many.
struct two : linked_nodes {
  explicit two(world& on, const std::function<void(endpoint_options&)>& tune = {})
      : linked_nodes(on, [&tune](endpoint_options& o) {
          o.transfer_segment_bytes = segment_bytes;
          if (tune) tune(o);
        }) {}

  memory_region exposed(std::span<std::byte> memory, memory_access access = memory_access::read_write) {
    auto region = memory_region::expose(*right->ep, memory, access);
    REQUIRE(region.has_value());
    return std::move(*region);
  }
  status pull(const region_descriptor& from, std::uint64_t offset, std::span<std::byte> into,
              transfer_options options = {}) {
    return finish(w, transport::pull(*left->ep, from, offset, into, options));
  }
  push_status push(const region_descriptor& to, std::uint64_t offset, std::span<const std::byte> from,
                   transfer_options options = {}) {
    return finish(w, transport::push(*left->ep, to, offset, from, options));
  }
  started<status> begin_pull(const region_descriptor& from, std::uint64_t offset, std::span<std::byte> into,
                             transfer_options options = {}) {
    return {w.ex(), transport::pull(*left->ep, from, offset, into, options)};
  }
  started<push_status> begin_push(const region_descriptor& to, std::uint64_t offset,
                                  std::span<const std::byte> from, transfer_options options = {}) {
    return {w.ex(), transport::push(*left->ep, to, offset, from, options)};
  }
  /// Checks that nothing is held anywhere: every message is acknowledged, and every buffer is back.
  bool quiet() {
    return w.until([&] {
      for (const network::node* n : {left.get(), right.get()}) {
        if (n->ep->messages_in_use() != 0 || n->ep->memory().buffers().lent() != 0) return false;
      }
      return true;
    });
  }
};

/// Queue pairs take so long to come up that a transfer is over later than elsewhere. So it begins with a
/// connection.
inline void connect_devices(two& p, hardware what, const memory_region& region) {
  std::array<std::byte, 1> first;
  if (what == hardware::rdma_devices) REQUIRE(p.pull(region.descriptor(), 0, first).has_value());
}

}  // namespace transfers
