#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "scoll/rail_entry.hpp"
#include "transport/io/reactor.hpp"
#include "transport/session/rails/rail_set.hpp"
#include "transport/tcp/tcp_rail.hpp"
#include "transport/verbs/verbs_options.hpp"

namespace scoll::transport {
class named_rails;
class verbs_api;
class verbs_rail;
}  // namespace scoll::transport

namespace scoll {

/// What the rails of a node have in common; their addresses and devices are those of their entries.
struct rail_options {
  transport::tcp_options tcp{};
  transport::verbs_options verbs{};
  /// The RDMA devices for addresses that begin with verbs://, from `transport::use_ibverbs` (library
  /// `scoll::verbs`). Null: there are none.
  std::shared_ptr<transport::verbs_api> devices{};
};

/// Owns the rails of a node. Each listens on the address and the network interface of its entry and connects
/// from them.
///
/// With an empty list the node listens where its options say. If there are `devices`, its addresses name
/// their transports (`named_rails`), such as "verbs://10.0.0.1:7001" or
/// "tcp://10.0.0.1:7001;bulk=verbs://10.0.0.1:7002"; an address without a name is one of TCP. Otherwise there
/// is one rail, of TCP.
///
/// ```cpp
/// settings chosen;
/// node_rails rails(loop, chosen.rails(), {.tcp = chosen.tcp()});
/// class node self(loop, rails.set(), chosen.node());
/// ```
///
/// The addresses of a verbs rail begin with verbs:// in the lists of peers, too. The reactor must outlive the
/// rails, and the rails must outlive the node.
class node_rails {
 public:
  /// Throws `failure` if two rails have one name, if there are more than 8, or if one of them is a verbs rail
  /// and there are no devices (`unsupported`).
  node_rails(transport::reactor& loop, std::vector<rail_entry> use, const rail_options& common = {});
  ~node_rails();
  node_rails(const node_rails&) = delete;
  node_rails& operator=(const node_rails&) = delete;

  /// What the constructor of a node takes.
  const transport::rail_set& set() const noexcept { return set_; }
  /// The list that the rails were made from.
  const std::vector<rail_entry>& entries() const noexcept { return entries_; }
  std::size_t size() const noexcept { return rails_.size(); }

  /// The bound addresses, in the order of the rails, with their actual ports; empty before the node listens.
  std::vector<std::string> listen_addresses() const;
  /// The number of connections that are open, being made or being closed.
  std::size_t open() const noexcept;

 private:
  class one;

  one& add(transport::reactor& loop, const transport::tcp_options& options);
  void add_entry(transport::reactor& loop, const rail_entry& entry, const rail_options& common);
  void add_usual(transport::reactor& loop, const rail_options& common);

  std::vector<rail_entry> entries_;
  std::shared_ptr<transport::verbs_api> devices_;
  std::vector<std::unique_ptr<one>> rails_;
  std::unique_ptr<transport::named_rails> by_name_;
  transport::rail_set set_;
};

}  // namespace scoll
