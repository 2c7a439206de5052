#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bcast.hpp"
#include "bench/kit/counts.hpp"
#include "bench/kit/member.hpp"
#include "examples/guide/survey.hpp"
#include "scoll/collective.hpp"
#include "scoll/node.hpp"
#include "transport/io/reactor.hpp"

/// What the processes of scoll are asked to do. A job makes its service for a process, has a request as long as the
/// setting says, and knows the right reply.
namespace bench::bcast {

/// Notes that a process was reached, and shows what it has counted.
struct witness {
  member& me;
  scoll::transport::reactor& ring;
  scoll::node& here;

  counts count() const noexcept;
  void executed() const noexcept;
};

/// The job with everything that makes it cheap: every member answers with its rank plus one.
class tuned {
 public:
  struct service {
    static constexpr scoll::service_id id{0x0100};
    static constexpr bool short_execute = true;
    using request = scoll::wire::borrowed_bytes;
    using reply = scoll::sum<std::uint64_t>;
    const witness* seen;
    reply execute(const request&, scoll::bcast_context& c) const;
  };

  explicit tuned(const setting& s);
  service service_for(const witness& by) const noexcept { return {&by}; }
  service::request request() const noexcept { return {bytes_}; }
  static bool is_right(const service::reply& all, const setting& s) noexcept {
    return all.value == s.expected_sum();
  }

 private:
  std::vector<std::byte> bytes_;
};

/// The job as the guide teaches to write one: its service is that of the page, and keeps no object.
class plain {
 public:
  struct service : guide::survey {
    const witness* seen;
    scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& c) const;
  };

  explicit plain(const setting& s);
  service service_for(const witness& by) const noexcept { return {{&none_}, &by}; }
  const service::request& request() const noexcept { return request_; }
  static bool is_right(const service::reply& all, const setting& s) noexcept {
    return all.servers.value == s.nodes;
  }

 private:
  guide::object_map none_;
  service::request request_;
};

}  // namespace bench::bcast
