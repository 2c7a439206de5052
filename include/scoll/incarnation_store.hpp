#pragma once

#include <cstdint>
#include <string>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node_options.hpp"
#include "transport/io/reactor.hpp"

namespace scoll {

/// The wall clock in nanoseconds since 1970.
std::uint64_t wall_clock_ns() noexcept;

/// Hands out a node's incarnations so that each is greater than all before it, even if the wall clock goes
/// back or the power fails. It keeps the latest one in DIRECTORY/incarnation, a line of text with its XXH3.
/// Only one process at a time may use a directory.
class incarnation_store {
 public:
  /// Decides about a damaged file: refuse it, or continue from the wall clock.
  enum class damage { refuse, trust_wall_clock };

  /// `files` must outlive the store. The directory is created if its parent exists.
  incarnation_store(transport::file_system& files, std::string directory, damage policy = damage::refuse)
      : files_(files), directory_(std::move(directory)), policy_(policy) {}

  /// Gives the latest incarnation plus one, or the wall clock `now_ns` if that is greater. The number is
  /// durable before it is returned; after an error it may have been used up. Errors: `checksum_mismatch`
  /// (naming the damaged file), `io_error`, `too_large` (there is no greater number).
  task<result<std::uint64_t>> next(std::uint64_t now_ns);

 private:
  std::string file_name() const { return directory_ + "/incarnation"; }
  task<result<std::uint64_t>> latest();

  transport::file_system& files_;
  std::string directory_;
  damage policy_;
};

/// Fills in `options.incarnation`, unless it is set: from the store in `options.directory`, or from the wall
/// clock `now_ns` if there is no directory. Call it before the node is made. `options` must live until the
/// await is over. Errors are those of `incarnation_store::next`.
task<status> choose_incarnation(transport::file_system& files, node_options& options,
                                std::uint64_t now_ns = wall_clock_ns());

}  // namespace scoll
