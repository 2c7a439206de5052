#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scoll/coro.hpp"
#include "server.hpp"

namespace guide {

/// Runs several servers on one reactor, so that each step is a single program. In practice each server is a
/// process of its own.
class servers {
 public:
  servers(scoll::transport::reactor& loop, std::uint32_t count) {
    std::vector<place> cluster;
    for (std::uint32_t id = 1; id <= count; ++id) {
      // 127.0.8.x is loopback as well, and leaves the UDP ports of 127.0.0.1 to other programs.
      const std::string address = "127.0.8." + std::to_string(id) + ":0";
      all_.push_back(
          std::make_unique<server>(loop, scoll::node_options{.id = id, .cluster = "guide"}, address));
      cluster.push_back(all_.back()->where());
    }
    for (auto& each : all_) each->join(cluster);
  }

  server& operator[](std::size_t i) noexcept { return *all_[i]; }
  std::vector<scoll::target> targets() const {
    std::vector<scoll::target> all;
    all.reserve(all_.size());
    for (const auto& each : all_) all.push_back({each->where().id, {}});
    return all;
  }
  /// Waits until all servers take part in the gossip.
  scoll::task<bool> active() {
    for (auto& each : all_) {
      const auto ready = co_await each->active();
      if (!ready) co_return false;
    }
    co_return true;
  }
  /// Ends one server. The others notice its silence.
  scoll::task<bool> stop(std::size_t i) {
    const auto ended = co_await all_[i]->stop();
    all_[i].reset();
    co_return ended.has_value();
  }
  scoll::task<bool> stop() {
    bool good = true;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i] == nullptr) continue;
      const bool ended = co_await stop(i);
      good = good && ended;
    }
    co_return good;
  }

 private:
  std::vector<std::unique_ptr<server>> all_;
};

}  // namespace guide
