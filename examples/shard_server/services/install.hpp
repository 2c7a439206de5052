#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../store/installed_files.hpp"
#include "ids.hpp"
#include "maintenance.hpp"
#include "progress.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/node.hpp"

namespace shard {

/// The request of `install`.
struct install_request {
  std::string name;         ///< `check_installed_name`
  std::uint64_t bytes = 0;  ///< of the file
  std::uint64_t hash = 0;   ///< XXH3-64 of it
  std::uint64_t run = 0;  ///< a number that the root's life gives to one installation, with all its attempts
};

/// The installations that are under way on this server. Each broadcast with a file is one delivery. It must
/// outlive the service.
class install_desk {
 public:
  install_desk(installed_files& files, progress_board& board) noexcept : files_(files), board_(board) {}

  installed_files& files() noexcept { return files_; }

  /// Gives the file of a run that this server is the root of, before its broadcasts. Errors: `busy` (a file of
  /// that name is on its way here).
  scoll::status stage(std::uint64_t run, std::shared_ptr<incoming_file> whole);
  /// The way that the bytes of a run have taken; nothing if they have not left.
  std::optional<scoll::bulk_info> travels(std::uint64_t run) const;
  /// Forgets the file of a run, and removes it if it was not committed.
  scoll::task<void> unstage(std::uint64_t run);

  // The steps of a delivery, as the hooks of the service take them.

  void expect(const install_request& asked, const scoll::bcast_context& call);
  /// Appends a part. Errors: `busy` (another file of that name is on its way here), `stale` (a later attempt has
  /// taken over), and those of the disk.
  scoll::task<scoll::status> take(scoll::operation_id id, scoll::bulk_chunk part);
  /// Commits the file. The root does so when its children have answered, and only if another server has the
  /// file then: an installation that has failed on all others changes nothing on the root. The result is false
  /// if an earlier attempt of the run has done so.
  scoll::task<scoll::result<bool>> commit(scoll::operation_id id, scoll::stop_token stop);
  /// A child has answered, or is lost; `has_file` says that a server of its subtree has the file.
  void hear(const scoll::operation_id& id, bool has_file) noexcept;
  /// There will be no commit.
  void give_up(const scoll::operation_id& id) noexcept;
  void forget(const scoll::operation_id& id) noexcept;

  bool has_unwanted() const noexcept { return !unwanted_.empty(); }
  /// Removes the files of deliveries that were given up.
  scoll::task<void> remove_unwanted();

 private:
  struct delivery {
    install_request asked;
    std::shared_ptr<run_progress> how_far;
    std::shared_ptr<incoming_file> file;  ///< from the first part on
    scoll::status refused;                ///< the reason why this server takes no part
    bool is_root = false;
    bool done_before = false;
    std::uint32_t awaited = 0;    ///< children that have not answered
    bool others_have_it = false;  ///< some other server, or there is no other
    scoll::event heard_all;
  };
  using delivery_ptr = std::shared_ptr<delivery>;  // a running step keeps one that was forgotten alive
  struct staged_file {
    std::shared_ptr<incoming_file> file;
    std::optional<scoll::bulk_info> travels;
    bool committed = false;
  };
  /// One installation, whatever the number of its attempts.
  struct run_key {
    scoll::node_id root = 0;
    std::uint64_t incarnation = 0;
    std::uint64_t run = 0;
    friend bool operator==(const run_key&, const run_key&) = default;
  };
  static constexpr std::size_t most_runs_remembered = 256;

  static run_key key_of(const scoll::operation_id& id, const install_request& asked) noexcept {
    return {id.root, id.incarnation, asked.run};
  }
  delivery_ptr find(const scoll::operation_id& id) const;
  scoll::status may_begin(const scoll::operation_id& id, const install_request& asked);
  void discard(delivery& unwanted) noexcept;
  scoll::task<scoll::result<bool>> commit_file(run_key key, delivery_ptr whole);

  installed_files& files_;
  progress_board& board_;
  std::map<scoll::operation_id, delivery_ptr> deliveries_;
  std::map<std::uint64_t, staged_file> staged_;  // by run
  std::deque<run_key> committed_;                // the latest of them
  std::vector<std::shared_ptr<incoming_file>> unwanted_;
};

/// Installs a file on every server, under the same name. The bytes come as the bulk data of the broadcast and
/// go to the disk part by part, so that no server has more of the file in memory than `bulk_window` pieces. A
/// server replies when the file is on its disk, whole and with the hash that the root has computed. One that
/// cannot take the file passes the bytes on to others all the same.
struct install {
  static constexpr scoll::service_id id = ids::install;
  static constexpr std::string_view name = "install";
  static constexpr std::size_t reply_capacity = 1024;
  static constexpr std::uint32_t bulk_window = 16;
  using request = install_request;
  struct reply {
    scoll::sum<std::uint64_t> servers;
    scoll::sum<std::uint64_t> bytes;
    scoll::set_union<std::uint64_t> hashes;  ///< of the files, exactly one
  };

  scoll::node* self;
  install_desk* desk;
  maintenance_desk* upkeep;

  scoll::status prepare(const request& asked, scoll::bcast_context& call) const;
  scoll::task<scoll::status> on_bulk(const scoll::bulk_chunk& part, scoll::bcast_context& call) const;
  void bulk_failed(const scoll::error& why, scoll::bcast_context& call) const noexcept;
  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call) const;
  void on_reply(const scoll::arrival<reply>& child, scoll::bcast_context& call) const;
  void replied(scoll::bcast_context& call) const noexcept;

 private:
  void tidy_up() const noexcept;
};

}  // namespace shard
