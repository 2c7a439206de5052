#pragma once

#include <openssl/crypto.h>

#include <string>
#include <utility>

#include "scoll/coro/result.hpp"

namespace scoll::transport {

/// A text that is wiped from memory at its end.
struct wiped_text {
  wiped_text() = default;
  wiped_text(wiped_text&& other) noexcept : text(std::move(other.text)) {}
  wiped_text& operator=(wiped_text&&) = delete;
  ~wiped_text() { OPENSSL_cleanse(text.data(), text.size()); }

  std::string text;
};

/// Reads a file with a secret, which must belong to this user or to root and be closed to all others. `what`
/// names it for people, such as "key". Errors: `invalid_argument`, `io_error`.
result<wiped_text> read_secret_file(const std::string& path, const char* what);

}  // namespace scoll::transport
