#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/transport/security/authority.hpp"
#include "transport/security/tls_material.hpp"
#include "transport/security/tls_suite.hpp"
#include "transport/session/link_guard.hpp"

using namespace security;

namespace {

using bytes = std::vector<std::byte>;

/// What one connection of a stock TLS has, and what it was given.
struct stock_state {
  std::vector<ssl_session_ptr> resumable;  ///< sessions that the other side would resume
  ssl_session_ptr offered;                 ///< stands for `key`
  const tls_psk* key = nullptr;
};

stock_state& state_of(SSL* ssl) {
  return *static_cast<stock_state*>(SSL_get_app_data(ssl));
}

int keep_session(SSL* ssl, SSL_SESSION* session) {
  state_of(ssl).resumable.emplace_back(session);
  return 1;
}

int offer_key(SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* size, SSL_SESSION** session) {
  const stock_state& state = state_of(ssl);
  SSL_SESSION_up_ref(state.offered.get());
  *session = state.offered.get();
  *id = state.key->name.data();
  *size = state.key->name.size();
  return 1;
}

/// TLS 1.3 as OpenSSL does it by itself, by which it resumes sessions and sends early data where it can.
struct stock_context {
  stock_context() : context(SSL_CTX_new(TLS_method())) {
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    SSL_CTX_clear_options(context.get(), SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
    SSL_CTX_set_max_early_data(context.get(), most_early_data);
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_BOTH);
    SSL_CTX_sess_set_new_cb(context.get(), &keep_session);
  }
  explicit stock_context(const security_options& files) : stock_context() {
    REQUIRE(SSL_CTX_load_verify_file(context.get(), files.ca.c_str()) == 1);
    REQUIRE(SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) == 1);
  }

  static constexpr std::uint32_t most_early_data = 1024;
  ssl_context_ptr context;
};

/// One connection of such a TLS, over memory.
class stock_end {
 public:
  explicit stock_end(const stock_context& of) : ssl_(SSL_new(of.context.get())) {
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_app_data(ssl_.get(), &state);
    SSL_set_quiet_shutdown(ssl_.get(), 1);
  }

  /// Ends the connection properly, because a session of another one is not resumed.
  ~stock_end() { SSL_shutdown(ssl_.get()); }
  stock_end(const stock_end&) = delete;
  stock_end& operator=(const stock_end&) = delete;

  SSL* ssl() const { return ssl_.get(); }
  bool greet() const { return SSL_do_handshake(ssl_.get()) == 1; }
  void take(std::span<const std::byte> from) const {
    BIO_write(SSL_get_rbio(ssl_.get()), from.data(), static_cast<int>(from.size()));
  }
  bytes said() const {
    BIO* const bio = SSL_get_wbio(ssl_.get());
    bytes all(BIO_ctrl_pending(bio));
    if (!all.empty()) REQUIRE(BIO_read(bio, all.data(), static_cast<int>(all.size())) > 0);
    return all;
  }
  /// Reads what has arrived; nothing if it is no data.
  bytes read() const {
    bytes all(1024);
    std::size_t got = 0;
    if (SSL_read_ex(ssl_.get(), all.data(), all.size(), &got) != 1) got = 0;
    all.resize(got);
    return all;
  }

  /// The key as a session that OpenSSL resumes, and with which it sends early data.
  void offer(const tls_psk& key) {
    state.key = &key;
    state.offered.reset(SSL_SESSION_new());
    SSL_SESSION* const s = state.offered.get();
    REQUIRE(SSL_SESSION_set1_master_key(s, key.secret.data(), key.secret.size()) == 1);
    REQUIRE(SSL_SESSION_set_cipher(s, SSL_CIPHER_find(ssl_.get(), the_suite.number.data())) == 1);
    REQUIRE(SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION) == 1);
    REQUIRE(SSL_SESSION_set_max_early_data(s, stock_context::most_early_data) == 1);
    SSL_set_psk_use_session_callback(ssl_.get(), &offer_key);
  }

  stock_state state;

 private:
  ssl_ptr ssl_;
};

/// Greets a guard that accepts; true if it holds the connection for proven.
bool greet(stock_end& from, link_guard& to) {
  bool done = from.greet();
  for (int turn = 0; turn < 4 && !(done && to.proven()); ++turn) {
    const bytes step = from.said();
    if (step.empty() || !to.take_step(step)) return false;
    from.take(to.unsent());
    to.forget_unsent();
    done = from.greet();
  }
  return done && to.proven();
}

/// A server with the certificate of these files that resumes what it can.
stock_context resuming_server(const node_files& files) {
  stock_context made(files.tls());
  SSL_CTX_set_session_id_context(made.context.get(), psk_context.data(), psk_context.size());
  return made;
}

/// Greets such a server, and takes its tickets.
void greet(stock_end& from, const stock_context& server) {
  stock_end to(server);
  SSL_set_accept_state(to.ssl());
  for (int turn = 0; turn < 3; ++turn) {
    static_cast<void>(from.greet());
    to.take(from.said());
    static_cast<void>(to.greet());
    from.take(to.said());
  }
  CHECK(from.read().empty());  // by which OpenSSL takes the tickets
}

/// A session that the server would resume.
ssl_session_ptr session_by(const stock_context& server, const stock_context& client) {
  stock_end from(client);
  SSL_set_connect_state(from.ssl());
  greet(from, server);
  REQUIRE(!from.state.resumable.empty());
  return std::move(from.state.resumable.back());
}

std::unique_ptr<link_guard> accepting_guard(const security_options& o) {
  hello said;
  REQUIRE(made(o)->connect(said).has_value());
  auto guard = made(o)->accept(said);
  REQUIRE(guard.has_value());
  return std::move(*guard);
}

bytes plain_text() {
  bytes all(100);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
  return all;
}

/// What a peer seals is what the guard opens next.
void expect_next(stock_end& from, link_guard& to) {
  const bytes plain = plain_text();
  std::size_t written = 0;
  REQUIRE(SSL_write_ex(from.ssl(), plain.data(), plain.size(), &written) == 1);
  const bytes sealed = from.said();
  to.feed(sealed);
  bytes opened(link_guard::most_record_bytes);
  const auto n = to.open(opened);
  REQUIRE(n.has_value());
  opened.resize(*n);
  CHECK(opened == plain);
}

}  // namespace

TEST_CASE("a guard gives its peer nothing to resume a connection with", "[security]") {
  const authority ours;
  const node_files a(ours, node_name(1), ours.pem()), b(ours, node_name(2), ours.pem());
  const stock_context client(a.tls());
  const auto to = accepting_guard(b.tls());
  stock_end from(client);
  SSL_set_connect_state(from.ssl());
  REQUIRE(greet(from, *to));
  bytes first(plain_text().size() + link_guard::overhead);
  first.resize(to->seal(plain_text(), first));
  REQUIRE(first.size() > frame_header_bytes);
  from.take(std::span(first).subspan(frame_header_bytes));  // behind the announcement
  CHECK(from.read() == plain_text());
  CHECK(from.state.resumable.empty());
  CHECK(SSL_SESSION_is_resumable(SSL_get_session(from.ssl())) == 0);
  expect_next(from, *to);

  // The same client gets tickets from who gives them.
  CHECK(SSL_SESSION_is_resumable(session_by(resuming_server(b), client).get()) == 1);
}

TEST_CASE("a guard resumes no session, and its peer proves itself anew", "[security]") {
  const authority ours;
  const node_files a(ours, node_name(1), ours.pem()), b(ours, node_name(2), ours.pem());
  const stock_context client(a.tls());
  const stock_context server = resuming_server(b);
  const ssl_session_ptr earlier = session_by(server, client);
  {
    stock_end again(client);
    SSL_set_connect_state(again.ssl());
    REQUIRE(SSL_set_session(again.ssl(), earlier.get()) == 1);
    greet(again, server);
    REQUIRE(SSL_session_reused(again.ssl()) == 1);
  }

  const auto to = accepting_guard(b.tls());
  stock_end from(client);
  SSL_set_connect_state(from.ssl());
  REQUIRE(SSL_set_session(from.ssl(), earlier.get()) == 1);
  REQUIRE(greet(from, *to));
  CHECK(SSL_session_reused(from.ssl()) == 0);
  CHECK(to->speaks_for("test", 1).has_value());
  expect_next(from, *to);

  // Whoever has the session and no certificate is not let in by it.
  const stock_context bare;
  const auto strict = accepting_guard(b.tls());
  stock_end thief(bare);
  SSL_set_connect_state(thief.ssl());
  const ssl_session_ptr stolen(SSL_SESSION_dup(earlier.get()));
  REQUIRE(SSL_set_session(thief.ssl(), stolen.get()) == 1);
  CHECK_FALSE(greet(thief, *strict));
  CHECK_FALSE(strict->proven());
}

TEST_CASE("early data are refused, and nothing of them is read", "[security]") {
  const node_files ring;
  const auto material = tls_material::read(ring.psk(), "test");
  REQUIRE(material.has_value());
  const stock_context client;
  stock_end from(client);
  SSL_set_connect_state(from.ssl());
  from.offer((*material)->offered());

  const bytes early(64, std::byte{0x5e});
  std::size_t written = 0;
  REQUIRE(SSL_write_early_data(from.ssl(), early.data(), early.size(), &written) == 1);
  REQUIRE(written == early.size());
  const auto to = accepting_guard(ring.psk());
  REQUIRE(greet(from, *to));
  CHECK(SSL_get_early_data_status(from.ssl()) == SSL_EARLY_DATA_REJECTED);
  expect_next(from, *to);  // not the early data
}
