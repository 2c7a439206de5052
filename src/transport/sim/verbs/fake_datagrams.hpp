#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/sim/small_queue.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::testing {

class fake_context;
class fake_datagram_pair;
class fake_fabric;
struct fake_completion_queue;
struct fake_receive_queue;

struct fake_address_handle final : transport::verbs::address_handle {
  std::uint32_t host = 0;
  std::uint32_t sends = 0;  // under way
  bool destroyed = false;   // too early: it is kept for what is under way
};

/// The datagrams on their way between the queue pairs of all fake devices. They are lost, repeated, held back
/// and late as the paths of the network say.
class fake_datagrams {
 public:
  explicit fake_datagrams(fake_fabric& fabric) noexcept : fabric_(fabric) {}
  ~fake_datagrams();
  fake_datagrams(const fake_datagrams&) = delete;
  fake_datagrams& operator=(const fake_datagrams&) = delete;

  void add(fake_datagram_pair& pair);
  void remove(std::uint32_t number) { pairs_.erase(number); }
  const std::map<std::uint32_t, fake_datagram_pair*>& pairs() const noexcept { return pairs_; }
  void send(const fake_datagram_pair& from, const transport::verbs::datagram_request& what,
            std::span<const std::byte> bytes);

 private:
  class packet final : public list_hook<> {
   public:
    explicit packet(fake_datagrams& owner) noexcept : owner_(owner) {}
    ~packet() = default;

    std::uint32_t from_host = 0;
    std::uint32_t from_pair = 0;
    std::uint32_t to_host = 0;
    std::uint32_t to_pair = 0;
    std::uint32_t queue_key = 0;
    std::vector<std::byte> bytes;
    void arrive() noexcept { owner_.arrive(*this); }
    member_timer<&packet::arrive> timer{*this};  // in the world's time

   private:
    fake_datagrams& owner_;
  };

  packet& take();
  void arrive(packet& p) noexcept;

  fake_fabric& fabric_;
  std::map<std::uint32_t, fake_datagram_pair*> pairs_;
  std::deque<packet> packets_;
  intrusive_list<packet> idle_;
};

/// One queue pair of datagrams.
class fake_datagram_pair final : public transport::verbs::queue_pair_object {
 public:
  fake_datagram_pair(fake_context& device, const transport::verbs::datagram_pair_request& what);
  ~fake_datagram_pair();
  fake_datagram_pair(const fake_datagram_pair&) = delete;
  fake_datagram_pair& operator=(const fake_datagram_pair&) = delete;

  std::size_t post(std::span<const transport::verbs::datagram_request> sends) noexcept;
  /// Takes a datagram from a host, or drops it: the sender never learns which.
  void receive(std::uint32_t from_host, std::uint32_t from_pair, std::uint32_t key,
               std::span<const std::byte> bytes) noexcept;
  /// The device has failed.
  void fail_all() noexcept;
  fake_context& device() const noexcept { return device_; }
  std::size_t under_way() const noexcept { return sends_.size(); }

 private:
  static constexpr std::uint32_t most_inline = 512;
  struct posted {
    transport::verbs::datagram_request request;
    std::array<std::byte, most_inline> inlined;
    nanoseconds departs{0};
  };

  bool accept(const transport::verbs::datagram_request& r) noexcept;
  void work() noexcept;
  bool depart(const posted& next) noexcept;
  void complete(const posted& done, transport::verbs::completion::result outcome) noexcept;

  fake_context& device_;
  fake_completion_queue& completions_;
  fake_receive_queue& receives_;
  std::size_t most_sends_;
  std::uint32_t queue_key_;
  bool failed_ = false;
  nanoseconds last_departure_{0};
  small_queue<posted> sends_;
  member_timer<&fake_datagram_pair::work> timer_{*this};  // in the world's time
};

}  // namespace scoll::testing
