#include "direct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "../services/object_io.hpp"
#include "../store/content_hash.hpp"
#include "../store/object_name.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node_rails.hpp"
#include "scoll/ship.hpp"
#include "tools/common/rdma_devices.hpp"
#include "transport/io/reactor.hpp"

namespace shard {
namespace {

using scoll::result;
using scoll::task;

/// The server pulls pieces of that size from this process.
constexpr std::size_t piece_bytes = 1U << 20U;

using open_stream = std::unique_ptr<std::FILE, decltype([](std::FILE* f) {
                                      if (f != stdin && f != stdout) std::fclose(f);
                                    })>;

result<open_stream> open_file(const std::string& path, const char* mode, std::FILE* standard) {
  if (path.empty() || path == "-") return open_stream(standard);
  if (std::FILE* const opened = std::fopen(path.c_str(), mode)) return open_stream(opened);
  return scoll::error::system(errno, path);
}

/// A client's node, and its calls to the owner of one object.
class owner_calls {
 public:
  owner_calls(const cluster_config& config, const std::string& name, scoll::nanoseconds limit,
              scoll::node_id id)
      : loop_(scoll::transport::reactor::create().value()),
        rails_(*loop_, {}, {.verbs = for_one_peer(), .devices = devices_for(config, *loop_)}),
        node_(*loop_, rails_.set(), options(config, id)),
        place_(config.nodes[owner_rank(name, static_cast<std::uint32_t>(config.nodes.size()))]),
        limit_{.deadline = scoll::deadline(loop_->now() + limit)} {
    step_.name = name;
    step_.owner = place_.id;
    std::random_device source;
    step_.upload = std::uint64_t{source()} << 32U | source();
  }
  ~owner_calls() {
    run(node_.shutdown(std::chrono::seconds(1))).ignore();
    while (rails_.open() != 0) loop_->run_once(std::chrono::milliseconds(10));
  }
  owner_calls(const owner_calls&) = delete;
  owner_calls& operator=(const owner_calls&) = delete;

  template <class T>
  T run(task<T> work) {
    return sync_wait(*loop_, std::move(work));
  }
  task<result<object_reply>> put(std::FILE& from);
  task<result<object_reply>> get(std::FILE& into);
  scoll::node_id owner() const noexcept { return place_.id; }
  scoll::node_id id() const noexcept { return node_.id(); }

 private:
  /// A client talks to one server, so it needs little memory.
  static scoll::transport::verbs_options for_one_peer() {
    scoll::transport::verbs_options o;
    o.receive_slots = 128;
    o.send_slabs = 64;
    o.read_slabs = 8;
    return o;
  }
  /// Throws `failure` if the servers are reached by RDMA, and this program cannot.
  static std::shared_ptr<scoll::transport::verbs_api> devices_for(const cluster_config& config,
                                                                  scoll::transport::reactor& loop) {
    const auto by_rdma = [](const cluster_node& each) {
      return std::ranges::any_of(each.addresses, scoll::kit::needs_rdma);
    };
    return scoll::kit::devices_if(std::ranges::any_of(config.nodes, by_rdma), loop).value();
  }
  static scoll::node_options options(const cluster_config& config, scoll::node_id id) {
    scoll::node_options o;
    o.id = id;
    o.role = scoll::node_role::client;
    o.cluster = config.name;
    o.security = config.security_of("client");
    return o;
  }
  task<result<object_reply>> ask() {
    const scoll::status known = node_.add_peer(place_.id, place_.addresses);
    if (!known) co_return known.error();
    auto answered = co_await ship(node_, place_.id, object_call, step_, limit_);
    co_return std::move(answered);
  }
  task<scoll::status> write_all(std::FILE& from);

  std::unique_ptr<scoll::transport::reactor> loop_;
  scoll::node_rails rails_;
  scoll::node node_;
  cluster_node place_;
  scoll::ship_options limit_;
  object_request step_;
  content_hash hash_;
};

task<scoll::status> owner_calls::write_all(std::FILE& from) {
  step_.step = object_step::begin;
  const auto begun = co_await ask();
  if (!begun) co_return begun.error();
  step_.step = object_step::write;
  while (true) {
    step_.bytes.resize(piece_bytes);
    step_.bytes.resize(std::fread(step_.bytes.data(), 1, piece_bytes, &from));
    if (step_.bytes.empty()) break;
    hash_.add(step_.bytes);
    const auto written = co_await ask();
    if (!written) co_return written.error();
    step_.offset += step_.bytes.size();
  }
  if (std::ferror(&from) != 0) co_return scoll::error::system(errno, "the file cannot be read");
  co_return scoll::status{};
}

task<result<object_reply>> owner_calls::put(std::FILE& from) {
  const auto written = co_await write_all(from);
  step_.bytes.clear();
  if (!written) {
    step_.step = object_step::abandon;
    (co_await ask()).ignore();
    co_return written.error();
  }
  step_.step = object_step::commit;
  step_.hash = hash_.value();
  co_return co_await ask();
}

task<result<object_reply>> owner_calls::get(std::FILE& into) {
  auto whole = co_await ask();  // `locate`
  if (!whole) co_return whole.error();
  step_.step = object_step::read;
  step_.length = read_piece_bytes;
  for (step_.offset = 0; step_.offset < whole->size;) {
    const auto piece = co_await ask();
    if (!piece) co_return piece.error();
    if (piece->generation != whole->generation)
      co_return scoll::error(scoll::errc::stale, "the object was replaced while it was read");
    if (piece->bytes.empty())
      co_return scoll::error(scoll::errc::checksum_mismatch, "the object is damaged: its file is too short");
    hash_.add(piece->bytes);
    step_.offset += piece->bytes.size();
    if (std::fwrite(piece->bytes.data(), 1, piece->bytes.size(), &into) != piece->bytes.size())
      co_return scoll::error::system(errno, "the file cannot be written");
  }
  if (std::fflush(&into) != 0) co_return scoll::error::system(errno, "the file cannot be written");
  if (hash_.value() != whole->hash)
    co_return scoll::error(scoll::errc::checksum_mismatch, "the object is damaged: not what was put");
  co_return std::move(*whole);
}

nlohmann::json failed_with(const scoll::error& why) {
  nlohmann::json all;
  all["status"]["code"] = to_string(why.code());
  all["status"]["text"] = why ? scoll::describe(why) : std::string();
  all["value"] = nullptr;
  return all;
}

nlohmann::json answer_of(const std::string& name, const owner_calls& calls,
                         const result<object_reply>& moved) {
  nlohmann::json all = failed_with(moved ? scoll::error() : moved.error());
  all["client"] = calls.id();
  if (!moved) return all;
  nlohmann::json& value = all["value"];
  value["object"] = name;
  value["node"] = calls.owner();
  value["size"] = moved->size;
  value["hash"] = fmt::format("{:016x}", moved->hash);
  value["file"] = moved->file;
  return all;
}

}  // namespace

nlohmann::json put_directly(const cluster_config& config, const std::string& file, const std::string& name,
                            scoll::nanoseconds limit, scoll::node_id client) {
  const auto from = open_file(file, "rb", stdin);
  if (!from) return failed_with(from.error());
  owner_calls calls(config, name, limit, client);
  const auto moved = calls.run(calls.put(**from));
  return answer_of(name, calls, moved);
}

nlohmann::json get_directly(const cluster_config& config, const std::string& name, const std::string& file,
                            scoll::nanoseconds limit, scoll::node_id client) {
  const bool named = !file.empty() && file != "-";
  const std::string part = named ? file + ".part" : file;
  auto into = open_file(part, "wb", stdout);
  if (!into) return failed_with(into.error());
  owner_calls calls(config, name, limit, client);
  const auto moved = calls.run(calls.get(**into));
  into->reset();
  if (named && (moved ? std::rename(part.c_str(), file.c_str()) : std::remove(part.c_str())) != 0)
    return failed_with(scoll::error::system(errno, file));
  return answer_of(name, calls, moved);
}

}  // namespace shard
