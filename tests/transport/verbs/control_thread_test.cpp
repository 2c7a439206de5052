#include "transport/verbs/control_thread.hpp"

#include <semaphore>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/transport/io/on_reactor.hpp"

using scoll::transport::verbs::control_job;
using scoll::transport::verbs::control_thread;

namespace {

/// A job that waits until it may end, and that notes what has happened to it.
class waiting_job final : public control_job {
 public:
  explicit waiting_job(std::vector<int>& ends, int number) : ends_(ends), number_(number) {}
  ~waiting_job() = default;

  void perform() noexcept override {
    begun.release();
    may_end.acquire();
    by = std::this_thread::get_id();
    ++performed;
  }
  void on_done() noexcept override { ends_.push_back(number_); }

  std::binary_semaphore begun{0};
  std::counting_semaphore<> may_end{0};
  std::thread::id by;
  int performed = 0;

 private:
  std::vector<int>& ends_;
  int number_;
};

}  // namespace

TEST_CASE("a job that is finished is done at once, by whoever is free, and once", "[reactor]") {
  const auto loop = on_reactor::make();
  std::vector<int> ends;
  waiting_job first(ends, 1);
  waiting_job second(ends, 2);
  waiting_job third(ends, 3);
  control_thread control(*loop);
  for (waiting_job* each : {&first, &second, &third}) control.submit(*each);
  first.begun.acquire();  // the thread is busy with it
  third.may_end.release();
  control.finish(third);
  CHECK(third.performed == 1);
  CHECK(third.by == std::this_thread::get_id());
  CHECK(ends.empty());  // that comes in a later step
  control.finish(third);
  CHECK(third.performed == 1);

  std::thread other([&] {
    first.may_end.release();
    second.may_end.release();
  });
  control.finish(first);
  CHECK(first.performed == 1);
  CHECK(first.by != std::this_thread::get_id());
  other.join();
  on_reactor::turn_until(*loop, [&] { return ends.size() == 3; });
  CHECK(ends == std::vector{3, 1, 2});
  CHECK(second.performed == 1);
  CHECK(third.performed == 1);
}
