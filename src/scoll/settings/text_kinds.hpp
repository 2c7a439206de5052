#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "transport/io/socket.hpp"

/// The kinds of settings that are texts: addresses, names and paths.
namespace scoll::detail::setting_kinds {

struct local_address {
  static bool read(std::string& into, std::string_view text) {
    if (!text.empty() && !transport::socket_address::parse(text)) return false;
    into = text;
    return true;
  }
  static std::string write(const std::string& value) { return value; }
};

/// An address that the node's rail will read, and check: only characters that no address has are refused.
struct address {
  static bool read(std::string& into, std::string_view text) {
    const auto odd = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
    if (std::ranges::any_of(text, odd)) return false;
    into = text;
    return true;
  }
  static std::string write(const std::string& value) { return value; }
};

/// The IP address of a port, or nothing.
struct host_number {
  static bool read(std::string& into, std::string_view text) {
    const bool v6 = text.find(':') != std::string_view::npos;
    const std::string with_port = v6 ? fmt::format("[{}]:0", text) : fmt::format("{}:0", text);
    if (!text.empty() && !transport::socket_address::parse(with_port)) return false;
    into = text;
    return true;
  }
  static std::string write(const std::string& value) { return value; }
};

/// A word of at most so many letters, digits and other characters of that list.
template <std::size_t most_letters, char... others>
struct word {
  static bool read(std::string& into, std::string_view text) {
    const auto odd = [](char c) {
      return ((c != others) && ...) && std::isalnum(static_cast<unsigned char>(c)) == 0;
    };
    if (text.size() > most_letters || std::ranges::any_of(text, odd)) return false;
    into = text;
    return true;
  }
  static std::string write(const std::string& value) { return value; }
};

/// The name of an RDMA device, or nothing. A missing device is only noticed when it is opened.
using device_name = word<63, '_', '-'>;

/// The name of one of the kernel's congestion control modules. A missing module is only noticed when a
/// connection is made.
using algorithm = word<15, '_'>;

/// A path of a socket; `{node}` in it leaves room for any id.
struct socket_path {
  static bool read(std::string& into, std::string_view text) {
    if (text.size() > most_letters || text.find('\0') != std::string_view::npos) return false;
    into = text;
    return true;
  }
  static std::string write(const std::string& value) { return value; }
  static constexpr std::size_t most_letters = 93;
};

/// A path of a file that a node reads.
struct file_path {
  static bool read(std::string& into, std::string_view text) {
    if (text.find('\0') != std::string_view::npos) return false;
    into = text;
    return true;
  }
  static std::string write(const std::string& value) { return value; }
};

}  // namespace scoll::detail::setting_kinds
