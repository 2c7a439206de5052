#pragma once

inline scoll::task<void> tell(scoll::node& self, scoll::node_id peer, std::string text, bool cut) {
  co_await scoll::notify(self, peer, print, cut ? text + "..." : text);
}
