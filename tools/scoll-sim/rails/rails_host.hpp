#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scoll/coro/error.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/rails/rail_set.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"
#include "transport/verbs/verbs_api.hpp"
#include "transport/verbs/verbs_rail.hpp"

namespace scoll::sim {

/// A request of one host to another, and what became of it.
class rails_call final : public transport::exchange {
 public:
  struct request {
    std::uint64_t number;
    std::uint32_t from;
    std::uint32_t to;
    transport::traffic_class klass;
    bool kept = false;  ///< it is not answered, and will be cancelled
  };

  rails_call(testing::sim_world& world, const request& which) noexcept
      : exchange(&heard), what(which), began(world.now()), world_(world) {}

  const request what;
  const nanoseconds began;
  nanoseconds ended{0};
  int ends = 0;
  bool intact = false;
  error outcome;

 private:
  static void heard(exchange& e, transport::reply_event& event) noexcept;
  testing::sim_world& world_;
};

/// A host with an endpoint on several rails, and the service on it, which answers each request with its number.
class rails_host final : public transport::endpoint_events {
 public:
  using devices_of_host =
      std::vector<std::function<std::shared_ptr<transport::verbs_api>(testing::sim_executor&)>>;
  struct particulars {
    std::uint32_t host;
    std::uint32_t hosts;  ///< that belong to the cluster
    std::size_t rails;
    bool transfers = false;  ///< class bulk moves memory
    std::optional<std::uint32_t> claims =
        std::nullopt;  ///< the host whose id it has, though that is another one
    std::shared_ptr<transport::link_security> security{};  ///< null: its connections prove nothing
    bool visited = false;                                  ///< by outsiders, who get few places
    devices_of_host devices{};  ///< by rail; empty, or null where it is not by RDMA
    std::uint32_t windows = 0;  ///< of memory, of each link by RDMA
  };
  rails_host(testing::sim_world& world, testing::sim_network& network, const particulars& who);
  ~rails_host();
  rails_host(const rails_host&) = delete;
  rails_host& operator=(const rails_host&) = delete;

  /// The place of a rail of a host in the network.
  static std::uint32_t place(std::uint32_t host, std::size_t rail, std::uint32_t hosts) noexcept {
    return static_cast<std::uint32_t>(rail) * hosts + host;
  }
  /// Tells the endpoint where its peers are; if it is misled, with their rails in a wrong order.
  void introduce(bool misled);
  void begin(rails_call& call, std::size_t payload_bytes);
  transport::session& to(std::uint32_t other) { return *wire->find(other + 1); }
  testing::sim_rail& rail(std::size_t number) noexcept { return rails_[number].below; }
  /// Null if the rail reads no memory by hardware.
  transport::memory_registrar* registrar(std::size_t number) noexcept {
    return rails_[number].top().registrar(0);
  }
  /// What has been made of a rail by RDMA.
  transport::verbs_statistics links_by_rdma(std::size_t number) const noexcept;
  std::size_t open() const noexcept;
  /// Requests that wait to be cancelled.
  std::size_t kept() const noexcept { return kept_.size(); }

  testing::sim_executor home;
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> seen;  ///< by caller and number
  std::vector<std::pair<std::uint64_t, std::string>> losses;    ///< peers, and why
  std::vector<transport::rail_news> news;                       ///< what has become of its rails
  std::unique_ptr<transport::endpoint> wire;

 private:
  /// A rail of the network, or one by RDMA that stands on it.
  struct one_rail {
    one_rail(testing::sim_network& network, testing::sim_executor& home, std::uint32_t at)
        : below(network, home, at) {}
    transport::rail& top() noexcept {
      return by_rdma == nullptr ? static_cast<transport::rail&>(below) : *by_rdma;
    }

    testing::sim_rail below;
    std::shared_ptr<transport::verbs_api> devices{};
    std::unique_ptr<transport::verbs_rail> by_rdma{};
  };

  void on_request(transport::request_view& request) noexcept override;
  void on_cancelled(transport::incoming& work, const transport::cancel_reason&) noexcept override;
  void on_session_lost(transport::session& peer, const error& reason) noexcept override;
  void on_rail_news(const transport::rail_news& said) noexcept override { news.push_back(said); }

  particulars who_;
  std::vector<std::unique_ptr<transport::incoming>> kept_;
  std::deque<one_rail> rails_;
  transport::rail_set set_;
};

}  // namespace scoll::sim
