#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "member.hpp"
#include "transport/io/socket.hpp"

namespace bench {

/// The memory that the processes of a group share with the program that measures them: a page for each
/// process, and the report of the first one. All functions throw on failure.
class group_memory {
 public:
  /// Creates the memory for this many processes.
  explicit group_memory(std::uint32_t count);
  /// Opens the memory of another process by the path that `path` returned there.
  explicit group_memory(const std::string& path);
  ~group_memory();
  group_memory(const group_memory&) = delete;
  group_memory& operator=(const group_memory&) = delete;

  std::span<member_page> pages() const noexcept;
  report_page& report() const noexcept { return *report_; }
  /// The path by which other processes can open the memory while this object exists.
  std::string path() const;

 private:
  void map(std::size_t bytes);

  scoll::transport::unique_fd file_;
  std::size_t bytes_ = 0;
  report_page* report_ = nullptr;
};

}  // namespace bench
