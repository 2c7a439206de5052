#include "ls_command.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "answer_json.hpp"

namespace shard {

scoll::task<json> ls_command::run() {
  answer_account account;
  for (bool again = true;; again = false) {
    const auto group = co_await all_.group_of<ls>(command_.until);
    if (!group) {
      account = (co_await all_.nobody_asked<ls>(group.error(), stop_)).account;
      break;
    }
    account = co_await list(*group);
    if (!collectives::knows_a_stale_group(account.outcome)) break;
    co_await all_.drop<ls>(*group);
    if (!again || names_ != 0) break;  // nothing is listed twice
  }
  json all = to_json(account);
  all["value"]["names"] = names_;
  all["root"] = self_.id();
  co_return all;
}

scoll::task<answer_account> ls_command::list(scoll::group<ls> group) {
  ls::request request;
  request.prefix = command_.object;
  scoll::bcast_options options;
  options.deadline = command_.until;
  options.stop = stop_;
  auto pages = scoll::gather(group, request, options);
  scoll::status written;
  for (;;) {
    const auto page = co_await pages.next();
    if (!page) break;
    if (written) written = co_await write(group.members().node(page->rank), page->value);
  }
  answer_account account;
  account.ended = pages.status();
  account.outcome = pages.outcome();
  account.members = group.shared_members();
  co_return account;
}

scoll::task<scoll::status> ls_command::write(scoll::node_id from, const ls::page& names) {
  json line;
  line["node"] = from;
  line["names"] = names;
  names_ += names.size();
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace);
  scoll::status written = co_await client_.write_line(text);
  co_return written;
}

}  // namespace shard
