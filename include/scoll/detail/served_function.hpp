#pragma once

#include <concepts>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/detail/server_call.hpp"
#include "scoll/detail/service_table.hpp"
#include "scoll/latency_histogram.hpp"

namespace scoll::detail {

/// A registered function, and the gate that its calls are inside of.
struct served_function {
  function_key key;
  bool borrows = false;  ///< the argument points into the message
  gate users;
  std::uint64_t failures = 0;   ///< calls whose handler, or the answer it gave, has failed
  latency_histogram latency{};  ///< of the handlers that have returned, from their start

  explicit served_function(const function_key& k) noexcept : key(k) {}
  virtual ~served_function() = default;
  served_function(const served_function&) = delete;
  served_function& operator=(const served_function&) = delete;

  /// Makes a call without its argument. Throws `std::bad_alloc`.
  virtual server_call& make(shipper& by) = 0;
};

template <class F, class In, class Out>
concept good_handler = requires(F& f, const In& in, call_context& call) {
  requires any_of_types<decltype(f(in, call)), task<result<Out>>, result<Out>, Out>;
} || (std::same_as<Out, nothing> && requires(F& f, const In& in, call_context& call) {
                         requires any_of_types<decltype(f(in, call)), task<status>, status, void>;
                       });

/// A call of a function, with its argument and its handler's result.
template <class In, class Out, class F>
class typed_server_call final : public server_call {
 public:
  static typed_server_call& make(shipper& by, served_function& of, F& handler) {
    void* const at = frame_pool::allocate(sizeof(typed_server_call));
    return *new (at) typed_server_call(by, of, handler);
  }

  status decode(std::span<const std::byte> bytes) noexcept override {
    try {
      wire::reader in(bytes);
      wire::decode(in, argument_);
      if (in.ok()) in.finish();
      if (in.ok()) return {};
      return in.error();
    } catch (const std::bad_alloc&) {
      return error(errc::busy, "no memory to decode into");
    }
  }

  void destroy() noexcept override {
    this->~typed_server_call();
    frame_pool::deallocate(this, sizeof(typed_server_call));
  }

 private:
  typed_server_call(shipper& by, served_function& of, F& handler) : server_call(by, of), handler_(handler) {}
  ~typed_server_call() override = default;

  hook_call call_handler(call_context& call) noexcept override {
    return hook_call::of<keep_value<Out, in_optional<Out>>>("the handler threw", &result_,
                                                            [&] { return handler_(argument_, call); });
  }

  result<std::size_t> encode(std::span<std::byte> into) noexcept override {
    return wire::encode_to(into, *result_);
  }
  std::size_t result_size() const noexcept override { return wire::encoded_size(*result_); }

  F& handler_;
  In argument_{};
  std::optional<Out> result_;
};

template <class In, class Out, class F>
struct typed_function final : served_function {
  typed_function(const function_key& k, F f) : served_function(k), handler(std::move(f)) {
    borrows = detail::borrows<In>();
  }
  server_call& make(shipper& by) override { return typed_server_call<In, Out, F>::make(by, *this, handler); }

  F handler;
};

}  // namespace scoll::detail
