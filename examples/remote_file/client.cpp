#include "client.hpp"

#include <utility>

#include "scoll/bulk/bulk.hpp"

namespace remote_file {

using namespace scoll;

task<result<client_file>> client_file::open(node& from, node_id server, std::string name, bool create,
                                            ship_options options) {
  const open_request request{std::move(name), create};
  const auto r = co_await ship(from, server, open_file, request, options);
  if (!r) co_return r.error();
  co_return client_file(from, server, r->handle);
}

task<result<std::uint64_t>> client_file::write(std::span<const std::byte> bytes, std::uint64_t offset,
                                               ship_options options) {
  const auto exposed = expose(*node_, bytes);
  if (!exposed) co_return exposed.error();
  const transfer_request request{handle_, offset, exposed->descriptor()};
  const auto r = co_await ship(*node_, server_, write_file, request, options);
  if (!r) co_return r.error();
  co_return r->bytes;
}

task<result<std::uint64_t>> client_file::read(std::span<std::byte> into, std::uint64_t offset,
                                              ship_options options) {
  const auto exposed = expose(*node_, into, memory_access::write);
  if (!exposed) co_return exposed.error();
  const transfer_request request{handle_, offset, exposed->descriptor()};
  const auto r = co_await ship(*node_, server_, read_file, request, options);
  if (!r) co_return r.error();
  co_return r->bytes;
}

task<result<attributes>> client_file::stat(ship_options options) {
  const auto r = co_await ship(*node_, server_, stat_file, handle_, options);
  co_return r;
}

task<status> client_file::close(ship_options options) {
  const auto r = co_await ship(*node_, server_, close_file, handle_, options);
  if (!r) co_return r.error();
  co_return status{};
}

}  // namespace remote_file
