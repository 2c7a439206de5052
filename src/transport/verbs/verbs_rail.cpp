#include "transport/verbs/verbs_rail.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/gate.hpp"
#include "transport/io/address.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/handshake.hpp"

namespace scoll::transport {
namespace {

/// The host of an address such as "10.0.0.1:7001" or "[fd00::1]:7001"; empty if it stands for all hosts or is
/// a name.
std::string host_of(std::string_view address) {
  std::string host(address.substr(0, address.rfind(':')));
  const auto read = verbs::parse_gid(host);
  constexpr verbs::gid any{};
  if (!read || *read == any || host == "0.0.0.0") return {};
  return host;
}

}  // namespace

class verbs_rail::core final : private accept_events, private verbs::handshake_events {
 public:
  core(executor& home, verbs_api& devices, rail& under, const verbs_options& options)
      : under_(under),
        buffers_{{verbs::verbs_link::most_batch_bytes, options.send_buffers},
                 {max_frame_bytes, options.frame_buffers}},
        device_(home, devices, options, open_) {}
  ~core() = default;

  status listen(const std::string& address, accept_events& events) noexcept {
    const auto listening = under_.listen(place(address), *this);
    if (!listening) return listening;
    device_.set_host(host_of(under_.listen_address()));
    acceptor_ = &events;
    return {};
  }
  void stop_listening() noexcept {
    under_.stop_listening();
    acceptor_ = nullptr;
    end_accepting();
  }
  bool listening() const noexcept { return acceptor_ != nullptr; }
  void connect(const std::string& address, connect_events& waiter) noexcept {
    auto* const begun = new verbs::handshake(device_, under_, buffers_, *this);
    handshakes_.push_back(*begun);
    begun->connect(place(address), waiter);
  }
  void cancel_connect(connect_events& waiter) noexcept {
    for (auto* h = handshakes_.first(); h != nullptr; h = handshakes_.next(*h)) {
      if (h->of(waiter)) return h->abandon();
    }
  }

  /// An address with or without the transport's name.
  static std::string place(std::string_view address) {
    const named_address named = split_name(address);
    return std::string(named.transport == "verbs" ? named.place : address);
  }

  rail& under() const noexcept { return under_; }
  gate& links() noexcept { return open_; }
  memory_registrar* registrar() noexcept {
    const verbs_options& o = device_.options();
    return o.read_depth * o.read_slabs * o.read_slab_bytes == 0 ? nullptr : &device_.memory();
  }
  const verbs_statistics& statistics() const noexcept { return statistics_; }

 private:
  void on_accepted(link& below) noexcept override {
    auto* const begun = new verbs::handshake(device_, under_, buffers_, *this);
    handshakes_.push_back(*begun);
    begun->accept(below);
    if (++accepting_ <= device_.options().handshake_limit) return;
    begun->refuse(make_error(errc::busy, "{} verbs links are being set up: verbs.handshake_limit is {}",
                             accepting_, device_.options().handshake_limit));
  }

  void on_interface_hint(bool usable) noexcept override {
    if (acceptor_ != nullptr) acceptor_->on_interface_hint(usable);
  }

  void end_accepting() noexcept {
    for (auto* h = handshakes_.first(); h != nullptr;) {
      auto* const next = handshakes_.next(*h);
      if (h->accepts()) {
        --accepting_;
        h->abandon();
      }
      h = next;
    }
  }

  void on_linked(verbs::verbs_link& made, connect_events* waiter) noexcept override {
    ++statistics_.links;
    if (made.remote() == nullptr) ++statistics_.links_without_reads;
    if (waiter != nullptr) return waiter->on_connected(made);
    --accepting_;
    acceptor_->on_accepted(made);
  }

  void on_handshake_failed(const error& reason, connect_events* waiter) noexcept override {
    ++statistics_.handshakes_failed;
    if (waiter != nullptr) return waiter->on_connect_failed(reason);
    --accepting_;
  }

  gate open_;
  rail& under_;
  accept_events* acceptor_ = nullptr;
  std::size_t accepting_ = 0;
  verbs_statistics statistics_;
  verbs::link_buffers buffers_;
  verbs::device device_;
  intrusive_list<verbs::handshake, verbs::handshake> handshakes_;
};

verbs_rail::verbs_rail(executor& home, verbs_api& devices, rail& under, verbs_options options)
    : core_(std::make_unique<core>(home, devices, under, options)) {}

verbs_rail::~verbs_rail() {
  SCOLL_ASSERT(
      core_->links().empty() && !core_->listening(),
      "a rail died before its links: await node.shutdown(...), then destroy the node, then the rail");
}

status verbs_rail::listen(const std::string& address, accept_events& events) noexcept {
  if (core_->listening()) return error(errc::already_exists, "this rail is already listening");
  return core_->listen(address, events);
}

std::string verbs_rail::listen_address() const {
  return core_->under().listen_address();
}

void verbs_rail::stop_listening() noexcept {
  core_->stop_listening();
}

status verbs_rail::check_address(std::string_view address) const {
  return core_->under().check_address(core::place(address));
}

void verbs_rail::connect(const std::string& address, connect_events& waiter) noexcept {
  core_->connect(address, waiter);
}

void verbs_rail::cancel_connect(connect_events& waiter) noexcept {
  core_->cancel_connect(waiter);
}

memory_registrar* verbs_rail::registrar(std::size_t number) noexcept {
  return number == 0 ? core_->registrar() : nullptr;
}

std::size_t verbs_rail::open() const noexcept {
  return core_->links().inside() + core_->under().open();
}

task<void> verbs_rail::all_closed() {
  co_await core_->links().emptied();
  co_await core_->under().all_closed();
}

verbs_statistics verbs_rail::statistics() const noexcept {
  return core_->statistics();
}

}  // namespace scoll::transport
