#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "on_reactor.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "tests/catch.hpp"
#include "transport/sim/sim_file_system.hpp"
#include "transport/sim/virtual_executor.hpp"

/// Files for tests: real files over a reactor, and simulated ones.
namespace files_for_tests {

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;

/// A directory that is removed at the end of the test.
class scratch {
 public:
  scratch() {
    const char* const base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/scoll-file-test-XXXXXX";
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// A host with a directory to work in.
class host {
 public:
  virtual ~host() = default;
  virtual file_system& files() = 0;
  virtual const std::string& directory() const = 0;
  virtual void run(task<> work) = 0;
  std::string operator/(std::string_view name) const { return directory() + "/" + std::string(name); }
};

class real_host final : public host {
 public:
  explicit real_host(std::uint32_t disable = 0) : reactor_(on_reactor::make({.disable = disable})) {}
  file_system& files() override { return *reactor_; }
  const std::string& directory() const override { return scratch_.path(); }
  void run(task<> work) override { on_reactor::run(*reactor_, std::move(work)); }

 private:
  scratch scratch_;
  std::unique_ptr<reactor> reactor_;
};

class sim_host final : public host {
 public:
  explicit sim_host(std::uint64_t seed = 1, sim_file_options options = {},
                    std::uint64_t capacity = sim_disk::no_limit)
      : options_(options), disk_(seed, capacity) {
    REQUIRE(disk_.make_directory(directory_, 0755) == 0);
    sim_disk::node root;
    REQUIRE(disk_.find("/", root) == 0);
    disk_.sync(root);
    restart();
  }
  sim_file_system& files() override { return *files_; }
  sim_disk& disk() noexcept { return disk_; }
  virtual_executor& time() noexcept { return time_; }
  const std::string& directory() const override { return directory_; }
  void run(task<> work) override { scoll::run(time_, std::move(work)); }
  template <class T>
  T get(task<T> work) {
    return scoll::run(time_, std::move(work));
  }
  /// Starts a new process; after a crash, a new life.
  void restart() { files_ = std::make_unique<sim_file_system>(time_, disk_, options_); }
  void crash() {
    files_->crash();
    restart();
  }

 private:
  const std::string directory_ = "/disk";
  sim_file_options options_;
  virtual_executor time_;
  sim_disk disk_;
  std::unique_ptr<sim_file_system> files_;
};

/// Both kinds, in every possible setup.
inline std::unique_ptr<host> any_host() {
  const int kind = GENERATE(0, 1, 2);
  if (kind == 0) return std::make_unique<real_host>(on_reactor::any_setup());
  sim_file_options options;
  options.short_counts = kind == 2;
  return std::make_unique<sim_host>(7, options);
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace files_for_tests
