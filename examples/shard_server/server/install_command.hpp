#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../services/install.hpp"
#include "../store/chunk_pool.hpp"
#include "answer_json.hpp"
#include "collectives.hpp"
#include "command.hpp"
#include "mapped_file.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"

namespace shard {

/// Serves the command "install": brings a file that lies on this server's machine to all servers.
///
/// This server first copies the file to where the other servers receive it, and computes its hash. The copy is
/// what it sends: nobody else changes it meanwhile, and it needs no memory, because it is mapped. Then it asks
/// all servers, with the copy as bulk data. If a server dies, those below it in the tree of the request hear
/// no more of it, so they are asked once more, without the dead one.
class install_command {
 public:
  install_command(scoll::node& self, collectives& all, install_desk& desk, maintenance_desk& upkeep,
                  chunk_pool& chunks, progress_board& board) noexcept
      : self_(self), all_(all), desk_(desk), upkeep_(upkeep), chunks_(chunks), board_(board) {}

  /// `run` is a number that no other long command of this server has had.
  scoll::task<json> run(const command& c, std::uint64_t run, scoll::stop_token stop);

 private:
  static constexpr int most_attempts = 3;
  using incoming_ptr = std::shared_ptr<incoming_file>;
  struct delivered {
    answer<install::reply> answered;
    int attempts = 0;
  };

  scoll::task<json> install_staged(const command& c, incoming_ptr whole, std::uint64_t run,
                                   scoll::stop_token stop);
  scoll::task<scoll::result<incoming_ptr>> copy(const command& c, run_progress& how_far,
                                                scoll::stop_token stop);
  scoll::task<scoll::status> copy_bytes(const scoll::transport::file& from, incoming_file& into,
                                        run_progress& how_far, scoll::stop_token stop);
  scoll::task<delivered> deliver(const install_request& asked, const mapped_file& bytes, const command& c,
                                 scoll::stop_token stop);
  scoll::task<void> deliver_again(delivered& so_far, scoll::group<install> group,
                                  const install_request& asked, scoll::bcast_options options);
  scoll::task<void> let_go(scoll::group<install> group);
  json described(const delivered& done, const install_request& asked) const;

  scoll::node& self_;
  collectives& all_;
  install_desk& desk_;
  maintenance_desk& upkeep_;
  chunk_pool& chunks_;
  progress_board& board_;
};

}  // namespace shard
