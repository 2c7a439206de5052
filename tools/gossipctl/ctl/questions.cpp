#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "choose.hpp"
#include "run.hpp"
#include "text.hpp"

namespace gossipctl {
namespace {

void print_json(const json& value) {
  fmt::print("{}\n", value.dump(-1, ' ', false, json::error_handler_t::replace));
}

json command_of(const char* name) {
  json command;
  command["command"] = name;
  return command;
}

int all_alive(std::uint64_t alive, std::uint64_t participants) {
  return alive == participants ? all_well : not_all_alive;
}

}  // namespace

int status(const arguments& args) {
  const auto said = ask_daemon(args, command_of("status"));
  if (!said.value) return said.code;
  const json& s = *said.value;
  if (args.as_json) {
    print_json(s);
  } else {
    fmt::print("{}", status_text(s, style::of_stdout()));
  }
  return all_alive(s["alive"].get<std::uint64_t>(), s["participants"].get<std::uint64_t>());
}

int members(const arguments& args) {
  const config c = need_config(args);
  const auto said = ask_daemon(args, command_of("members"));
  if (!said.value) return said.code;
  const json& all = *said.value;
  const auto alive =
      std::count_if(all.begin(), all.end(), [](const json& m) { return m["state"] == "alive"; });
  json wanted = json::array();
  for (const json& m : all)
    if (args.state.empty() || m["state"] == args.state) wanted.push_back(m);
  if (args.as_json) {
    print_json(wanted);
  } else {
    const double interval = std::chrono::duration<double, std::milli>(c.shared->interval()).count();
    fmt::print("{}", members_text(wanted, interval, style::of_stdout()));
  }
  return all_alive(static_cast<std::uint64_t>(alive), all.size());
}

int dump(const arguments& args) {
  const auto said = ask_daemon(args, command_of("dump"));
  if (!said.value) return said.code;
  if (args.as_json || args.form == "json") {
    print_json(*said.value);
  } else {
    fmt::print("{}", dump_text(*said.value, style::of_stdout()));
  }
  return all_well;
}

int explain(const arguments& args) {
  const config c = need_config(args);
  const auto who = find_participant(c, args.who);
  if (const auto* wrong = std::get_if<std::string>(&who)) throw usage_error(*wrong);
  json command = command_of("explain");
  command["who"] = std::get<participant_index>(who);
  const auto said = ask_daemon(args, command);
  if (!said.value) return said.code;
  if (args.as_json) {
    print_json(*said.value);
  } else {
    fmt::print("{}", explain_text(*said.value, style::of_stdout()));
  }
  return all_well;
}

int metrics(const arguments& args) {
  const auto said = ask_daemon(args, command_of("metrics"));
  if (!said.value) return said.code;
  if (args.as_json) {
    json wrapped;
    wrapped["text"] = *said.value;
    print_json(wrapped);
  } else {
    fmt::print("{}", said.value->get<std::string>());
  }
  return all_well;
}

}  // namespace gossipctl
