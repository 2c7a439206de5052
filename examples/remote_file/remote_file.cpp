// Files of a server, for programs that are no servers. `remote_file serve` is a server. `put` and `get` are
// clients: nodes that no server lists. They need only the server's address. File contents are bulk data, which
// the server pulls from the client's memory and pushes into it.
//   remote_file serve /srv/files --listen 10.0.0.3:7010
//   remote_file put tcp://10.0.0.3:7010 report.pdf
//   remote_file get tcp://10.0.0.3:7010 report.pdf copy.pdf
// Without a command it does all of this once, with a server process of its own, and prints something like:
//   put 5000000 bytes to a file of 5000000, got 5000000 back: the same
//   missing.txt: io_error: open: No such file or directory (errno 2)
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "demo.hpp"
#include "programs.hpp"

int main(int argc, char** argv) {
  CLI::App app(
      "Files of a server, for programs that are no servers. Without a command it shows itself once.\n"
      "Exit status: 0 done, 1 failed, 2 usage.");
  app.require_subcommand(0, 1);
  remote_file::server_arguments serving;
  CLI::App* const serve = app.add_subcommand("serve", "Serve the files of a folder until SIGTERM or SIGINT");
  serve->add_option("folder", serving.folder)->required()->check(CLI::ExistingDirectory);
  serve->add_option("--listen", serving.listen, "The address; port 0 takes a free one")
      ->capture_default_str();

  remote_file::client_arguments asking;
  CLI::App* const put = app.add_subcommand("put", "Store a file on a server");
  put->add_option("address", asking.address, "Such as tcp://10.0.0.3:7010")->required();
  put->add_option("file", asking.file)->required()->check(CLI::ExistingFile);
  put->add_option("name", asking.name, "The name there; that of the file if not given");
  CLI::App* const get = app.add_subcommand("get", "Fetch a file from a server");
  get->add_option("address", asking.address, "Such as tcp://10.0.0.3:7010")->required();
  get->add_option("name", asking.name)->required();
  get->add_option("file", asking.file, "Where to write it; the name if not given");
  for (CLI::App* const each : {put, get})
    each->add_option("--timeout", asking.timeout_s, "Seconds")->check(CLI::Range(0.001, 86'400.0));

  try {
    app.parse(argc, argv);
    if (*serve) return remote_file::serve(serving, nullptr);
    if (*put) return remote_file::put(asking);
    if (*get) return remote_file::get(asking);
    return remote_file::demonstrate();
  } catch (const CLI::ParseError& mistake) {
    return app.exit(mistake) == 0 ? 0 : 2;
  } catch (const std::exception& failed) {
    fmt::print(stderr, "remote_file: {}\n", failed.what());
    return 1;
  }
}
