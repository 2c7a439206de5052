#include "answer_json.hpp"

#include <fmt/format.h>

#include <array>

#include "scoll/coro/error_format.hpp"

namespace shard {
namespace {

using scoll::member_state;

/// The names stand in the order of the enumerators. They are for programs; the library's names are for
/// people.
constexpr std::array<const char*, 6> state_names = {"merged",      "executed", "failed",
                                                    "not_reached", "unknown",  "excluded"};

const char* name_of(member_state state) {
  return state_names.at(static_cast<std::size_t>(state));
}

json nodes_of(const scoll::rank_set& ranks, const scoll::membership& members) {
  json nodes = json::array();
  ranks.for_each([&](std::uint32_t rank) { nodes.push_back(members.node(rank)); });
  return nodes;
}

json report_json(const scoll::member_report& report, const scoll::cause& why,
                 const scoll::membership& members) {
  scoll::rank_set ranks;
  ranks.append(report.members.first, report.members.last);
  json one;
  one["state"] = name_of(report.state);
  one["ranks"] = to_string(ranks);
  one["nodes"] = nodes_of(ranks, members);
  one["phase"] = to_string(why.where);
  one["cause"] = to_json(why.what);
  one["reporter"] = members.node(why.reporter);
  return one;
}

json outcome_json(const scoll::outcome& outcome, const scoll::membership& members) {
  json all;
  all["members"] = outcome.members();
  for (std::size_t i = 0; i != state_names.size(); ++i)
    all[state_names[i]] = nodes_of(outcome.in(static_cast<member_state>(i)), members);
  json reports = json::array();
  for (const scoll::member_report& report : outcome.reports()) {
    if (report.state != member_state::merged && report.state != member_state::excluded)
      reports.push_back(report_json(report, outcome.causes()[report.cause_index], members));
  }
  all["reports"] = std::move(reports);
  return all;
}

}  // namespace

json to_json(const scoll::error& e) {
  json one;
  one["code"] = to_string(e.code());
  one["text"] = e ? describe(e) : "";
  return one;
}

json to_json(const answer_account& account) {
  json all;
  all["status"] = to_json(account.ended.error());
  all["outcome"] = outcome_json(account.outcome, *account.members);
  json absent = json::array();
  for (const absent_node& each : account.absent) {
    json one;
    one["node"] = each.node;
    one["cause"] = to_json(each.why);
    absent.push_back(std::move(one));
  }
  all["absent"] = std::move(absent);
  return all;
}

json to_json(const clients::reply& value, const scoll::membership&) {
  json known = json::array();
  for (const known_client& each : value.known.each) {
    known.push_back({{"client", each.client},
                     {"refused_by", each.refused_by},
                     {"uploads", each.uploads},
                     {"note", each.note}});
  }
  json all;
  all["servers"] = value.servers.value;
  all["uploads_ended"] = value.uploads.value;
  all["calls_ended"] = value.calls.value;
  all["clients"] = std::move(known);
  all["list_cut"] = value.known.cut;
  return all;
}

json to_json(const df::reply& value, const scoll::membership&) {
  json disks = json::array();
  for (const filesystem& each : value.disks.each) {
    json one;
    one["machine"] = fmt::format("{:016x}", each.machine);
    one["device"] = each.device;
    one["capacity_bytes"] = each.capacity_bytes;
    one["free_bytes"] = each.free_bytes;
    disks.push_back(std::move(one));
  }
  json all;
  all["objects"] = value.objects.value;
  all["bytes"] = value.bytes.value;
  all["filesystems"] = std::move(disks);
  return all;
}

json to_json(const scrub::reply& value, const scoll::membership& members) {
  json list = json::array();
  bool cut = false;
  for (const auto& part : value.list.parts) {
    cut = cut || part.cut;
    for (const damaged_object& each : part.value) {
      json one;
      one["node"] = members.node(part.rank);
      one["object"] = each.name;
      one["fault"] = each.fault;
      list.push_back(std::move(one));
    }
  }
  json all;
  all["objects"] = value.objects.value;
  all["bytes"] = value.bytes.value;
  all["damaged"] = value.damaged.value;
  all["list"] = std::move(list);
  all["list_cut"] = cut;
  return all;
}

json to_json(const progress::reply& value, const scoll::membership&) {
  json all;
  all["done"] = value.done.value;
  all["total"] = value.total.value;
  all["bytes"] = value.bytes.value;
  all["total_bytes"] = value.total_bytes.value;
  return all;
}

json to_json(const find::reply& value, const scoll::membership& members) {
  json nodes = json::array();
  bool cut = false;
  for (const auto& part : value.names.parts) {
    cut = cut || part.cut;
    if (part.value.empty() && !part.cut) continue;
    json one;
    one["node"] = members.node(part.rank);
    one["names"] = part.value;
    one["cut"] = part.cut;
    nodes.push_back(std::move(one));
  }
  json all;
  all["matches"] = value.matches.value;
  all["nodes"] = std::move(nodes);
  all["list_cut"] = cut;
  return all;
}

json to_json(const top::reply& value, const scoll::membership&) {
  json largest = json::array();
  for (const large_object& each : value.values) {
    json one;
    one["size"] = each.size;
    one["object"] = each.name;
    one["node"] = each.node;
    largest.push_back(std::move(one));
  }
  return {{"largest", std::move(largest)}};
}

json to_json(const ingest::reply& value, const scoll::membership&) {
  json all;
  all["objects"] = value.objects.value;
  all["bytes"] = value.bytes.value;
  all["unreadable"] = value.unreadable.value;
  all["limit_reached"] = value.limit_reached.value;
  return all;
}

json to_json(const install::reply& value, const scoll::membership&) {
  json all;
  all["servers"] = value.servers.value;
  all["bytes"] = value.bytes.value;
  json hashes = json::array();
  for (const std::uint64_t each : value.hashes.values) hashes.push_back(fmt::format("{:016x}", each));
  all["hashes"] = std::move(hashes);
  return all;
}

json to_json(const layout::reply& value, const scoll::membership&) {
  json all;
  all["slots"] = value.slots.value;
  all["objects"] = value.objects.value;
  all["used"] = value.used.value;
  all["fullest"] = value.fullest.value;
  return all;
}

json to_json(const maintenance::reply& value, const scoll::membership&) {
  json all;
  all["servers"] = value.servers.value;
  all["refused"] = value.refused.value;
  all["leaders"] = value.leaders.values;
  return all;
}

json to_json(const scoll::tree_plan& plan) {
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
  json links = json::array();
  for (const auto& [name, costs, bulk] : plan.links.classes) {
    json one;
    one["name"] = name;
    one["send_us"] = us(costs.send);
    one["receive_us"] = us(costs.receive);
    one["latency_us"] = us(costs.latency);
    one["gap_us"] = us(costs.gap);
    one["merge_us"] = us(costs.merge);
    one["wake_us"] = us(costs.wake);
    if (bulk) {
      one["bulk"] = {{"hop_us", us(bulk->hop_ns)}, {"piece_us", us(bulk->piece_ns)},
                     {"link_ps", bulk->link_ps},   {"hash_ps", bulk->hash_ps},
                     {"host_ps", bulk->host_ps},   {"host_small_ps", bulk->host_small_ps}};
    }
    links.push_back(std::move(one));
  }
  json candidates = json::array();
  for (const scoll::tree_candidate& each : plan.candidates) {
    json one;
    one["tree"] = to_string(each.tree);
    one["predicted_us"] = us(each.predicted.merged);
    one["levels"] = each.predicted.levels;
    candidates.push_back(std::move(one));
  }
  json all;
  all["tree"] = to_string(plan.tree);
  all["members"] = plan.members;
  all["pinned"] = plan.pinned;
  if (plan.predicted) all["predicted_us"] = us(plan.predicted->merged);
  all["why"] = plan.why;
  all["links"] = std::move(links);
  all["processors"] = plan.links.processors;
  all["candidates"] = std::move(candidates);
  all["text"] = to_text(plan);
  return all;
}

json to_json(const std::string& name, scoll::node_id owner, const object_reply& value) {
  json all;
  all["object"] = name;
  all["node"] = owner;
  all["size"] = value.size;
  all["hash"] = fmt::format("{:016x}", value.hash);
  all["file"] = value.file;
  return all;
}

json failure(const scoll::error& why) {
  json all;
  all["status"] = to_json(why);
  all["value"] = nullptr;
  return all;
}

}  // namespace shard
