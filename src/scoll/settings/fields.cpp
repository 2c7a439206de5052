#include <array>

#include "scoll/settings/field.hpp"
#include "scoll/settings/kinds.hpp"

namespace scoll::detail {
namespace {

using values = settings::values;

using namespace setting_kinds;

template <class Kind>
constexpr std::string (*complaint_of())(std::string_view) {
  if constexpr (requires { &Kind::complain; }) return &Kind::complain;
  return nullptr;
}

template <class Kind, auto Place>
constexpr setting_field field(std::string_view name, std::string_view takes, std::string_view about) {
  return {name,
          about,
          takes,
          [](values& v, std::string_view text) { return Kind::read(Place(v), text); },
          [](const values& v) { return Kind::write(Place(v)); },
          complaint_of<Kind>()};
}

// A place cannot be named in parentheses. NOLINTNEXTLINE(bugprone-macro-parentheses)
#define SCOLL_PLACE(member) [](auto& v) -> auto& { return v.member; }

constexpr std::uint32_t most_count = UINT32_MAX;
using at_least_one = number<1U, most_count>;
using short_time = duration<1, hour>;
using optional_time = duration<0, hour>;

constexpr std::array fields{
    field<backend, SCOLL_PLACE(reactor.backend)>(
        "reactor.backend", "automatic, io_uring or poll",
        "the kernel interface of the reactor; automatic: io_uring where it works"),
    field<number<8U, 32768U, true>, SCOLL_PLACE(reactor.submission_entries)>(
        "reactor.submission_entries",
        "a power of two, 8 to 32768, at most half of reactor.completion_entries",
        "operations that are submitted at once"),
    field<number<16U, 65536U, true>, SCOLL_PLACE(reactor.completion_entries)>(
        "reactor.completion_entries",
        "a power of two, 16 to 65536, at least twice reactor.submission_entries",
        "completions that may wait to be handled"),
    field<number<2U, 32768U, true>, SCOLL_PLACE(reactor.receive_buffers)>(
        "reactor.receive_buffers", "a power of two, 2 to 32768, at most reactor.receive_buffer_limit",
        "the most receive buffers that the kernel holds"),
    field<amount_of_bytes<256, 16 << 20>, SCOLL_PLACE(reactor.receive_buffer_bytes)>(
        "reactor.receive_buffer_bytes", "256 to 16MiB", "the size of a receive buffer"),
    field<number<2U, 65536U>, SCOLL_PLACE(reactor.receive_buffer_limit)>(
        "reactor.receive_buffer_limit", "2 to 65536, at least reactor.receive_buffers",
        "the most receive buffers in all: this bounds receive memory"),
    field<truth, SCOLL_PLACE(reactor.announce)>("reactor.announce", "true or false",
                                                "report on stderr which fallbacks were taken"),
    field<number<0U, 255U>, SCOLL_PLACE(reactor.disable)>(
        "reactor.disable", "0 to 255", "bits of features not to use, to work around a kernel (reactor.hpp)"),

    field<local_address, SCOLL_PLACE(tcp.bind_source)>(
        "tcp.bind_source", "an address such as 10.0.0.1:0, or nothing",
        "the local address to connect from; nothing: the kernel chooses"),
    field<algorithm, SCOLL_PLACE(tcp.congestion_control)>("tcp.congestion_control",
                                                          "a name such as cubic, or nothing",
                                                          "the congestion control; nothing: the system's"),
    field<short_time, SCOLL_PLACE(tcp.connect_limit)>("tcp.connect_limit", "a time up to 3600s",
                                                      "the time for a connection attempt"),
    field<short_time, SCOLL_PLACE(tcp.linger_limit)>("tcp.linger_limit", "a time up to 3600s",
                                                     "the time for a closed link's peer to read the rest"),
    field<optional_time, SCOLL_PLACE(tcp.keep_alive)>("tcp.keep_alive", "a time up to 3600s, 0: never",
                                                      "the silence after which a connection is probed"),
    field<optional_time, SCOLL_PLACE(tcp.unacknowledged_limit)>(
        "tcp.unacknowledged_limit", "a time up to 3600s, 0: the system's",
        "a link breaks when sent bytes stay unacknowledged for this long"),
    field<number<1, 65535>, SCOLL_PLACE(tcp.backlog)>("tcp.backlog", "1 to 65535",
                                                      "connections that may wait to be accepted"),
    field<number<1U, 1U << 20>, SCOLL_PLACE(tcp.send_buffers)>(
        "tcp.send_buffers", "1 to 1048576", "batches of 64 KiB on their way, over all links"),
    field<number<1U, 1U << 20>, SCOLL_PLACE(tcp.frame_buffers)>(
        "tcp.frame_buffers", "1 to 1048576", "frames that arrive in pieces, over all links"),

    field<device_name, SCOLL_PLACE(verbs.device)>(
        "verbs.device", "a name such as mlx5_0, or nothing",
        "the RDMA device; nothing: the first that has the address, or an active port"),
    field<number<1, 255>, SCOLL_PLACE(verbs.port)>("verbs.port", "1 to 255", "the port of the device"),
    field<host_number, SCOLL_PLACE(verbs.address)>(
        "verbs.address", "an IP address such as 10.0.0.1, or nothing",
        "the address of the port; nothing: that of the rail, or the first of the port"),
    field<number<16U, 1U << 20>, SCOLL_PLACE(verbs.receive_slots)>(
        "verbs.receive_slots", "16 to 1048576, at least verbs.link_slots and a third more",
        "places of 9216 bytes for what arrives, over all links"),
    field<number<4U, 255U>, SCOLL_PLACE(verbs.link_slots)>(
        "verbs.link_slots", "4 to 255, at most three quarters of verbs.receive_slots",
        "the most places that one link is promised"),
    field<number<16U, 1U << 20>, SCOLL_PLACE(verbs.send_slabs)>(
        "verbs.send_slabs", "16 to 1048576", "pieces of 9216 bytes that are sent from, over all links"),
    field<number<1U, 1U << 20>, SCOLL_PLACE(verbs.send_buffers)>(
        "verbs.send_buffers", "1 to 1048576", "batches that wait until they can be sent, over all links"),
    field<number<1U, 1U << 20>, SCOLL_PLACE(verbs.frame_buffers)>(
        "verbs.frame_buffers", "1 to 1048576", "frames that arrive in pieces, over all links"),
    field<number<0, 128>, SCOLL_PLACE(verbs.read_depth)>(
        "verbs.read_depth", "0 to 128; 0: bulk data travel in messages", "READs of one link under way"),
    field<amount_of_bytes<4096, 1 << 30>, SCOLL_PLACE(verbs.read_bytes)>(
        "verbs.read_bytes", "4KiB to 1GiB", "the size of one READ of the device"),
    field<number<0U, 65536U>, SCOLL_PLACE(verbs.read_slabs)>(
        "verbs.read_slabs", "0 to 65536; 0: bulk data travel in messages",
        "registered pieces of memory for each direction, through which other memory is read"),
    field<amount_of_bytes<4096, 1 << 20>, SCOLL_PLACE(verbs.read_slab_bytes)>(
        "verbs.read_slab_bytes", "4KiB to 1MiB", "the size of these pieces"),
    field<number<0U, transport::most_windows>, SCOLL_PLACE(verbs.windows)>(
        "verbs.windows", "0, or 4 to 256; 0: a right reaches all of what was registered",
        "memory windows of one link, each bound for one right to READ"),
    field<number<0, 7>, SCOLL_PLACE(verbs.rnr_retry)>("verbs.rnr_retry", "0 to 7; 7: for ever",
                                                      "how often a peer without a place is tried again"),
    field<number<1, 31>, SCOLL_PLACE(verbs.timeout)>(
        "verbs.timeout", "1 to 31", "an acknowledgement is awaited for 4.096 us times 2 to this power"),
    field<number<0, 6>, SCOLL_PLACE(verbs.retry_count)>("verbs.retry_count", "0 to 6",
                                                        "how often a message is sent again then"),
    field<number<0, 15>, SCOLL_PLACE(verbs.service_level)>("verbs.service_level", "0 to 15",
                                                           "the service level of what is sent"),
    field<number<0, 255>, SCOLL_PLACE(verbs.traffic_class)>("verbs.traffic_class", "0 to 255",
                                                            "the traffic class of what is sent"),
    field<short_time, SCOLL_PLACE(verbs.connect_limit)>("verbs.connect_limit", "a time up to 3600s",
                                                        "the time for setting up a link"),
    field<short_time, SCOLL_PLACE(verbs.linger_limit)>("verbs.linger_limit", "a time up to 3600s",
                                                       "the time for a closed link's peer to take the rest"),
    field<at_least_one, SCOLL_PLACE(verbs.handshake_limit)>("verbs.handshake_limit", "1 or more",
                                                            "accepted connections that are not links yet"),
    field<short_time, SCOLL_PLACE(verbs.give_back_after)>(
        "verbs.give_back_after", "a time up to 3600s",
        "a link that has sent nothing for this long gives back its places, except 4"),

    field<address, SCOLL_PLACE(node.listen)>("node.listen",
                                             "an address such as 0.0.0.0:7001 or storage-7:7001, or nothing",
                                             "where the node accepts connections; nothing: the program says"),
    field<address, SCOLL_PLACE(node.advertise)>("node.advertise",
                                                "an address such as storage-7:7001, or nothing",
                                                "the address for others to use; nothing: the bound one"),
    field<tree, SCOLL_PLACE(node.default_tree)>("node.default_tree", "such as knomial:4, kary:2, chain, flat",
                                                "the tree of groups that do not choose one"),
    field<optional_tree, SCOLL_PLACE(node.pinned_tree)>(
        "node.pinned_tree", "such as knomial:4, or nothing",
        "used where a tree would be chosen by measuring (docs/trees.md)"),
    field<about_the_dead, SCOLL_PLACE(node.default_dead_members)>(
        "node.default_dead_members", "refuse or try_others",
        "what a broadcast that does not choose does about dead members: fail, or reach the others"),
    field<at_least_one, SCOLL_PLACE(node.max_operations)>("node.max_operations", "1 or more",
                                                          "broadcasts that run at once, rooted here or not"),
    field<at_least_one, SCOLL_PLACE(node.max_pending_admissions)>(
        "node.max_pending_admissions", "1 or more", "requests that wait at once until their group is known"),
    field<amount_of_bytes<0, std::int64_t{1} << 40>, SCOLL_PLACE(node.reply_memory)>(
        "node.reply_memory", "up to 1024GiB", "the size of parts of replies that come ahead of the last one"),
    field<amount_of_bytes<0, std::int64_t{1} << 40>, SCOLL_PLACE(node.repair_memory)>(
        "node.repair_memory", "up to 1024GiB", "replies that are kept for further rounds of broadcasts"),
    field<short_time, SCOLL_PLACE(node.rtt_estimate)>(
        "node.rtt_estimate", "a time up to 3600s", "a safe round-trip time, for the time bounds of levels"),
    field<truth, SCOLL_PLACE(node.measured_rtt)>(
        "node.measured_rtt", "true or false",
        "measured round trips may shorten the estimate; they always lengthen it"),
    field<short_time, SCOLL_PLACE(node.level_margin)>("node.level_margin", "a time up to 3600s",
                                                      "the time that each level keeps back in addition"),
    field<short_time, SCOLL_PLACE(node.group_lease)>(
        "node.group_lease", "a time up to 3600s", "how often a member asks whether its groups still exist"),
    field<tree, SCOLL_PLACE(node.revoke_tree)>("node.revoke_tree", "such as greedy:7,2,0, knomial:4",
                                               "the tree along which a revoke goes first"),
    field<short_time, SCOLL_PLACE(node.revoke_emission)>(
        "node.revoke_emission", "a time up to 3600s",
        "how long a revoke waits for connections to the members that it tells itself"),
    field<amount_of_bytes<1, std::int64_t{1} << 40>, SCOLL_PLACE(node.bulk_least_rate)>(
        "node.bulk_least_rate", "1 to 1024GiB",
        "the bytes per second at which bulk data of broadcasts travel at least, for their time bounds"),
    field<optional_bulk_plan, SCOLL_PLACE(node.bulk_plan)>(
        "node.bulk_plan", "such as chain, kary:2, circulant, or nothing",
        "the plan for bulk data of broadcasts that name none; nothing: chosen by costs"),
    field<number<1U, 1024U>, SCOLL_PLACE(node.workers)>("node.workers", "1 to 1024",
                                                        "threads for hooks that compute for long"),
    field<at_least_one, SCOLL_PLACE(node.worker_queue)>("node.worker_queue", "1 or more",
                                                        "functions that wait for a worker thread"),
    field<socket_path, SCOLL_PLACE(node.control)>(
        "node.control", "a path of at most 93 bytes, or nothing",
        "the socket that answers about a running node; {node} in it stands for its id; nothing: none"),

    field<level, SCOLL_PLACE(log_level)>("log.level", "off, error, warning, info or debug",
                                         "the least important lines that a program logs about its node"),

    field<limit, SCOLL_PLACE(node.ship.default_deadline)>(
        "ship.default_deadline", "a time up to 3600s, 0: none", "the deadline of calls that name none"),
    field<at_least_one, SCOLL_PLACE(node.ship.handlers)>("ship.handlers", "1 or more",
                                                         "handlers that run at once"),
    field<at_least_one, SCOLL_PLACE(node.ship.queue)>("ship.queue", "1 or more",
                                                      "calls to one peer that wait to be sent"),
    field<amount_of_bytes<ship_limits::least_eager_bytes, transport::max_payload_bytes>,
          SCOLL_PLACE(node.ship.eager_bytes)>("ship.eager_bytes", "512 to 32KiB",
                                              "arguments and results up to this size travel in the message"),
    field<amount_of_bytes<0, std::int64_t{1} << 40>, SCOLL_PLACE(node.ship.large_bytes)>(
        "ship.large_bytes", "up to 1024GiB", "the largest argument or result"),
    field<amount_of_bytes<0, std::int64_t{1} << 40>, SCOLL_PLACE(node.ship.large_memory)>(
        "ship.large_memory", "up to 1024GiB",
        "the size of all large arguments and results that handlers hold"),
    field<short_time, SCOLL_PLACE(node.ship.large_hold)>("ship.large_hold", "a time up to 3600s",
                                                         "how long a large result waits for its caller"),

    field<short_time, SCOLL_PLACE(node.link.reconnect_grace)>(
        "link.reconnect_grace", "a time up to 3600s", "a peer that cannot be reached for this long is lost"),
    field<short_time, SCOLL_PLACE(node.link.backoff_first)>(
        "link.backoff_first", "a time up to 3600s, at most link.backoff_limit",
        "the time between the first two connection attempts"),
    field<short_time, SCOLL_PLACE(node.link.backoff_limit)>("link.backoff_limit",
                                                            "a time up to 3600s, at least link.backoff_first",
                                                            "the longest time between later attempts"),
    field<short_time, SCOLL_PLACE(node.link.hello_limit)>("link.hello_limit", "a time up to 3600s",
                                                          "the time for a connection to introduce itself"),
    field<optional_time, SCOLL_PLACE(node.link.silence_limit)>(
        "link.silence_limit", "a time up to 3600s, 0: never",
        "a peer that is awaited and does not answer for this long is lost"),
    field<short_time, SCOLL_PLACE(node.link.unacknowledged_limit)>(
        "link.unacknowledged_limit", "a time up to 3600s",
        "a connection over which a message is not acknowledged for this long is replaced"),
    field<short_time, SCOLL_PLACE(node.link.probe_interval)>(
        "link.probe_interval", "a time up to 3600s",
        "how often a peer that is awaited is probed, while no messages come and go"),
    field<short_time, SCOLL_PLACE(node.link.acknowledge_delay)>(
        "link.acknowledge_delay", "a time up to 3600s",
        "how long an acknowledgement waits for a message to travel with"),
    field<at_least_one, SCOLL_PLACE(node.link.queue_limit)>(
        "link.queue_limit", "1 or more, at least link.transfer_window",
        "requests per peer and class that wait for credit"),
    field<at_least_one, SCOLL_PLACE(node.link.exchange_limit)>("link.exchange_limit", "1 or more",
                                                               "requests per peer that wait for a reply"),
    field<at_least_one, SCOLL_PLACE(node.link.clients)>("link.clients", "1 or more",
                                                        "clients that have a place here at once"),
    field<at_least_one, SCOLL_PLACE(node.link.handshake_limit)>(
        "link.handshake_limit", "1 or more", "accepted connections that have not introduced themselves"),
    field<at_least_one, SCOLL_PLACE(node.link.handshakes_per_host)>(
        "link.handshakes_per_host", "1 or more",
        "of these connections, those that come from one host; without a proof they count until "
        "link.hello_limit is over"),
    field<at_least_one, SCOLL_PLACE(node.link.region_limit)>("link.region_limit", "1 or more",
                                                             "memory regions exposed at once"),
    field<at_least_one, SCOLL_PLACE(node.link.transfer_window)>("link.transfer_window",
                                                                "1 or more, at most link.queue_limit",
                                                                "bulk segments on their way, per peer"),
    field<amount_of_bytes<1, 1 << 20>, SCOLL_PLACE(node.link.transfer_segment_bytes)>(
        "link.transfer_segment_bytes", "1 to 1MiB", "the size of the segments of bulk data"),
    field<at_least_one, SCOLL_PLACE(node.link.transfer_buffers)>("link.transfer_buffers", "1 or more",
                                                                 "buffers of 8 KiB for small segments"),
    field<at_least_one, SCOLL_PLACE(node.link.parked_limit)>(
        "link.parked_limit", "1 or more", "orders of peers for pieces that are not there yet"),

    field<list_of_rails, SCOLL_PLACE(rails)>(
        "rails.use",
        "rails such as a=tcp://10.0.0.2:7001%eth0, b=verbs://10.1.0.2:7001/24%eth1!bulk, or nothing",
        "the networks by which the node reaches its peers; nothing: one, as node.listen says"),
    field<short_time, SCOLL_PLACE(node.link.rails_detect)>(
        "rails.detect", "a time up to 3600s",
        "a path that does not answer for this long, while another one of the peer does, is left"),
    field<short_time, SCOLL_PLACE(node.link.rails_dead)>(
        "rails.dead", "a time up to 3600s", "the connections of a path that was left this long ago are cut"),
    field<short_time, SCOLL_PLACE(node.link.rails_prove)>(
        "rails.prove", "a time up to 3600s",
        "a path that is back must answer for this long before it is used"),

    field<mode_of_security, SCOLL_PLACE(node.security.mode)>(
        "security.mode", "none, psk or tls",
        "how connections prove who is at their ends (docs/security.md): not at all, by a key, by "
        "certificates"),
    field<file_path, SCOLL_PLACE(node.security.keys)>("security.keys", "the path of a file, or nothing",
                                                      "the ring of keys of the cluster, for psk and tls"),
    field<file_path, SCOLL_PLACE(node.security.ca)>(
        "security.ca", "the path of a PEM file, or nothing",
        "the authorities whose certificates are believed, for tls"),
    field<file_path, SCOLL_PLACE(node.security.certificate)>(
        "security.certificate", "the path of a PEM file, or nothing", "the certificate of the node, for tls"),
    field<file_path, SCOLL_PLACE(node.security.key)>("security.key", "the path of a PEM file, or nothing",
                                                     "the private key of the certificate, for tls"),
    field<trust_of_fabric, SCOLL_PLACE(node.security.fabric)>(
        "security.fabric", "refused or trusted",
        "transports that cannot encrypt, such as verbs, beside psk or tls: trusted uses them in the clear"),
    field<list_of_rights, SCOLL_PLACE(node.allow)>(
        "security.allow", "a list such as client=stat_file, client/backup=*, or nothing",
        "the functions and services that callers may use, by class; nothing: all"),
};

#undef SCOLL_PLACE

}  // namespace

std::span<const setting_field> setting_fields() noexcept {
  return fields;
}

}  // namespace scoll::detail
