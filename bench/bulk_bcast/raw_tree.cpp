#include "bench/bcast/raw_tree.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <stdexcept>

#include "bulk_bcast.hpp"
#include "transport/wire/checksum.hpp"

namespace bench::bulk_bcast {
namespace {

/// Chunks wait in the buffers of sockets while a process works at another one, so blocking calls keep the
/// pipeline full.
class relay {
 public:
  relay(bcast::raw_place& place, const raw_setting& s)
      : place_(place), bytes_(s.what.size, std::byte{0x5a}), chunk_bytes_(s.chunk) {}

  std::uint64_t broadcast() {
    syscalls_ = 0;
    for_each_chunk([this](std::span<std::byte> chunk) { pass_on(chunk, scoll::wire::checksum(chunk)); });
    const std::uint64_t sum = gather();
    place_.count(syscalls_);
    return sum;
  }

  void serve_one() {
    syscalls_ = 0;
    for_each_chunk([this](std::span<std::byte> chunk) {
      const std::uint64_t hash = receive(chunk);
      if (scoll::wire::checksum(chunk) != hash) throw std::runtime_error("a chunk arrived altered");
      pass_on(chunk, hash);
    });
    place_.reached();
    const std::uint64_t sum = gather();
    send_all(place_.parent(), &sum, sizeof sum);
    place_.count(syscalls_ + 1);
  }

 private:
  template <class Use>
  void for_each_chunk(Use use) {
    std::span<std::byte> rest(bytes_);
    while (!rest.empty()) {
      const std::size_t size = std::min(rest.size(), chunk_bytes_);
      use(rest.first(size));
      rest = rest.subspan(size);
    }
  }

  /// The hash and the chunk, for one system call.
  struct parcel {
    parcel(std::uint64_t& hash, std::span<std::byte> chunk)
        : parts{{&hash, sizeof hash}, {chunk.data(), chunk.size()}} {
      message.msg_iov = parts;
      message.msg_iovlen = 2;
    }
    iovec parts[2];
    msghdr message{};
  };

  void pass_on(std::span<std::byte> chunk, std::uint64_t hash) {
    for (const unique_fd& child : place_.children()) {
      const parcel whole(hash, chunk);
      const std::size_t sent = moved(sendmsg(child.get(), &whole.message, MSG_NOSIGNAL), "sendmsg");
      send_all(child.get(), chunk.data() + sent, chunk.size() - sent);
    }
  }

  std::uint64_t receive(std::span<std::byte> chunk) {
    std::uint64_t hash = 0;
    parcel whole(hash, chunk);
    const std::size_t got = moved(recvmsg(place_.parent(), &whole.message, MSG_WAITALL), "recvmsg");
    receive_all(place_.parent(), chunk.data() + got, chunk.size() - got);
    return hash;
  }

  /// The bytes of the chunk that a call has moved behind the hash.
  std::size_t moved(ssize_t result, const char* call) {
    ++syscalls_;
    if (result < static_cast<ssize_t>(sizeof(std::uint64_t))) fail(call);
    return static_cast<std::size_t>(result) - sizeof(std::uint64_t);
  }

  std::uint64_t gather() {
    std::uint64_t sum = place_.own_value();
    for (const unique_fd& child : place_.children()) {
      std::uint64_t answer = 0;
      receive_all(child.get(), &answer, sizeof answer);
      ++syscalls_;
      sum += answer;
    }
    return sum;
  }

  bcast::raw_place& place_;
  std::vector<std::byte> bytes_;
  std::size_t chunk_bytes_;
  std::uint64_t syscalls_ = 0;
};

}  // namespace

void play_raw_tree(member& me, const raw_setting& s) {
  const bcast::setting shape{
      .nodes = s.what.nodes, .tree = s.tree, .congestion_control = s.what.congestion_control};
  bcast::raw_place place(me, shape);
  relay node(place, s);
  bcast::play_raw(place, node, shape);
}

}  // namespace bench::bulk_bcast
