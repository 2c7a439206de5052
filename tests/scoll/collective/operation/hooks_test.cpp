#include "scoll/collective/operation/hooks.hpp"

#include <string_view>

#include "tests/catch.hpp"

using scoll::errc;
using scoll::error;
using scoll::detail::hook_kind;
using scoll::detail::hook_set;

TEST_CASE("hooks that run as coroutines are counted and named until they end", "[hooks]") {
  hook_set hooks;
  CHECK_FALSE(hooks.any_running());
  hook_set::state& execute = hooks.begin(hook_kind::execute);
  hook_set::state& on_reply = hooks.begin(hook_kind::on_reply);
  const auto names = hooks.running();
  REQUIRE(names.size() == 2);
  CHECK(std::string_view(names[0]) == "execute");
  CHECK(std::string_view(names[1]) == "on_reply");

  hooks.end(on_reply, {});
  CHECK(hooks.any_running());
  CHECK(on_reply.done);
  CHECK(on_reply.outcome.has_value());
  hooks.end(execute, error(errc::hook_failed, "no"));
  CHECK_FALSE(hooks.any_running());
  CHECK(hooks.at(hook_kind::execute).outcome.error() == errc::hook_failed);
}

TEST_CASE("a hook that begins again is not done", "[hooks]") {
  hook_set hooks;
  hooks.end(hooks.begin(hook_kind::on_reply), {});
  CHECK(hooks.at(hook_kind::on_reply).done);
  hooks.begin(hook_kind::on_reply);
  CHECK_FALSE(hooks.at(hook_kind::on_reply).done);
  CHECK(hooks.any_running());
}

TEST_CASE("a plain hook is done without having run beside anything", "[hooks]") {
  hook_set hooks;
  hooks.at(hook_kind::execute).finish({});
  CHECK(hooks.at(hook_kind::execute).done);
  CHECK_FALSE(hooks.any_running());
  CHECK(hooks.running().empty());
}
