#include "gossip/event.hpp"
#include "gossip/log.hpp"
#include "gossip/snapshot.hpp"

namespace scoll::gossip {

std::string_view to_string(log_level level) noexcept {
  switch (level) {
    case log_level::error: return "error";
    case log_level::warning: return "warning";
    case log_level::info: return "info";
    case log_level::debug: return "debug";
  }
  return "?";
}

std::string_view to_string(event_kind kind) noexcept {
  switch (kind) {
    case event_kind::alive: return "alive";
    case event_kind::dead: return "dead";
    case event_kind::rebooted: return "rebooted";
  }
  return "?";
}

std::string_view to_string(parameter p) noexcept {
  switch (p) {
    case parameter::none: return "none";
    case parameter::version: return "version";
    case parameter::interval: return "interval";
    case parameter::participants: return "participants";
  }
  return "?";
}

std::string_view to_string(liveness state) noexcept {
  switch (state) {
    case liveness::unknown: return "unknown";
    case liveness::alive: return "alive";
    case liveness::dead: return "dead";
  }
  return "?";
}

std::string_view to_string(reachability reach) noexcept {
  switch (reach) {
    case reachability::untried: return "untried";
    case reachability::reachable: return "reachable";
    case reachability::unreachable: return "unreachable";
  }
  return "?";
}

std::string_view to_string(withheld why) noexcept {
  switch (why) {
    case withheld::no: return "no";
    case withheld::stealth: return "stealth";
    case withheld::gap: return "gap";
    case withheld::no_replies: return "no replies";
  }
  return "?";
}

std::string_view to_string(participation p) noexcept {
  switch (p) {
    case participation::idle: return "idle";
    case participation::stealth: return "stealth";
    case participation::active: return "active";
    case participation::stopped: return "stopped";
  }
  return "?";
}

}  // namespace scoll::gossip
