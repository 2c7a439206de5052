#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/scoll-sim/plan/events.hpp"
#include "transport/session/link.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

/// One connection of somebody who does not belong to the cluster.
class outsider_visit final : public transport::connect_events, public transport::link_events {
 public:
  struct means {
    std::uint32_t key = 0;                                 ///< the id of the key that the cluster offers
    std::string cluster{};                                 ///< its name
    std::uint8_t mode = 1;                                 ///< of its nodes, as a hello says it
    std::shared_ptr<transport::link_security> security{};  ///< by which it makes its steps, if it makes any
    std::vector<std::vector<std::byte>> recorded{};        ///< what a node has written
    std::function<void()> come_again{};                    ///< called when it has hung up; null: it does not
  };

  outsider_visit(testing::sim_world& world, const events::outsider& how, means with, std::uint64_t life);
  ~outsider_visit();
  outsider_visit(const outsider_visit&) = delete;
  outsider_visit& operator=(const outsider_visit&) = delete;

  const events::outsider how;
  const std::uint64_t life;  ///< of the host that it visits, by number
  nanoseconds came{0};       ///< when its connection was made, in the world's time
  nanoseconds ended{0};      ///< when it ended
  nanoseconds answered{0};   ///< when its first step was answered, or 0
  bool connected = false;    ///< at any time
  bool over = false;         ///< the connection has ended, or was never made
  bool let_in = false;       ///< it was welcomed, or told something that is not for it
  error refused;             ///< as it was told

  transport::link_guard* guard() const noexcept { return link_ == nullptr ? nullptr : link_->guard(); }

 private:
  void on_connected(transport::link& l) noexcept override;
  void on_connect_failed(const error& reason) noexcept override;
  void on_frame(transport::frame_view& frame) noexcept override;
  void on_writable() noexcept override;
  void on_closed(const error& reason) noexcept override;

  void begin();
  void begin_silent();
  void go_on(const transport::frame_view& frame) noexcept;
  void say(std::vector<std::byte> bytes);
  void say_waiting() noexcept;
  void say_hello(std::uint8_t security);
  void say_identity();
  void say_step(std::size_t bytes);
  void repeat_next();
  void go_on_proving() noexcept;
  void hang_up_if_said() noexcept;
  void hang_up() noexcept;
  void hang_up_for_now();

  testing::sim_world& world_;
  means means_;
  transport::link* link_ = nullptr;
  std::deque<std::vector<std::byte>> waiting_;  // to be written
  std::size_t repeated_ = 0;
};

}  // namespace scoll::sim
