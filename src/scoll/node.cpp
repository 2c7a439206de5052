#include "scoll/node.hpp"

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/detail/remote_bcast.hpp"
#include "scoll/ship/ship.hpp"
#include "scoll/ship/shipper.hpp"
#include "scoll/shutdown.hpp"
#include "transport/session/session.hpp"

namespace scoll {

task<void> service_handle::close() {
  return engine_->close_service(entry_);
}

task<status> service_handle::close(nanoseconds limit) {
  return engine_->close_service(entry_, limit);
}

task<void> function_handle::close() {
  return shipper_->close_function(entry_);
}

node::node(executor& ex, transport::rail& rail, const node_options& options)
    : node(ex, rail, options, nullptr) {}

node::node(executor& ex, transport::rail& rail, const node_options& options,
           std::shared_ptr<node_pools> pools)
    : node(std::make_unique<detail::engine>(ex, rail, options, std::move(pools))) {}

node::node(executor& ex, const transport::rail_set& rails, const node_options& options)
    : node(ex, rails, options, nullptr) {}

node::node(executor& ex, const transport::rail_set& rails, const node_options& options,
           std::shared_ptr<node_pools> pools)
    : node(std::make_unique<detail::engine>(ex, rails, options, std::move(pools))) {}

node::node(std::unique_ptr<detail::engine> engine)
    : engine_(std::move(engine)), shipper_(std::make_unique<detail::shipper>(*engine_)) {
  const node_options& options = engine_->options();
  if (options.role == node_role::server && options.serve_broadcasts)
    shipper_->add_function(detail::make_remote_bcast(*engine_, *shipper_)).value();
}

node::~node() {
  if (engine_ != nullptr) detail::bury(std::move(engine_), std::move(shipper_));
}

node::node(node&&) noexcept = default;

status node::listen(const std::string& address) {
  get_executor().expect_own_thread();
  const std::string& advertised = engine_->options().advertise;
  if (!advertised.empty()) {
    if (const auto s = wire().check_address(advertised); !s)
      return make_error(s.error().code(), "advertise: {}", s.error().text());
  }
  return wire().listen(address);
}

status node::listen() {
  const std::string& address = engine_->options().listen;  // the rails of a set know where they listen
  const bool set = !wire().name_of_rail(0).empty() && !wire().has_named_rails();
  if (!address.empty() || set) return listen(address);
  return error(errc::invalid_argument, "node_options::listen is empty: say where to listen");
}

std::string node::listen_address() const {
  return engine_->wire().listen_address();
}

std::string node::advertised_address() const {
  const std::string& chosen = engine_->options().advertise;
  return chosen.empty() ? listen_address() : chosen;
}

task<result<node_id>> find_server(node& from, std::string address, stop_token stop) {
  from.get_executor().expect_own_thread();
  return from.wire().find_node(std::move(address), stop);
}

status node::add_peer(node_id peer, const std::string& address) {
  get_executor().expect_own_thread();
  return wire().add_peer(peer, address);
}

status node::add_peer(node_id peer, const std::vector<std::string>& addresses) {
  get_executor().expect_own_thread();
  return wire().add_peer(peer, addresses);
}

task<status> node::destroy(const detail::any_group& g) {
  return engine_->destroy_group(g.state());
}

void node::on_dead(node_id peer, std::uint64_t incarnation) {
  get_executor().expect_own_thread();
  engine_->on_dead(peer, incarnation);
}

void node::on_alive(node_id peer, std::uint64_t incarnation) {
  get_executor().expect_own_thread();
  engine_->on_alive(peer, incarnation);
}

task<status> node::shutdown(nanoseconds limit) {
  return detail::shut_down(*engine_, *shipper_, limit);
}

node_id node::id() const noexcept {
  return engine_->options().id;
}

std::uint64_t node::incarnation() const noexcept {
  return engine_->options().incarnation;
}

executor& node::get_executor() const noexcept {
  return engine_->get_executor();
}

scope& node::background() noexcept {
  return shipper_->background();
}

transport::endpoint& node::wire() noexcept {
  return engine_->wire();
}

status node::add_service(std::shared_ptr<detail::service_entry> entry) {
  get_executor().expect_own_thread();
  return engine_->add_service(std::move(entry));
}

status node::add_function(std::shared_ptr<detail::served_function> entry) {
  get_executor().expect_own_thread();
  return shipper_->add_function(std::move(entry));
}

task<result<detail::any_group>> node::create_any_group(membership_ptr members, service_id service,
                                                       group_options options) {
  auto created = co_await engine_->create_group(std::move(members), service, options);
  if (!created) co_return created.error();
  co_return detail::any_group(*engine_, std::move(*created));
}

task<result<detail::any_group>> node::map_any_group(std::uint64_t id, service_id service,
                                                    group_options options) {
  auto held = co_await engine_->map_group(service, id, options);
  if (!held) co_return held.error();
  co_return detail::any_group(*engine_, std::move(*held));
}

result<detail::any_group> node::adopt_any_group(std::uint64_t id, membership_ptr members, service_id service,
                                                const group_options& options) {
  get_executor().expect_own_thread();
  auto state = engine_->adopt_group(std::move(members), service, id, options);
  if (!state) return state.error();
  return detail::any_group(*engine_, std::move(*state));
}

result<detail::any_group> node::find_any_group(const group_id& id, service_id service) {
  auto state = engine_->find_group(id);
  if (state == nullptr || state->service != service)
    return error(errc::unknown_group, "this node does not hold the group");
  return detail::any_group(*engine_, std::move(state));
}

}  // namespace scoll
