#include "scoll/coro/member_timer.hpp"

#include <type_traits>
#include <vector>

#include "scoll/coro/member_node.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using scoll::testing::virtual_executor;

namespace {

enum class step { early, late, soon };

/// Two timers and a ready node, which need no class of their own.
class watch {
 public:
  explicit watch(executor& on) : on_(on) {}
  ~watch() {
    on_.disarm(late_);
    on_.unschedule(soon_);
  }

  void start() {
    on_.arm(late_, on_.now() + 2ms);
    on_.arm(early_, on_.now() + 1ms);
    on_.schedule(soon_);
  }
  void stop_late() { on_.disarm(late_); }
  bool armed() const { return early_.armed() || late_.armed(); }

  std::vector<step> steps;

 private:
  void on_early() noexcept { steps.push_back(step::early); }
  void on_late() {  // need not be declared noexcept
    steps.push_back(step::late);
    if (steps.size() < 6) on_.arm(late_, on_.now() + 1ms);
  }
  void on_soon() noexcept { steps.push_back(step::soon); }

  executor& on_;
  member_timer<&watch::on_early> early_{*this};
  member_timer<&watch::on_late> late_{*this};
  member_node<&watch::on_soon> soon_{*this};
};

}  // namespace

TEST_CASE("timers and ready nodes that are members call the functions they name") {
  virtual_executor on;
  watch w(on);
  w.start();
  on.run_now();
  CHECK(w.steps == std::vector{step::soon});
  on.run_for(1ms);
  CHECK(w.steps == std::vector{step::soon, step::early});
  on.run_for(1ms);
  CHECK(w.steps == std::vector{step::soon, step::early, step::late});
}

TEST_CASE("a member timer can be armed again by the function it calls") {
  virtual_executor on;
  watch w(on);
  const time_point begun = on.now();
  w.start();
  on.run_until_idle();
  CHECK(w.steps == std::vector{step::soon, step::early, step::late, step::late, step::late, step::late});
  CHECK(on.now() - begun == 5ms);
}

TEST_CASE("a member timer that is disarmed calls nothing") {
  virtual_executor on;
  watch w(on);
  w.start();
  w.stop_late();
  on.run_for(1s);
  CHECK(w.steps == std::vector{step::soon, step::early});
  CHECK_FALSE(w.armed());
}

TEST_CASE("an owner may die with its timers disarmed and its node taken off") {
  virtual_executor on;
  {
    watch w(on);
    w.start();
    on.run_for(1ms);
  }
  CHECK(on.run_for(1s) == 0);
  CHECK(on.idle());
}

TEST_CASE("a member timer is a timer and one reference") {
  STATIC_REQUIRE(sizeof(member_timer<&std::vector<int>::pop_back>) == sizeof(timer_node) + sizeof(void*));
  STATIC_REQUIRE(std::is_same_v<member_node<&std::vector<int>::clear>::owner, std::vector<int>>);
}
