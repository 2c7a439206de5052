#pragma once

#include "contest.hpp"
#include "processes.hpp"

namespace bench {

/// A contestant made of processes.
class group_contestant final : public contestant {
 public:
  group_contestant(const std::string& name, std::uint32_t count, const std::function<void(member&)>& body)
      : group_(name, count, body) {}
  /// Uses processes that another program starts.
  group_contestant(const std::string& name, std::uint32_t count, const std::vector<std::string>& program)
      : group_(name, count, program) {}

  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    for (const std::uint32_t ns : obey(operations, {}).latency_ns) latency_us.push_back(ns / 1e3);
  }
  std::vector<usage> used() const override { return group_.used(); }
  std::vector<pid_t> pids() const { return group_.pids(); }
  const member_page& first() const noexcept { return group_.first(); }
  const member_page& page(std::uint32_t of) const noexcept { return group_.page(of); }

  answer obey(std::uint32_t operations, order kind) {
    kind.operations = operations;
    return group_.obey(kind);
  }

 private:
  processes group_;
};

/// A group that is already measured elsewhere, under orders of another kind.
class under_other_orders final : public contestant {
 public:
  under_other_orders(group_contestant& group, order kind) : group_(group), kind_(kind) {}
  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    for (const std::uint32_t ns : group_.obey(operations, kind_).latency_ns) latency_us.push_back(ns / 1e3);
  }
  std::vector<usage> used() const override { return group_.used(); }

 private:
  group_contestant& group_;
  order kind_;
};

/// Makes a group of processes that all `play` one setting.
template <class Setting>
subject group_subject(const std::string& name, std::uint32_t count, void (*play)(member&, const Setting&),
                      const Setting& s) {
  return {name, std::make_unique<group_contestant>(name, count, [play, s](member& me) { play(me, s); })};
}

}  // namespace bench
