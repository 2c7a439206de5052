#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "member.hpp"
#include "transport/io/socket.hpp"

namespace bench {

/// What the processes of a group share with who measures them: a page for each, and what the first one
/// reports. What fails throws.
class group_memory {
 public:
  /// Makes it for so many processes.
  explicit group_memory(std::uint32_t count);
  /// Opens that of another process, from what `path` gave there.
  explicit group_memory(const std::string& path);
  ~group_memory();
  group_memory(const group_memory&) = delete;
  group_memory& operator=(const group_memory&) = delete;

  std::span<member_page> pages() const noexcept;
  report_page& report() const noexcept { return *report_; }
  /// Where other processes find it, for as long as this one has it.
  std::string path() const;

 private:
  void map(std::size_t bytes);

  scoll::transport::unique_fd file_;
  std::size_t bytes_ = 0;
  report_page* report_ = nullptr;
};

}  // namespace bench
