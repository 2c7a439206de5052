#include "transport/security/record_stream.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace scoll::transport {
namespace {

// A peer cannot make a guard say more than its limits allow, so this only bounds a mistake of ours.
constexpr std::size_t collected_limit = 65536;

}  // namespace

const BIO_METHOD* record_stream::method() noexcept {
  static BIO_METHOD* const made = [] {
    BIO_METHOD* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "record stream");
    if (m == nullptr) return m;
    BIO_meth_set_write_ex(m, &write);
    BIO_meth_set_read_ex(m, &read);
    BIO_meth_set_ctrl(m, &control);
    return m;
  }();
  return made;
}

BIO* record_stream::make_bio() noexcept {
  if (method() == nullptr) return nullptr;
  BIO* const made = BIO_new(method());
  if (made == nullptr) return nullptr;
  BIO_set_data(made, this);
  BIO_set_init(made, 1);
  return made;
}

void record_stream::set_output(std::span<std::byte> into) noexcept {
  output_ = into;
  written_ = 0;
  outputting_ = true;
  overflowed_ = false;
}

std::size_t record_stream::end_output() noexcept {
  outputting_ = false;
  output_ = {};
  return overflowed_ ? 0 : written_;
}

bool record_stream::take(std::span<const std::byte> bytes) noexcept {
  if (outputting_) {
    if (bytes.size() > output_.size() - written_) {
      overflowed_ = true;
      return false;
    }
    std::memcpy(output_.data() + written_, bytes.data(), bytes.size());
    written_ += bytes.size();
    return true;
  }
  if (!handshaking_) return true;
  if (collected_.size() + bytes.size() > collected_limit) return false;
  try {
    collected_.insert(collected_.end(), bytes.begin(), bytes.end());
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

int record_stream::write(BIO* bio, const char* from, std::size_t size, std::size_t* written) noexcept {
  auto& self = *static_cast<record_stream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (!self.take({reinterpret_cast<const std::byte*>(from), size})) return 0;
  *written = size;
  return 1;
}

int record_stream::read(BIO* bio, char* into, std::size_t size, std::size_t* got) noexcept {
  auto& self = *static_cast<record_stream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const std::size_t n = std::min(size, self.input_.size());
  *got = n;
  if (n == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(into, self.input_.data(), n);
  self.input_ = self.input_.subspan(n);
  return 1;
}

long record_stream::control(BIO*, int command, long, void*) noexcept {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace scoll::transport
