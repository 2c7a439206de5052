#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "scoll/rail_entry.hpp"
#include "transport/io/reactor.hpp"
#include "transport/session/rails/rail_set.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace scoll {

/// Owns the TCP rails of a node. Each listens on the address and the device of its entry and connects from
/// them. With an empty list there is one rail, which is named "tcp", connects as `tcp_options` say and
/// listens where the node says.
///
/// ```cpp
/// settings chosen;
/// tcp_rails rails(loop, chosen.rails(), chosen.tcp());
/// class node self(loop, rails.set(), chosen.node());
/// ```
///
/// The reactor must outlive the rails, and the rails must outlive the node.
class tcp_rails {
 public:
  /// `common` is what all rails have in common; their addresses and devices are those of `use`. Throws
  /// `failure` if two rails have one name or there are more than 8.
  tcp_rails(transport::reactor& loop, std::vector<rail_entry> use, const transport::tcp_options& common = {});
  tcp_rails(const tcp_rails&) = delete;
  tcp_rails& operator=(const tcp_rails&) = delete;

  /// What the constructor of a node takes.
  const transport::rail_set& set() const noexcept { return set_; }
  /// The list that the rails were made from.
  const std::vector<rail_entry>& entries() const noexcept { return entries_; }
  std::size_t size() const noexcept { return rails_.size(); }
  transport::tcp_rail& operator[](std::size_t number) noexcept { return *rails_[number]; }

  /// The bound addresses, in the order of the rails, with their actual ports; empty before the node listens.
  std::vector<std::string> listen_addresses() const;
  /// The number of connections that are open, being made or being closed.
  std::size_t open() const noexcept;

 private:
  std::vector<rail_entry> entries_;
  std::vector<std::unique_ptr<transport::tcp_rail>> rails_;
  transport::rail_set set_;
};

}  // namespace scoll
