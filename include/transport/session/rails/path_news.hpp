#pragma once

#include <cstdint>
#include <string_view>

#include "scoll/coro/error.hpp"
#include "transport/session/rails/path.hpp"

namespace scoll::transport {

/// The text of an error, or the name of its code if it has none.
inline std::string_view words_of(const error& e) noexcept {
  return e.text().empty() ? to_string(e.code()) : e.text();
}

/// What has become of one of several paths to a peer. It is valid during the call that hands it over.
struct path_news {
  enum class kind : std::uint8_t {
    suspected,  ///< the path does not answer while another one does
    dead,       ///< its connection for control is gone
    good,       ///< it has proven itself after trouble
    crossed,    ///< its connections arrive at another rail of the peer than they are meant for
    moved,      ///< messages go by `to` now, and went by `path` before
  };

  kind what{};
  path_key path;
  path_key to;             ///< of messages that have moved; of a crossed path, what it really leads to
  bool bulk = false;       ///< messages of class bulk have moved, else those of the other classes
  std::string_view why{};  ///< empty if the path is good or crossed
};

}  // namespace scoll::transport
