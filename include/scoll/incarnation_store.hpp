#pragma once

#include <cstdint>
#include <string>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node_options.hpp"
#include "transport/io/reactor.hpp"

namespace scoll {

/// The wall clock in ns since 1970.
std::uint64_t wall_clock_ns() noexcept;

/// Hands out a node's incarnations so that every one is greater than all before it, whatever the wall clock
/// does and whenever the power goes off: the latest is kept in DIRECTORY/incarnation, a line of text with its
/// XXH3. One process at a time may use a directory.
class incarnation_store {
 public:
  /// What to do about a file that is damaged.
  enum class damage { refuse, trust_wall_clock };

  /// `files` must outlive it. The directory is made if its parent exists.
  incarnation_store(transport::file_system& files, std::string directory, damage policy = damage::refuse)
      : files_(files), directory_(std::move(directory)), policy_(policy) {}

  /// The latest plus one, or the wall clock `now_ns` if that is more. It is durable when it is returned;
  /// after an error it may have been used up. Errors: `checksum_mismatch` names the damaged file, `io_error`,
  /// `too_large` if there is no greater number.
  task<result<std::uint64_t>> next(std::uint64_t now_ns);

 private:
  std::string file_name() const { return directory_ + "/incarnation"; }
  task<result<std::uint64_t>> latest();

  transport::file_system& files_;
  std::string directory_;
  damage policy_;
};

/// Fills in `options.incarnation`, unless it is set: from the store in `options.directory`, or the wall clock
/// `now_ns` if there is no directory. Before the node is made; `options` must live until the await is over.
task<status> choose_incarnation(transport::file_system& files, node_options& options,
                                std::uint64_t now_ns = wall_clock_ns());

}  // namespace scoll
