#include "scoll/node_rails.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/session/named_part.hpp"
#include "transport/session/named_rails.hpp"
#include "transport/verbs/verbs_api.hpp"
#include "transport/verbs/verbs_rail.hpp"

namespace scoll {
namespace {

std::string host_of(const rail_entry& entry) {
  return entry.address.substr(0, entry.address.rfind(':'));
}

/// The name of the kind, as the addresses of a verbs rail begin everywhere.
constexpr const char* verbs_name = "verbs";

error no_devices_for(const rail_entry& entry) {
  return make_error(errc::unsupported,
                    "rail {} needs RDMA: give node_rails the devices of use_ibverbs (library scoll::verbs)",
                    entry.name);
}

}  // namespace

/// A rail with what it stands on. Each member uses those above it.
class node_rails::one {
 public:
  one(transport::reactor& loop, const transport::tcp_options& options) : tcp_(loop, options) {}

  void use(transport::reactor& loop, transport::verbs_api& devices, const transport::verbs_options& options) {
    verbs_ = std::make_unique<transport::verbs_rail>(loop, devices, tcp_, options);
    named_ = std::make_unique<transport::named_part>(verbs_name, *verbs_, false);
  }

  /// The rail that reads addresses without the name of a transport.
  transport::rail& bare() noexcept {
    return verbs_ != nullptr ? static_cast<transport::rail&>(*verbs_) : tcp_;
  }
  transport::rail& top() noexcept { return named_ != nullptr ? *named_ : bare(); }

 private:
  transport::tcp_rail tcp_;
  std::unique_ptr<transport::verbs_rail> verbs_;
  std::unique_ptr<transport::rail> named_;
};

node_rails::node_rails(transport::reactor& loop, std::vector<rail_entry> use, const rail_options& common)
    : entries_(std::move(use)), devices_(common.devices) {
  for (const rail_entry& each : entries_) add_entry(loop, each, common);
  if (entries_.empty()) add_usual(loop, common);
}

void node_rails::add_entry(transport::reactor& loop, const rail_entry& entry, const rail_options& common) {
  transport::tcp_options options = common.tcp;
  options.bind_source = host_of(entry) + ":0";  // connections take a free port
  options.device = entry.device;
  options.watch_interface = entries_.size() > 1;
  one& made = add(loop, options);
  if (entry.kind == rail_kind::verbs) {
    transport::verbs_options own = common.verbs;
    own.address = host_of(entry);
    if (devices_ == nullptr) throw failure(no_devices_for(entry));
    made.use(loop, *devices_, own);
  }
  transport::rail_traits traits{entry.address, entry.prefix, entry.bulk, entry.device};
  set_.add(entry.name, made.top(), std::move(traits)).value();
}

/// The rails of a node whose list is empty.
void node_rails::add_usual(transport::reactor& loop, const rail_options& common) {
  one& tcp = add(loop, common.tcp);
  if (devices_ == nullptr) {
    set_.add("tcp", tcp.bare()).value();
    return;
  }
  one& verbs = add(loop, common.tcp);
  verbs.use(loop, *devices_, common.verbs);
  by_name_ = std::make_unique<transport::named_rails>();
  by_name_->add("tcp", tcp.bare()).value();
  by_name_->add(verbs_name, verbs.bare()).value();
  set_.add("all", *by_name_).value();
}

node_rails::~node_rails() = default;

node_rails::one& node_rails::add(transport::reactor& loop, const transport::tcp_options& options) {
  return *rails_.emplace_back(std::make_unique<one>(loop, options));
}

std::vector<std::string> node_rails::listen_addresses() const {
  std::vector<std::string> all;
  for (const auto& each : rails_) all.push_back(each->top().listen_address());
  return all;
}

std::size_t node_rails::open() const noexcept {
  std::size_t sum = 0;
  for (const auto& each : rails_) sum += each->top().open();
  return sum;
}

}  // namespace scoll
