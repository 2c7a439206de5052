// Step 6 of docs/guide.md: a server takes a new incarnation at every start, whatever its wall clock says.
#include <cstdlib>
#include <filesystem>

#include "scoll/coro.hpp"
#include "scoll/incarnation_store.hpp"

namespace {

// [options]
scoll::task<scoll::result<scoll::node_options>> options_of(scoll::transport::file_system& files,
                                                           scoll::node_id id, std::string directory) {
  scoll::node_options options{.id = id, .cluster = "guide", .directory = std::move(directory)};
  const auto chosen = co_await scoll::choose_incarnation(files, options);
  if (!chosen) co_return chosen.error();  // it names the damaged file; no start without a new number
  co_return options;
}
// [options]

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "guide.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const auto loop = scoll::transport::reactor::create().value();
  const auto first = sync_wait(*loop, options_of(*loop, 1, folder));
  const auto second = sync_wait(*loop, options_of(*loop, 1, folder));
  std::filesystem::remove_all(folder);
  return first && second && second->incarnation > first->incarnation ? 0 : 1;
}
