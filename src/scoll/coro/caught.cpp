#include "scoll/coro/caught.hpp"

#include <exception>

namespace scoll::detail {

error caught(std::string_view otherwise) noexcept {
  try {
    throw;
  } catch (const failure& f) {
    return f.error();
  } catch (const std::exception& e) {
    return {errc::hook_failed, e.what()};
  } catch (...) {
    return {errc::hook_failed, otherwise};
  }
}

}  // namespace scoll::detail
