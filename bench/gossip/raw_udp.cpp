#include <sys/socket.h>
#include <unistd.h>

#include "bench/kit/clock.hpp"
#include "bench/kit/sockets.hpp"
#include "gossip.hpp"

namespace bench::gossip {
namespace {

using scoll::transport::socket_address;

class raw_udp final : public contestant {
 public:
  explicit raw_udp(const exchange_sizes& sizes)
      : sizes_(sizes), asks_(open()), answers_(open()), bytes_(std::size_t{1} << 16), meter_(getpid()) {
    asking_ = scoll::transport::local_address(asks_.get()).value();
    answering_ = scoll::transport::local_address(answers_.get()).value();
  }

  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    for (std::uint32_t i = 0; i != operations; ++i) {
      const std::int64_t began = now_ns();
      send(asks_, answering_, sizes_.ping);
      receive(answers_);
      send(answers_, asking_, sizes_.reply);
      receive(asks_);
      latency_us.push_back(static_cast<double>(now_ns() - began) / 1e3);
    }
  }
  std::vector<usage> used() const override { return {meter_.read()}; }

 private:
  static unique_fd open() {
    return scoll::transport::open_datagram(socket_address::parse("127.0.0.1:0").value()).value();
  }
  void send(const unique_fd& from, const socket_address& to, std::size_t size) {
    if (::sendto(from.get(), bytes_.data(), size, 0, to.data(), to.size()) < 0) fail("sendto");
  }
  void receive(const unique_fd& at) {
    sockaddr_storage source;
    socklen_t size = sizeof source;
    auto* const from = reinterpret_cast<sockaddr*>(&source);
    if (::recvfrom(at.get(), bytes_.data(), bytes_.size(), 0, from, &size) < 0) fail("recvfrom");
  }

  exchange_sizes sizes_;
  unique_fd asks_;
  unique_fd answers_;
  socket_address asking_;
  socket_address answering_;
  std::vector<std::byte> bytes_;
  process_meter meter_;
};

}  // namespace

std::unique_ptr<contestant> make_raw_udp(const exchange_sizes& sizes) {
  return std::make_unique<raw_udp>(sizes);
}

}  // namespace bench::gossip
