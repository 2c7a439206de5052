#include "object_io.hpp"

#include <algorithm>

#include "scoll/coro/error_format.hpp"
#include "transport/io/io_awaitables.hpp"

namespace shard {

using scoll::errc;

namespace {

object_reply owner_says(std::uint64_t size) {
  object_reply reply;
  reply.from_owner = true;
  reply.size = size;
  return reply;
}

}  // namespace

scoll::task<scoll::result<object_reply>> object_desk::handle(scoll::node_id from,
                                                             const object_request& request,
                                                             scoll::stop_token stop) {
  const upload_key key{from, request.upload};
  switch (request.step) {
    case object_step::locate: co_return locate(request);
    case object_step::read: co_return co_await read(request, stop);
    case object_step::begin: co_return co_await begin(key, request);
    case object_step::write: co_return co_await write(key, request);
    case object_step::commit: co_return co_await commit(key, request);
    case object_step::abandon: uploads_.erase(key); break;
    default: co_return scoll::error(errc::invalid_argument, "there is no such step");
  }
  co_return owner_says(0);
}

scoll::result<object_reply> object_desk::locate(const object_request& request) const {
  const object_record* object = store_.find(request.name);
  if (object == nullptr) return scoll::error(errc::not_found, "there is no object of that name");
  object_reply found = owner_says(object->size);
  found.hash = object->hash;
  found.generation = object->generation;
  found.file = store_.file_of(*object);
  return found;
}

scoll::task<scoll::result<object_reply>> object_desk::read(const object_request& request,
                                                           scoll::stop_token stop) {
  auto found = locate(request);
  if (!found) co_return found.error();
  const object_record object = *store_.find(request.name);
  const auto file = co_await store_.open_to_read(object, stop);
  if (!file) co_return file.error();
  found->bytes.resize(std::min(request.length, read_piece_bytes));
  const auto n = co_await scoll::transport::async_read(*file, found->bytes, request.offset, stop);
  if (!n) co_return n.error();
  found->bytes.resize(*n);
  found->file.clear();
  co_return std::move(*found);
}

std::map<scoll::node_id, std::uint32_t> object_desk::uploads() const {
  std::map<scoll::node_id, std::uint32_t> all;
  for (const auto& [key, each] : uploads_) ++all[key.first];
  return all;
}

std::uint64_t object_desk::drop_uploads(scoll::node_id from) {
  return std::erase_if(uploads_, [from](const auto& each) { return each.first.first == from; });
}

void object_desk::make_room() {
  if (uploads_.size() < uploads_at_once) return;
  uploads_.erase(std::min_element(uploads_.begin(), uploads_.end(), [](const auto& a, const auto& b) {
    return a.second->sequence < b.second->sequence;
  }));
}

scoll::task<scoll::result<object_reply>> object_desk::begin(upload_key key, const object_request& request) {
  if (const auto allowed = upkeep_.allow_write(); !allowed) co_return allowed.error();
  auto created = co_await store_.create(request.name);
  if (!created) co_return created.error();
  make_room();
  uploads_[key] = std::make_shared<upload>(std::move(*created), ++sequence_);
  co_return owner_says(0);
}

scoll::task<scoll::result<object_reply>> object_desk::write(upload_key key, const object_request& request) {
  const auto found = uploads_.find(key);
  if (found == uploads_.end()) co_return scoll::error(errc::not_found, "the upload was given up");
  const upload_ptr into = found->second;
  const std::uint64_t size = into->object.record().size;
  if (into->busy || request.offset != size) {
    co_return scoll::make_error(errc::invalid_argument, "a piece for offset {} of an upload of {} bytes",
                                request.offset, size);
  }
  into->busy = true;
  into->hash.add(request.bytes);
  const auto written = co_await store_.write(into->object, request.bytes);
  if (!written) co_return written.error();  // the upload stays busy, so the next piece is refused
  into->busy = false;
  co_return owner_says(into->object.record().size);
}

scoll::task<scoll::result<object_reply>> object_desk::commit(upload_key key, const object_request& request) {
  const auto found = uploads_.find(key);
  if (found == uploads_.end() || found->second->busy)
    co_return scoll::error(errc::not_found, "the upload was given up");
  const upload_ptr whole = found->second;
  uploads_.erase(found);  // whatever happens now, the upload is over
  if (whole->hash.value() != request.hash)
    co_return scoll::error(errc::checksum_mismatch, "what arrived is not what was sent");
  const auto kept = co_await store_.commit(whole->object, request.hash, durability::disk);
  if (!kept) co_return kept.error();
  object_request ask;
  ask.name = whole->object.record().name;
  co_return locate(ask);
}

}  // namespace shard
