#include "scoll/collective/reply_memory.hpp"

#include "scoll/coro/error_format.hpp"

namespace scoll::detail {

error reply_memory::why_full(std::size_t bytes) const {
  if (bytes <= limit_ - used_) return {};
  return make_error(errc::busy, "{} bytes are left for parts of replies, {} needed: node.reply_memory is {}",
                    limit_ - used_, bytes, limit_);
}

}  // namespace scoll::detail
