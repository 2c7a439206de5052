#include "scoll/coro/stop.hpp"

#include <memory>
#include <string>
#include <vector>

#include "death.hpp"
#include "tests/catch.hpp"

using namespace scoll;

namespace {

class callback {
 public:
  callback(stop_token token, std::vector<int>& log, int number)
      : log_(&log), number_(number), stop_(&run, this) {
    stop_.connect(token);
  }
  void also(void (*f)(callback&)) { also_ = f; }
  void forget() { stop_.disconnect(); }

  std::unique_ptr<callback>* victim = nullptr;

 private:
  static void run(void* self) noexcept {
    auto& c = *static_cast<callback*>(self);
    c.log_->push_back(c.number_);
    if (c.also_ != nullptr) c.also_(c);
  }

  std::vector<int>* log_;
  int number_;
  void (*also_)(callback&) = nullptr;
  stop_callback stop_;
};

}  // namespace

TEST_CASE("stop callbacks run once, in order of registration") {
  std::vector<int> log;
  {
    stop_source source;
    CHECK(source.token().stop_possible());
    CHECK_FALSE(stop_token().stop_possible());
    CHECK_FALSE(stop_token().stop_requested());
    callback first(source.token(), log, 1);
    callback second(source.token(), log, 2);
    callback third(source.token(), log, 3);
    second.forget();
    CHECK(source.request_stop());
    CHECK_FALSE(source.request_stop());
    CHECK(source.token().stop_requested());
    callback late(source.token(), log, 4);
    callback without({}, log, 5);
  }
  CHECK(log == std::vector{1, 3, 4});
}

TEST_CASE("stop callbacks may unregister others and destroy themselves") {
  std::vector<int> log;
  stop_source source;
  auto self = std::make_unique<callback>(source.token(), log, 1);
  auto other = std::make_unique<callback>(source.token(), log, 2);
  auto adder = std::make_unique<callback>(source.token(), log, 3);
  auto next = std::make_unique<callback>(source.token(), log, 4);
  self->victim = &other;
  self->also([](callback& c) {
    c.victim->reset();  // one that has not run yet
  });
  adder->victim = &adder;
  adder->also([](callback& c) {
    c.victim->reset();  // itself
  });
  next->victim = &self;
  next->also([](callback& c) {
    c.victim->reset();  // one that has run
  });
  source.request_stop();
  CHECK(log == std::vector{1, 3, 4});
  CHECK_FALSE(self);
  CHECK_FALSE(other);
  CHECK_FALSE(adder);
}

TEST_CASE("a stop source must outlive its callbacks") {
  const death d = die([] {
    std::vector<int> log;
    auto source = std::make_unique<stop_source>();
    const callback c(source->token(), log, 1);
    source.reset();
  });
  CHECK(d.aborted);
  CHECK(d.message.find("a stop source was destroyed before its callbacks") != std::string::npos);
}
