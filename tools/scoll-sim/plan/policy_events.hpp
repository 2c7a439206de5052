#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "tools/scoll-sim/plan/number_set.hpp"

namespace scoll::sim::events {

/// What a broadcast does when members fail, before it begins.
struct policy {
  static constexpr std::string_view name = "policy";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  bool fail_fast = false;
  number_set hasty;  ///< ranks whose `execute` does its work in no time, where it takes time
  std::chrono::microseconds lingers{0};  ///< the further time that the work of the others takes
  std::uint32_t share = 0;               ///< the percentage of its members that a quorum needs; 0: everyone
  bool sets = false;     ///< it needs that of those with even ranks, and of those with odd ones
  bool aborts = false;   ///< the others are told to stop then
  bool repairs = false;  ///< instead of both, whoever is lost is asked again by another way
  bool traced = false;
};

/// How the root of a broadcast takes the items that its members stream, before it begins.
struct reading {
  static constexpr std::string_view name = "reading";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  std::uint32_t items = 0;             ///< that a member puts, at most
  std::uint32_t bytes = 0;             ///< that an item has, at most
  std::chrono::microseconds pause{0};  ///< after each item
  bool collects = false;               ///< by one await, instead of one by one
  std::uint32_t limit = 0;             ///< bytes that are collected, at most; 0: the usual limit
  std::uint32_t leaves_after = 0;      ///< so many items, whatever else may come; 0: it does not
};

}  // namespace scoll::sim::events
