#include "gossip/aead_seal.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "transport/security/file_watch.hpp"
#include "transport/wire/byte_order.hpp"

namespace scoll::gossip {
namespace {

using transport::cluster_key;
using transport::key_ring;
using wire::detail::load_little;
using wire::detail::store_little;

constexpr std::string_view purpose = "scoll gossip seal 2";

unsigned char* raw(std::byte* bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

/// The cipher state of one direction, used again for every message.
class aead_seal::cipher {
 public:
  cipher() : cipher_(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr)), context_(EVP_CIPHER_CTX_new()) {
    SCOLL_ASSERT(cipher_ != nullptr && context_ != nullptr,
                 "the cryptographic library offers no AES-256-GCM");
  }
  ~cipher() {
    EVP_CIPHER_CTX_free(context_);
    EVP_CIPHER_free(cipher_);
  }
  cipher(const cipher&) = delete;
  cipher& operator=(const cipher&) = delete;

  bool seal(const life_key& key, const seal_context& context, std::span<const std::byte> head,
            std::span<const std::byte> key_id, std::span<std::byte> body, std::byte* tag) noexcept {
    return begin(key, context.sequence, true) && authenticate(context, head, key_id) && transform(body) &&
           EVP_CipherFinal_ex(context_, nothing_, &written_) == 1 &&
           EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_bytes), tag) == 1;
  }
  bool open(const life_key& key, const seal_context& context, std::span<const std::byte> head,
            std::span<const std::byte> key_id, std::span<std::byte> body, std::byte* tag) noexcept {
    return begin(key, context.sequence, false) && authenticate(context, head, key_id) && transform(body) &&
           EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag_bytes), tag) == 1 &&
           EVP_CipherFinal_ex(context_, nothing_, &written_) == 1;
  }

 private:
  bool begin(const life_key& key, std::uint64_t sequence, bool sealing) noexcept {
    std::array<std::byte, 12> nonce{};
    store_little(nonce.data(), sequence);
    return EVP_CipherInit_ex2(context_, cipher_, key.secret.data(), raw(nonce.data()), sealing ? 1 : 0,
                              nullptr) == 1;
  }
  /// Sender, incarnation and sequence are in key and nonce already.
  bool authenticate(const seal_context& context, std::span<const std::byte> head,
                    std::span<const std::byte> key_id) noexcept {
    std::array<std::byte, 24> numbers;
    store_little(numbers.data(), context.cycle);
    store_little(numbers.data() + 8, context.receiver.life);
    store_little(numbers.data() + 16, context.receiver.id);
    return authenticate(head) && authenticate(key_id) && authenticate(numbers);
  }
  bool authenticate(std::span<const std::byte> bytes) noexcept {
    return bytes.empty() || EVP_CipherUpdate(context_, nullptr, &written_, raw(bytes.data()),
                                             static_cast<int>(bytes.size())) == 1;
  }
  bool transform(std::span<std::byte> bytes) noexcept {
    return bytes.empty() || EVP_CipherUpdate(context_, raw(bytes.data()), &written_, raw(bytes.data()),
                                             static_cast<int>(bytes.size())) == 1;
  }

  EVP_CIPHER* cipher_;
  EVP_CIPHER_CTX* context_;
  unsigned char nothing_[16]{};
  int written_ = 0;
};

aead_seal::aead_seal(key_ring keys, std::uint32_t participants)
    : keys_(std::move(keys)), heard_(participants), cipher_(std::make_unique<cipher>()) {
  SCOLL_ASSERT(!keys_.empty(), "a seal needs a key");
}

aead_seal::~aead_seal() {
  OPENSSL_cleanse(&own_, sizeof own_);
  OPENSSL_cleanse(heard_.data(), heard_.size() * sizeof(life_key));
}

void aead_seal::set_keys(key_ring keys) noexcept {
  SCOLL_ASSERT(!keys.empty(), "a seal needs a key");
  keys_ = std::move(keys);
  own_.known = false;
}

void aead_seal::follow(std::string file, std::chrono::steady_clock::duration interval) {
  file_ = std::move(file);
  watch_ = std::make_unique<transport::file_watch>(std::vector{file_}, interval);
  if (auto ring = key_ring::read(file_)) set_keys(std::move(*ring));  // it may have changed before the watch
}

void aead_seal::refresh() noexcept {
  if (watch_ == nullptr || !watch_->due()) return;
  try {
    if (!watch_->changed()) return;
    if (auto ring = key_ring::read(file_)) set_keys(std::move(*ring));
  } catch (const std::bad_alloc&) {
    return;
  }
}

bool aead_seal::derive(const cluster_key& from, const seal_context& context, life_key& into) noexcept {
  std::array<std::byte, purpose.size() + sizeof context.sender_id + sizeof context.incarnation> input;
  wire::detail::copy_bytes(input.data(), purpose.data(), purpose.size());
  store_little(input.data() + purpose.size(), context.sender_id);
  store_little(input.data() + purpose.size() + sizeof context.sender_id, context.incarnation);
  unsigned int size = 0;
  into.sender = context.sender_id;
  into.incarnation = context.incarnation;
  into.key = from.id;
  into.known = HMAC(EVP_sha256(), from.secret.data(), static_cast<int>(from.secret.size()), raw(input.data()),
                    input.size(), into.secret.data(), &size) != nullptr;
  return into.known;
}

bool aead_seal::seal(const seal_context& context, std::span<const std::byte> head,
                     std::span<std::byte> body) noexcept {
  refresh();
  if (!own_.is_of(context)) {
    if (!derive(keys_.sealing(), context, own_)) return false;
  }
  std::byte* const key_id = body.data() + body.size();
  store_little(key_id, own_.key);
  return cipher_->seal(own_, context, head, {key_id, key_id_bytes}, body, key_id + key_id_bytes);
}

bool aead_seal::open(const seal_context& context, std::span<const std::byte> head,
                     std::span<std::byte> sealed) noexcept {
  if (sealed.size() < overhead()) return false;
  refresh();
  const auto body = sealed.first(sealed.size() - overhead());
  std::byte* const key_id = sealed.data() + body.size();
  const cluster_key* const key = keys_.find(load_little<std::uint32_t>(key_id));
  if (key == nullptr) {
    ++unknown_key_;
    return false;
  }
  std::byte* const tag = key_id + key_id_bytes;
  // A sender with another list may give itself any index.
  life_key& known = heard_[context.sender % heard_.size()];
  if (known.is_of(context) && known.key == key->id)
    return cipher_->open(known, context, head, {key_id, key_id_bytes}, body, tag);
  life_key fresh;
  const bool authentic =
      derive(*key, context, fresh) && cipher_->open(fresh, context, head, {key_id, key_id_bytes}, body, tag);
  if (authentic) known = fresh;  // a forgery may cost a derivation, but never the known key of the sender
  OPENSSL_cleanse(&fresh, sizeof fresh);
  return authentic;
}

}  // namespace scoll::gossip
