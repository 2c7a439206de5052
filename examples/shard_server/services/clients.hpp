#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../clients/client_desk.hpp"
#include "ids.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

enum class client_step : std::uint8_t {
  evict,  ///< refuse a client, and end what it has under way
  admit,  ///< refuse it no longer
  show,   ///< who is evicted, and who has uploads
};

/// A client that is evicted, or has uploads under way.
struct known_client {
  std::uint64_t client = 0;
  std::uint32_t refused_by = 0;  ///< so many servers
  std::uint32_t uploads = 0;     ///< unfinished, on all servers
  std::string note;              ///< of one of the servers that refuse it
};

/// The clients that the servers know, sorted by id. Beyond `most` the list is cut.
struct client_list {
  static constexpr std::size_t most = 200;
  std::vector<known_client> each;
  bool cut = false;
  void merge(const client_list& from) noexcept;
};

/// Evicts a client from all servers. To carry out a step once more changes nothing.
struct clients {
  static constexpr scoll::service_id id = ids::clients;
  static constexpr std::string_view name = "clients";
  static constexpr std::size_t reply_capacity = client_list::most * (eviction_list::longest_note + 32) + 64;
  struct request {
    client_step step = client_step::show;
    std::uint64_t client = 0;
    std::string note;
  };
  struct reply {
    scoll::sum<std::uint64_t> servers;
    scoll::sum<std::uint64_t> uploads;  ///< that were ended
    scoll::sum<std::uint64_t> calls;    ///< likewise
    client_list known;
  };

  client_desk* desk;

  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call);
};

}  // namespace shard
