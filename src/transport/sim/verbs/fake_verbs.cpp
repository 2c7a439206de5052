#include "transport/sim/verbs/fake_verbs.hpp"

#include "transport/sim/verbs/fake_context.hpp"
#include "transport/sim/verbs/fake_pair.hpp"

namespace scoll::testing {
namespace {

/// Performs jobs in virtual time, one after the other.
class fake_control final : public transport::verbs::control_queue {
 public:
  fake_control(fake_fabric& fabric, sim_executor& home) : fabric_(fabric), home_(home) {}
  ~fake_control() = default;

  void submit(transport::verbs::control_job& job) noexcept override {
    waiting_.push_back(job);
    next_.at(fabric_.world().now() + fabric_.control_time);
  }
  void finish(transport::verbs::control_job& job) noexcept override {
    if (!waits(job)) return;
    job.unlink();
    job.perform();
    done_.push_back(job);
    next_.at(fabric_.world().now());
  }

 private:
  bool waits(transport::verbs::control_job& job) noexcept {
    auto* each = waiting_.first();
    while (each != nullptr && each != &job) each = waiting_.next(*each);
    return each != nullptr;
  }
  void perform() noexcept {
    if (!done_.empty()) {
      transport::verbs::control_job& done = done_.pop_front();
      if (!done_.empty() || !waiting_.empty()) next_.at(fabric_.world().now() + fabric_.control_time);
      return done.on_done();
    }
    if (waiting_.empty()) return;
    transport::verbs::control_job& job = waiting_.pop_front();
    if (!waiting_.empty()) next_.at(fabric_.world().now() + fabric_.control_time);
    job.perform();
    job.on_done();
  }

  fake_fabric& fabric_;
  sim_executor& home_;
  intrusive_list<transport::verbs::control_job, transport::verbs::control_job> waiting_;
  intrusive_list<transport::verbs::control_job, transport::verbs::control_job> done_;
  host_call<&fake_control::perform> next_{*this, home_};
};

class fake_api final : public transport::verbs_api {
 public:
  fake_api(fake_fabric& fabric, sim_executor& home, std::uint32_t host)
      : fabric_(fabric), home_(home), host_(host), control_(fabric, home) {}

  std::vector<std::string> device_names() override { return {"fake0"}; }
  result<std::unique_ptr<transport::verbs::device_context>> open(const std::string& name) override {
    if (name != "fake0") return error(errc::not_found, "verbs: a fake device is called fake0");
    std::unique_ptr<transport::verbs::device_context> made =
        std::make_unique<fake_context>(fabric_, home_, host_);
    return made;
  }
  transport::verbs::control_queue& control() noexcept override { return control_; }
  std::uint64_t seed() override { return fabric_.world().random().next(); }

 private:
  fake_fabric& fabric_;
  sim_executor& home_;
  std::uint32_t host_;
  fake_control control_;
};

}  // namespace

fake_verbs::fake_verbs(sim_network& network) : fabric_(std::make_unique<fake_fabric>(network)) {}

fake_verbs::~fake_verbs() {
  SCOLL_ASSERT(fabric_->contexts().empty(), "fake devices died before the rails that use them");
}

std::shared_ptr<transport::verbs_api> fake_verbs::api(sim_executor& home, std::uint32_t host) {
  return std::make_shared<fake_api>(*fabric_, home, host);
}

fake_verbs_statistics fake_verbs::statistics() const {
  fake_verbs_statistics s = fabric_->statistics;
  s.queue_pairs = fabric_->pairs().size() + fabric_->datagrams().pairs().size();
  for (const auto& [number, pair] : fabric_->pairs()) {
    s.sends_under_way += pair->under_way();
    s.windows_bound_now += pair->windows().bound();
  }
  auto& all = fabric_->contexts();
  for (fake_context* c = all.first(); c != nullptr; c = all.next(*c)) s.not_taken += c->not_taken();
  return s;
}

void fake_verbs::thaw(std::uint32_t host) {
  auto& all = fabric_->contexts();
  for (fake_context* c = all.first(); c != nullptr; c = all.next(*c)) {
    if (c->host() == host) c->thaw();
  }
}

void fake_verbs::lose_all_after_next(std::uint32_t from, std::uint32_t to) {
  fabric_->between(from, to).after_next = true;
}

void fake_verbs::heal() {
  fabric_->heal();
}

void fake_verbs::refuse_memory(std::uint32_t host, bool refused) {
  fabric_->host(host).refuses_memory = refused;
}

void fake_verbs::refuse_send_after(std::uint32_t host, std::uint32_t count) {
  fabric_->host(host).sends_until_refusal = count + 1;
}

void fake_verbs::set_port(std::uint32_t host, bool up, bool told) {
  using transport::verbs::device_event;
  fabric_->host(host).port_up = up;
  auto& all = fabric_->contexts();
  for (fake_context* c = all.first(); told && c != nullptr; c = all.next(*c)) {
    if (c->host() == host)
      c->tell({.kind = up ? device_event::what::port_up : device_event::what::port_down, .port = 1});
  }
}

void fake_verbs::fail_device(std::uint32_t host) {
  auto& all = fabric_->contexts();
  for (fake_context* c = all.first(); c != nullptr; c = all.next(*c)) {
    if (c->host() == host) c->fail();
  }
}

void fake_verbs::set_control_time(nanoseconds time) {
  fabric_->control_time = time;
}

void fake_verbs::set_mtu(std::uint32_t bytes) {
  fabric_->mtu = bytes;
}

transport::verbs_options scarce_verbs() {
  transport::verbs_options o;
  o.receive_slots = 256;
  o.link_slots = 16;
  o.send_slabs = 64;
  o.rnr_retry = 0;
  o.read_depth = 3;
  o.read_bytes = 20'000;
  o.read_slabs = 8;
  o.read_slab_bytes = 131'072;
  return o;
}

}  // namespace scoll::testing
