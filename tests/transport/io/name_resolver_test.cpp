#include "transport/io/name_resolver.hpp"

#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "on_reactor.hpp"
#include "tests/support/name_table.hpp"

using namespace scoll;
using namespace scoll::transport;
using scoll::test::name_table;

namespace {

/// Records what comes of a wait.
class asking final : public name_wait {
 public:
  asking() noexcept : name_wait(&heard) {}
  int calls = 0;
  const address_list& addresses() const noexcept { return addresses_; }
  const error& reason() const noexcept { return no_address_; }

 private:
  static void heard(name_wait& wait) noexcept { ++static_cast<asking&>(wait).calls; }
};

std::string host_name(std::size_t number) {
  return "storage-" + std::to_string(number);
}

}  // namespace

TEST_CASE("a name is looked up on another thread, and the answer comes in a later turn", "[reactor]") {
  const auto loop = on_reactor::make();
  name_table names;
  names.set("storage-1", {"10.0.0.1", "[::1]"});
  std::thread::id looked_up_by;
  const auto look_up = [&, ask = names.function()](const std::string& name) {
    looked_up_by = std::this_thread::get_id();
    return ask(name);
  };
  name_resolver resolver(*loop, look_up);
  asking known;
  asking unknown;
  REQUIRE(resolver.begin(known, "storage-1"));
  on_reactor::turn_until(*loop, [&] { return known.calls == 1; });
  CHECK(looked_up_by != std::this_thread::get_id());
  REQUIRE(known.addresses().size() == 2);
  CHECK(known.addresses()[0].to_string() == "10.0.0.1:0");
  CHECK(known.addresses()[1].to_string() == "[::1]:0");
  CHECK_FALSE(known.reason());
  REQUIRE(resolver.begin(unknown, "storage-2"));
  on_reactor::turn_until(*loop, [&] { return unknown.calls == 1; });
  CHECK(unknown.addresses().empty());
  CHECK(unknown.reason() == error(errc::not_found, "no such host"));
}

TEST_CASE("names that are not answered hold a thread each, up to the most, and others wait", "[reactor]") {
  const auto loop = on_reactor::make();
  name_table names;
  names.hold();
  name_resolver resolver(*loop, names.function());
  std::deque<asking> all(2 * name_resolver::most_threads);
  for (std::size_t i = 0; i < all.size(); ++i) {
    names.set(host_name(i), {"10.0.0.1"});
    REQUIRE(resolver.begin(all[i], host_name(i)));
  }
  asking again;
  REQUIRE(resolver.begin(again, host_name(0)));  // shares the look-up
  names.await_asked(name_resolver::most_threads);
  on_reactor::settle(*loop);
  CHECK(names.asked() == name_resolver::most_threads);
  for (const asking& each : all) CHECK(each.calls == 0);
  names.release();
  on_reactor::turn_until(*loop, [&] { return std::ranges::all_of(all, &asking::calls) && again.calls == 1; });
  CHECK(names.asked() == all.size());
  for (const asking& each : all) CHECK(each.calls == 1);
}

TEST_CASE("a name is looked up anew once its answer has come", "[reactor]") {
  const auto loop = on_reactor::make();
  name_table names;
  name_resolver resolver(*loop, names.function());
  names.set("storage-1", {"10.0.0.1"});
  asking first;
  REQUIRE(resolver.begin(first, "storage-1"));
  on_reactor::turn_until(*loop, [&] { return first.calls == 1; });
  names.set("storage-1", {"10.0.0.2"});
  asking second;
  REQUIRE(resolver.begin(second, "storage-1"));
  on_reactor::turn_until(*loop, [&] { return second.calls == 1; });
  CHECK(first.addresses() != second.addresses());
}

TEST_CASE("a cancelled wait is not called, and the resolver and its reactor may end before the answer comes",
          "[reactor]") {
  name_table names;
  {
    const auto loop = on_reactor::make();
    names.hold();
    name_resolver resolver(*loop, names.function());
    std::deque<asking> all(name_resolver::most_threads + 2);
    for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(resolver.begin(all[i], host_name(i)));
    names.await_asked(name_resolver::most_threads);
    for (asking& each : all) CHECK(resolver.cancel(each));
    on_reactor::settle(*loop);
    for (const asking& each : all) CHECK(each.calls == 0);
  }
  CHECK(names.asked() == name_resolver::most_threads);  // what had not begun never begins
}

TEST_CASE("a wait that is cancelled while its answer comes is either called or not, as the result says",
          "[reactor]") {
  const auto loop = on_reactor::make();
  name_table names;
  names.set("storage-1", {"10.0.0.1"});
  name_resolver resolver(*loop, names.function());
  int taken_back = 0;
  for (std::size_t round = 0; round < 300; ++round) {
    asking one;
    REQUIRE(resolver.begin(one, "storage-1"));
    for (std::size_t i = 0; i < round % 30; ++i) std::this_thread::yield();
    if (resolver.cancel(one)) {
      ++taken_back;
      loop->run_once(nanoseconds::zero());
      REQUIRE(one.calls == 0);
    } else {
      REQUIRE(one.calls == 0);
      on_reactor::turn_until(*loop, [&] { return one.calls == 1; });
    }
  }
  INFO("taken back " << taken_back);
}
