#include "tests/support/tests_folder.hpp"

namespace scoll::test {

std::filesystem::path tests_folder() {
  return SCOLL_TESTS_DIR;
}

}  // namespace scoll::test
