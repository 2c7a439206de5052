#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "transport/security/openssl.hpp"

namespace scoll::transport {

/// Where a guard's TLS finds the bytes of its peer, and leaves its own: memory, without a copy in between.
/// During the handshake it collects what leaves; later a batch at a time is written to where it is wanted.
class record_stream {
 public:
  record_stream() noexcept = default;
  record_stream(const record_stream&) = delete;
  record_stream& operator=(const record_stream&) = delete;
  ~record_stream() = default;

  /// Makes the BIO of this object, which must outlive it. Null if there is no memory.
  BIO* make_bio() noexcept;

  void set_input(std::span<const std::byte> bytes) noexcept { input_ = bytes; }
  bool input_empty() const noexcept { return input_.empty(); }

  /// What has been written during the handshake since `forget_collected`.
  std::span<const std::byte> collected() const noexcept { return collected_; }
  void forget_collected() noexcept { collected_.clear(); }

  /// OpenSSL writes into this memory until `end_output`, which returns the number of bytes. If the memory is too
  /// small, the rest is dropped and `end_output` returns 0.
  void set_output(std::span<std::byte> into) noexcept;
  std::size_t end_output() noexcept;
  /// The handshake is over: what is written without an output is dropped.
  void end_handshake() noexcept { handshaking_ = false; }

 private:
  static int write(BIO* bio, const char* from, std::size_t size, std::size_t* written) noexcept;
  static int read(BIO* bio, char* into, std::size_t size, std::size_t* got) noexcept;
  static long control(BIO* bio, int command, long number, void* pointer) noexcept;
  static const BIO_METHOD* method() noexcept;
  bool take(std::span<const std::byte> bytes) noexcept;

  std::span<const std::byte> input_;
  std::vector<std::byte> collected_;
  std::span<std::byte> output_;
  std::size_t written_ = 0;
  bool outputting_ = false;
  bool overflowed_ = false;
  bool handshaking_ = true;
};

}  // namespace scoll::transport
