#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "outsider.hpp"
#include "probe.hpp"

namespace scoll::test {

/// A cluster in which an outsider has taken the place of the node with this index, after the group was made.
struct infiltrated {
  virtual_cluster c;
  probe service;
  group<probe> g;
  std::optional<outsider> x;

  infiltrated(std::uint32_t n, const tree_spec& spec, std::uint32_t index) : c(n) {
    c.serve(service);
    g = c.make_group<probe>(index == 0 ? n - 1 : 0, spec);  // a group ends with its creator
    REQUIRE(c.bcast(g, {}).ok());
    service.log->clear();
    c.stop(index).ignore();
    c.ex.run_for(std::chrono::milliseconds(1));  // all have heard of it
    x.emplace(c, index + 1, index, 2);           // as a later life of that node
  }
};

}  // namespace scoll::test
