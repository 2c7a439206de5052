#include "source_walk.hpp"

#include <fts.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace shard {
namespace {

using fts_handle = std::unique_ptr<FTS, decltype([](FTS* f) { ::fts_close(f); })>;

int by_name(const FTSENT** a, const FTSENT** b) {
  return std::strcmp((*a)->fts_name, (*b)->fts_name);
}

/// Decides what to do with one entry. Returns false to end the walk.
class visitor {
 public:
  visitor(const walk_order& order, walk_result& found) : order_(order), found_(found) {}

  bool visit(const FTSENT& entry) {
    switch (entry.fts_info) {
      case FTS_F: return visit_file(entry.fts_path, static_cast<std::uint64_t>(entry.fts_statp->st_size));
      case FTS_DNR:
      case FTS_ERR:
      case FTS_NS:
        if (mine(entry.fts_path)) ++found_.unreadable;
        return true;
      default: return true;
    }
  }

 private:
  bool mine(std::string_view path) const { return order_.place.owns(object_name_of(path)); }

  bool visit_file(const std::string& path, std::uint64_t size) {
    if (objects_ == order_.max_objects || size > order_.max_bytes - bytes_) {
      found_.limit_reached = true;
      return false;
    }
    ++objects_;
    bytes_ += size;
    if (mine(path)) found_.files.push_back(path);
    return true;
  }

  const walk_order& order_;
  walk_result& found_;
  std::uint64_t objects_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::string object_name_of(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return std::string(path);
}

scoll::result<walk_result> walk(const walk_order& order, const scoll::cancel_flag& flag) {
  std::string folder = order.folder;
  char* const roots[] = {folder.data(), nullptr};
  const fts_handle tree(::fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, &by_name));
  if (!tree) return scoll::error::system(errno, "open " + folder);
  walk_result found;
  visitor each(order, found);
  for (errno = 0; const FTSENT* entry = ::fts_read(tree.get()); errno = 0) {
    if (entry->fts_level == FTS_ROOTLEVEL && entry->fts_errno != 0)
      return scoll::error::system(entry->fts_errno, "open " + folder);
    if (flag.requested()) return scoll::errc::cancelled;
    if (!each.visit(*entry)) return found;
  }
  if (errno != 0) return scoll::error::system(errno, "walk " + folder);
  return found;
}

}  // namespace shard
