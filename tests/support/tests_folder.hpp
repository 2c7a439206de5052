#pragma once

#include <filesystem>

namespace scoll::test {

/// The folder `tests` of the source tree, for tests that read its files.
std::filesystem::path tests_folder();

}  // namespace scoll::test
