#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/verbs/verbs_options.hpp"

namespace scoll::transport {

class verbs_api;

/// The RDMA devices of a machine, for people: what there is, and what keeps a verbs rail from using it. Each
/// trouble is a sentence that says what is wrong and what to do.
struct verbs_survey {
  enum class address_kind : std::uint8_t { roce_v2, infiniband, other };  ///< a rail uses the first two

  struct address {
    std::string text;
    address_kind kind = address_kind::other;
  };
  struct port {
    std::uint8_t number = 1;
    bool active = false;
    bool ethernet = false;
    std::uint32_t mtu = 0;           ///< in bytes
    std::vector<address> addresses;  ///< those that are set
    std::vector<std::string> troubles;
  };
  struct device {
    std::string name;
    std::uint8_t reads = 0;  ///< READs of one link that may be under way
    std::vector<port> ports;
    std::vector<std::string> troubles;
  };

  std::vector<device> devices;
  std::optional<std::uint64_t> locked_limit;  ///< in bytes; nothing: there is no limit
  std::uint64_t locked_bytes = 0;             ///< that one rail locks, beside what a program registers
  std::vector<std::string> troubles;          ///< of the machine

  /// True if a rail with these options can use one of the devices.
  bool usable() const noexcept;
};

/// The most bytes that this process may lock in memory; nothing if it may lock as many as it likes.
std::optional<std::uint64_t> locked_memory_limit();

/// Looks at all devices, or at the one that the options name. It opens them, which may block.
verbs_survey survey_verbs(verbs_api& devices, const verbs_options& options,
                          std::optional<std::uint64_t> locked_limit = locked_memory_limit());

}  // namespace scoll::transport
