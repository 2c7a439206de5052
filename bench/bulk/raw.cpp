#include <vector>

#include "../kit/sockets.hpp"
#include "bulk.hpp"

namespace bench::bulk {
namespace {

unique_fd join(member& me, const setting& s) {
  std::uint16_t port = 0;
  const unique_fd listener = listen_anywhere(port);
  me.publish(port);
  return me.index() == 0 ? connect_to(me.port(1), s.congestion_control)
                         : accept_one(listener.get(), s.congestion_control);
}

}  // namespace

void play_raw(member& me, const setting& s) {
  const unique_fd fd = join(me, s);
  std::vector<std::byte> bytes(s.size);
  std::byte word{};
  const bool asks = me.index() == 0;
  const auto stream = [&] {
    asks == s.push ? send_all(fd.get(), bytes.data(), bytes.size())
                   : receive_all(fd.get(), bytes.data(), bytes.size());
  };
  me.ready();
  if (asks) {
    me.serve([&] {
      if (!s.push) send_all(fd.get(), &word, 1);
      stream();
      if (s.push) receive_all(fd.get(), &word, 1);
    });
  }
  while (!asks) {
    if (!s.push) receive_all(fd.get(), &word, 1);
    stream();
    if (s.push) send_all(fd.get(), &word, 1);
  }
}

}  // namespace bench::bulk
