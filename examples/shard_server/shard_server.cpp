#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>

#include "cluster/cluster_file.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node_rails.hpp"
#include "scoll/settings.hpp"
#include "server/server.hpp"
#include "tools/common/await_address.hpp"
#include "tools/common/folder_lock.hpp"
#include "tools/common/rdma_devices.hpp"
#include "tools/common/spdlog_sink.hpp"

namespace {

enum exit_code { ended_well = 0, failed = 1, bad_usage = 2 };

struct arguments {
  std::string cluster;
  std::uint64_t node = 0;
  std::string data;
  std::string log;
};

/// Turns signals into readable events. It must run before any thread starts, because threads inherit the
/// mask.
scoll::transport::unique_fd signals_to_stop() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGINT);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return scoll::transport::unique_fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

void open_log(const arguments& args) {
  auto log =
      args.log.empty() ? spdlog::stderr_logger_st("shard") : spdlog::basic_logger_st("shard", args.log);
  log->set_pattern(fmt::format("%Y-%m-%d %H:%M:%S.%e node {} %l: %v", args.node));
  log->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(log));
}

int fail(const scoll::error& e) {
  spdlog::error("{}", describe(e));
  return failed;
}

/// The settings that this server uses unless SCOLL_CONFIG's file or the environment say otherwise.
scoll::status read_settings(scoll::settings& chosen) {
  constexpr std::pair<std::string_view, std::string_view> suggestions[] = {
      {"reactor.completion_entries", "2048"},
      {"reactor.receive_buffers", "32"},
      {"reactor.receive_buffer_limit", "1024"},
      {"node.workers", "1"},
  };
  for (const auto& [name, value] : suggestions)
    if (const auto taken = chosen.suggest(name, value); !taken) return taken;
  return chosen.load();
}

/// Waits for an address over TCP, for links.
void await_links(const std::string& text) {
  const std::string_view place = scoll::transport::split_name(text).place;
  if (const auto address = scoll::transport::socket_address::parse(place))
    scoll::kit::await_address([&] { return scoll::transport::open_listener(*address); });
}

/// Waits for an address over UDP, for gossip.
void await_gossip(const std::string& text) {
  if (const auto address = scoll::transport::socket_address::parse(text))
    scoll::kit::await_address([&] { return scoll::transport::open_datagram(*address); });
}

void await_own_addresses(const shard::cluster_node& place, const std::vector<scoll::rail_entry>& rails,
                         const std::string& listen) {
  for (const scoll::rail_entry& each : rails) await_links(each.address);
  if (rails.empty()) await_links(listen.empty() ? place.address : listen);
  for (const std::string& each : place.places) await_gossip(each);
}

bool need_rdma(const std::vector<scoll::rail_entry>& rails, std::string_view listen) {
  const auto is_rdma = [](const scoll::rail_entry& each) { return each.kind == scoll::rail_kind::verbs; };
  return std::ranges::any_of(rails, is_rdma) || scoll::kit::needs_rdma(listen);
}

int run(const arguments& args, const shard::cluster_config& config, std::uint32_t rank,
        const scoll::settings& chosen) {
  const auto signals = signals_to_stop();
  auto loop = scoll::transport::reactor::create(chosen.reactor());
  if (!loop) return fail(loop.error());
  const auto folder = scoll::kit::lock_folder(args.data);
  if (!folder) return fail(folder.error());
  auto rails = shard::rails_of(config.nodes[rank], chosen.rails());
  if (!rails) return fail(rails.error());
  auto devices = scoll::kit::devices_if(need_rdma(*rails, chosen.node().listen), **loop);
  if (!devices) return fail(devices.error());
  const scoll::rail_options common{chosen.tcp(), chosen.verbs(), std::move(*devices)};
  await_own_addresses(config.nodes[rank], *rails, chosen.node().listen);
  const std::string data = std::filesystem::absolute(args.data);
  auto store = scoll::sync_wait(**loop, shard::object_store::open(**loop, data));
  if (!store) return fail(store.error());
  if ((*store)->torn_index_bytes() != 0)
    spdlog::warn("dropped {} bytes of an index entry that was cut short", (*store)->torn_index_bytes());
  if ((*store)->orphans_removed() != 0)
    spdlog::info("removed {} files of objects that were never finished", (*store)->orphans_removed());

  auto installed = scoll::sync_wait(**loop, shard::installed_files::open(**loop, data));
  if (!installed) return fail(installed.error());
  if ((*installed)->leftovers_removed() != 0)
    spdlog::info("removed {} files that were never installed", (*installed)->leftovers_removed());

  auto epochs =
      scoll::sync_wait(**loop, shard::epoch_member::open(std::make_unique<shard::epoch_file>(**loop, data)));
  if (!epochs) return fail(epochs.error());

  auto evicted = scoll::sync_wait(**loop, shard::eviction_list::open(**loop, data));
  if (!evicted) return fail(evicted.error());

  scoll::kit::spdlog_sink node_log(chosen.log_level());
  scoll::node_options base = chosen.node();
  base.log = &node_log;
  const auto options = scoll::sync_wait(**loop, shard::node_options_of(config, rank, **store, **loop, base));
  if (!options) return fail(options.error());

  shard::server server(**loop, config, args.cluster, *options,
                       std::make_unique<scoll::node_rails>(**loop, std::move(*rails), common),
                       {common.devices.get(), common.verbs}, std::move(*store), std::move(*installed),
                       std::move(*epochs), std::move(*evicted));
  const auto ended = scoll::sync_wait(**loop, server.run(signals.get()));
  if (!ended) return fail(ended.error());
  spdlog::info("stopped");
  return ended_well;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "One server of a sharded object store: it holds its part of the objects as files and answers\n"
      "broadcasts over all of them. Talk to it with shardctl. It takes the settings of the file that\n"
      "SCOLL_CONFIG names and of the environment; scoll-info lists them.");
  arguments args;
  app.add_option("--cluster", args.cluster, "The cluster file")->required();
  app.add_option("--node", args.node, "This server's id in it")->required();
  app.add_option("--data", args.data, "Folder for this server's objects")->required();
  app.add_option("--log", args.log, "File for the log; stderr if not given");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? ended_well : bad_usage;
  }

  const auto read = shard::read_cluster_file(args.cluster);
  const auto* config = std::get_if<shard::cluster_config>(&read);
  if (config == nullptr) {
    fmt::print(stderr, "{}\n", std::get<std::string>(read));
    return bad_usage;
  }
  const auto rank = config->rank_of(args.node);
  if (!rank) {
    fmt::print(stderr, "{}: there is no node {}\n", args.cluster, args.node);
    return bad_usage;
  }
  scoll::settings chosen;
  if (!read_settings(chosen)) {
    fmt::print(stderr, "{}\n", chosen.complaint());
    return bad_usage;
  }
  try {
    open_log(args);
    return run(args, *config, *rank, chosen);
  } catch (const std::exception& e) {
    fmt::print(stderr, "node {}: {}\n", args.node, e.what());
    return failed;
  }
}
