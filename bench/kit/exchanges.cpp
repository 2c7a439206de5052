#include "exchanges.hpp"

#include <vector>

#include "asking.hpp"
#include "compose.hpp"
#include "endpoint_process.hpp"
#include "scoll/coro/error_format.hpp"

namespace bench {
namespace {

using namespace scoll;
using namespace scoll::transport;

class exchanger final : public endpoint_process {
 public:
  exchanger(member& me, std::uint32_t size, const std::string& congestion_control, const std::string& keys,
            const std::vector<std::string>& hosts)
      : endpoint_process(me, congestion_control, identity(me.index(), keys), hosts), bytes_(size) {}

  void run() { run_as(*this); }

  task<void> ask(node_id peer) {
    asking request(*endpoint_.find(peer), traffic_class::call, compose(endpoint_, bytes_),
                   static_cast<std::uint32_t>(bytes_.size()));
    const status answered = co_await request;
    if (!answered) me_.give_up(describe(answered.error()));
  }

 private:
  static endpoint_options identity(std::uint32_t index, const std::string& keys) {
    endpoint_options o = endpoint_identity(index, keys);
    o.queue_limit = 4096;
    return o;
  }

  void on_request(request_view& r) noexcept override {
    incoming work;
    r.accept(work);
    work.reply(compose(endpoint_, bytes_));
    count().show_on(me_.page());
  }

  std::vector<std::byte> bytes_;
};

}  // namespace

void play_exchanges(member& me, std::uint32_t size, const std::string& congestion_control,
                    const std::string& keys, const std::vector<std::string>& hosts) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new exchanger(me, size, congestion_control, keys, hosts))->run();
}

}  // namespace bench
