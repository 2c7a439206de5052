#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/kit/contest.hpp"
#include "bench/kit/options.hpp"

namespace bench::gossip {

struct options {
  std::vector<std::uint32_t> sizes{1024, 16'384, 65'536};  ///< sizes of merged vectors, in bytes
  std::vector<std::uint32_t> nodes{64, 1024};              ///< participants of whose cycles one is measured
};

/// The sizes of a ping and of its reply, in bytes.
struct exchange_sizes {
  std::size_t ping = 0;
  std::size_t reply = 0;
};

/// Runs the cycles of this many participants in this process, each with a UDP port of its own, one after the
/// other. Time jumps from one to the next; datagrams and system calls are real. An operation is one cycle of
/// one participant: its ping and the reply.
class cycle_contestant : public contestant {
 public:
  /// Returns the average sizes that were sent in the cycles so far.
  virtual exchange_sizes sizes() const = 0;
};
std::unique_ptr<cycle_contestant> make_cycles(std::uint32_t nodes);
/// Does the same with only two sockets: one datagram there and one back.
std::unique_ptr<contestant> make_raw_udp(const exchange_sizes& sizes);

/// Runs the cycles of one participant of so many in a process of its own, on a processor of its own; all others are in another
/// process, which is not counted. An operation is an interval: its ping and the reply, and a reply to each that pings it, one
/// on average.
std::unique_ptr<contestant> make_one_participant(std::uint32_t nodes);
/// Does the same with only the datagrams: a ping, a reply, and each of them from the other side.
std::unique_ptr<contestant> make_bare_participant(const exchange_sizes& sizes, std::uint32_t nodes);

rows run_merge(const bench::options& common, const std::vector<std::uint32_t>& sizes);
rows run_cycle(const bench::options& common, const std::vector<std::uint32_t>& nodes);

rows run(const bench::options& common, const options& chosen);

}  // namespace bench::gossip
