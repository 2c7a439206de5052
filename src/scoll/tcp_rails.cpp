#include "scoll/tcp_rails.hpp"

#include <utility>

namespace scoll {
namespace {

/// The address of an entry with port 0, so that connections take a free port.
std::string source_of(const rail_entry& entry) {
  return entry.address.substr(0, entry.address.rfind(':')) + ":0";
}

}  // namespace

tcp_rails::tcp_rails(transport::reactor& loop, std::vector<rail_entry> use,
                     const transport::tcp_options& common)
    : entries_(std::move(use)) {
  for (const rail_entry& each : entries_) {
    transport::tcp_options options = common;
    options.bind_source = source_of(each);
    options.device = each.device;
    options.watch_interface = entries_.size() > 1;
    rails_.push_back(std::make_unique<transport::tcp_rail>(loop, options));
    transport::rail_traits traits{each.address, each.prefix, each.bulk, each.device};
    set_.add(each.name, *rails_.back(), std::move(traits)).value();
  }
  if (!entries_.empty()) return;
  rails_.push_back(std::make_unique<transport::tcp_rail>(loop, common));
  set_.add("tcp", *rails_.back()).value();
}

std::vector<std::string> tcp_rails::listen_addresses() const {
  std::vector<std::string> all;
  for (const auto& each : rails_) all.push_back(each->listen_address());
  return all;
}

std::size_t tcp_rails::open() const noexcept {
  std::size_t sum = 0;
  for (const auto& each : rails_) sum += each->open();
  return sum;
}

}  // namespace scoll
