#include <vector>

#include "bench/kit/pair.hpp"
#include "bulk.hpp"

namespace bench::bulk {

void play_raw(member& me, const setting& s) {
  const unique_fd fd = join_pair(me, s.congestion_control);
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
