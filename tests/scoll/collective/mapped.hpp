#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "probe.hpp"
#include "scoll/collective/membership.hpp"

namespace scoll::test {

/// Controls the `members` hook of one node, and counts how often it was asked.
struct mapper_orders {
  std::map<std::uint64_t, membership_ptr> names;  ///< the answer for an id; `usual` without an entry
  membership_ptr usual;
  nanoseconds takes{0};
  error fails;
  bool stuck = false;  ///< it does not return until `release`
  event release;
  int asked = 0;
};

/// Adds up rank + 1. Its hook names the members of out-of-band groups.
struct mapped_probe : probe {
  static constexpr service_id id{0x0211};
  static constexpr std::string_view name = "mapped";
  std::shared_ptr<mapper_orders> orders = std::make_shared<mapper_orders>();

  task<result<membership_ptr>> members(std::uint64_t wanted) {
    ++orders->asked;
    if (orders->takes.count() != 0) co_await sleep_for(orders->takes);
    if (orders->stuck) co_await orders->release.wait();
    if (orders->fails) co_return orders->fails;
    const auto named = orders->names.find(wanted);
    co_return named == orders->names.end() ? orders->usual : named->second;
  }
};

/// A cluster of these, each with orders of its own. All name all nodes at first.
struct mapped_cluster {
  explicit mapped_cluster(std::uint32_t size, const node_options& options = {}) : c(size, options) {
    const membership_ptr all = membership::make(c.targets()).value();
    for (std::uint32_t i = 0; i < size; ++i) {
      mapped_probe service;
      service.log = log;
      service.orders->usual = all;
      orders.push_back(service.orders);
      handles.push_back(c[i].serve(service).value());
    }
  }

  group<mapped_probe> hold(std::uint32_t node, std::uint64_t id, group_options options = {}) {
    return c.run(c[node].out_of_band<mapped_probe>(id, options)).value();
  }
  int asked() const {
    int sum = 0;
    for (const auto& o : orders) sum += o->asked;
    return sum;
  }

  virtual_cluster c;
  std::shared_ptr<probe_log> log = std::make_shared<probe_log>();
  std::vector<std::shared_ptr<mapper_orders>> orders;
  std::vector<service_handle> handles;
};

}  // namespace scoll::test
