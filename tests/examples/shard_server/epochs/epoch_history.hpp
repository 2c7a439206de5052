#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/shard_server/epochs/epoch_state.hpp"

namespace shard_tests {

/// The content of an epoch in one line. No two requests give the same one.
std::string text_of(const shard::epoch_content& content);

/// What clients and servers have seen of the epochs of a cluster, whatever crashed meanwhile, and what is
/// wrong with it. Content is a line of text, and no two requests have the same.
class epoch_history {
 public:
  /// A client asks for an epoch; returns the number of the request.
  std::size_t begin();
  /// That request was acknowledged.
  void acknowledge(std::size_t request, std::uint64_t epoch, const std::string& content);
  /// A server stands at an epoch. Epoch 0 has no content.
  void observe(std::uint64_t server, std::uint64_t epoch, const std::string& content);
  /// All servers run and have had time: they must stand at one epoch, and nothing acknowledged is lost.
  void end(const std::vector<std::uint64_t>& servers);

  void blame(std::string fault) { faults_.push_back(std::move(fault)); }

  /// Returns a line for each thing that is wrong, and nothing if all is well.
  const std::vector<std::string>& faults() const noexcept { return faults_; }
  bool has_fault(std::string_view part) const;
  std::size_t requests() const noexcept { return floors_.size(); }
  std::size_t acknowledged() const noexcept { return acknowledged_.size(); }
  /// The epochs that anybody has seen.
  std::size_t epochs() const noexcept { return contents_.size(); }

 private:
  struct place {
    std::uint64_t epoch = 0;
    std::string content;
  };
  void note(std::uint64_t epoch, const std::string& content);

  std::vector<std::uint64_t> floors_;  // by request: the latest epoch acknowledged when it began
  std::map<std::uint64_t, std::string> acknowledged_;
  std::map<std::uint64_t, std::string> contents_;  // by epoch
  std::map<std::string, std::uint64_t> epochs_;    // by content
  std::map<std::uint64_t, place> servers_;         // where each was seen last
  std::vector<std::string> faults_;
};

}  // namespace shard_tests
