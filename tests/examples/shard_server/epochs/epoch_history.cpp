#include "epoch_history.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shard_tests {

std::string text_of(const shard::epoch_content& content) {
  return fmt::format("{} of node {}, life {}, request {}", content.note, content.node, content.life,
                     content.number);
}

std::size_t epoch_history::begin() {
  floors_.push_back(acknowledged_.empty() ? 0 : acknowledged_.rbegin()->first);
  return floors_.size() - 1;
}

void epoch_history::acknowledge(std::size_t request, std::uint64_t epoch, const std::string& content) {
  if (epoch <= floors_.at(request)) {
    faults_.push_back(fmt::format("not ascending: {} was acknowledged as epoch {} after epoch {}", content,
                                  epoch, floors_[request]));
  }
  if (acknowledged_.contains(epoch))
    faults_.push_back(fmt::format("acknowledged twice: epoch {}, now as {}", epoch, content));
  acknowledged_.emplace(epoch, content);
  note(epoch, content);
}

void epoch_history::observe(std::uint64_t server, std::uint64_t epoch, const std::string& content) {
  place& before = servers_[server];
  if (epoch < before.epoch)
    faults_.push_back(fmt::format("back: server {} went from epoch {} to {}", server, before.epoch, epoch));
  before = {epoch, content};
  if (epoch != 0) note(epoch, content);
}

void epoch_history::note(std::uint64_t epoch, const std::string& content) {
  const auto [known, first] = contents_.emplace(epoch, content);
  if (!first && known->second != content)
    faults_.push_back(fmt::format("two contents: epoch {} is {}, and {}", epoch, known->second, content));
  const auto [at, new_content] = epochs_.emplace(content, epoch);
  if (!new_content && at->second != epoch)
    faults_.push_back(fmt::format("two epochs: {} is epoch {}, and {}", content, at->second, epoch));
}

void epoch_history::end(const std::vector<std::uint64_t>& servers) {
  const place& first = servers_[servers.front()];
  for (const std::uint64_t each : servers) {
    const place& at = servers_[each];
    if (at.epoch != first.epoch || at.content != first.content) {
      faults_.push_back(fmt::format("apart: server {} stands at epoch {}, server {} at {}", servers.front(),
                                    first.epoch, each, at.epoch));
    }
    for (auto lost = acknowledged_.upper_bound(at.epoch); lost != acknowledged_.end(); ++lost) {
      faults_.push_back(fmt::format("lost: epoch {} was acknowledged, and server {} stands at {}",
                                    lost->first, each, at.epoch));
    }
  }
}

bool epoch_history::has_fault(std::string_view part) const {
  return std::ranges::any_of(faults_, [&](const std::string& f) { return f.find(part) != f.npos; });
}

}  // namespace shard_tests
