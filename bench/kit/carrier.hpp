#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/io/reactor.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {
class verbs_api;
}  // namespace scoll::transport

namespace bench {

/// The rail by which a measured process reaches the others: TCP over loopback, or verbs, by a device that has an
/// address of its own for each process.
class carrier {
 public:
  /// `verbs` is the address of this process, such as "10.0.0.1"; empty: TCP. Throws if there is no libibverbs here.
  carrier(scoll::transport::reactor& home, const std::string& congestion_control, const std::string& verbs);
  ~carrier();

  scoll::transport::rail& rail() noexcept { return *rails_.back(); }
  /// With a free port.
  const std::string& listen_address() const noexcept { return listen_address_; }

 private:
  std::shared_ptr<scoll::transport::verbs_api> devices_;
  std::vector<std::unique_ptr<scoll::transport::rail>> rails_;  // each stands on the one before it
  std::string listen_address_;
};

/// True if this program was built with libibverbs.
bool verbs_built() noexcept;

}  // namespace bench
