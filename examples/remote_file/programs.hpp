#pragma once

#include <functional>
#include <string>

/// What the commands of the program do. Each returns its exit status, and may throw.
namespace remote_file {

struct server_arguments {
  std::string folder;
  std::string listen = "127.0.0.1:0";
};

/// Serves until SIGTERM or SIGINT. `listening`, if given, is told the address; else it is printed.
int serve(const server_arguments& args, const std::function<void(const std::string&)>& listening);

struct client_arguments {
  std::string address;
  std::string file;  ///< the client's
  std::string name;  ///< the server's
  double timeout_s = 30;
};

int put(client_arguments args);
int get(client_arguments args);

}  // namespace remote_file
