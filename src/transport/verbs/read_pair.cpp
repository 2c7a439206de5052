#include "transport/verbs/read_pair.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/verbs_link.hpp"

namespace scoll::transport::verbs {

read_pair::read_pair(device& owner, gate_pass open) noexcept
    : device_pair(owner, std::move(open), owner.read_pair_wanted()), rights_(*this, owner.options().windows) {
  make();
}

read_pair::~read_pair() {
  if (answers_.scheduled()) device_.home().unschedule(answers_);
}

void read_pair::introduce(introduction& said) const noexcept {
  said.read_pair = number();
  said.first_read_packet = first_packet();
}

void read_pair::connect(const introduction& peer) noexcept {
  path_request path = device_.path_to(peer);
  path.remote_queue_pair = peer.read_pair;
  path.remote_packet = peer.first_read_packet;
  path.reads_in = static_cast<std::uint8_t>(device_.reads_in());
  depth_ = std::min<std::uint32_t>(device_.reads_out(), peer.read_depth);
  path.reads_out = static_cast<std::uint8_t>(depth_);
  if (SCOLL_MUTANT(verbs_depth_ignored, "more READs are posted than the queue pair may have under way"))
    ++depth_;
  device_pair::connect(path);
}

void read_pair::serve(verbs_link& of, std::uint32_t id) noexcept {
  link_ = &of;
  id_ = id;
  if (failed_) of.break_off({errc::connection_lost, "the queue pair for reads has failed"});
}

void read_pair::release() noexcept {
  link_ = nullptr;
  failed_ = true;
  left_ = true;
  destroyed_ ? answer_later() : begin_end();
}

void read_pair::fail(const error& reason) noexcept {
  failed_ = true;
  if (link_ != nullptr) link_->break_off(reason);
}

memory_registrar& read_pair::registrar() noexcept {
  return device_.memory();
}

// ---- reads

void read_pair::read(remote_read& what) noexcept {
  waiting_.push_back(what);
  destroyed_ ? answer_later() : pump();
}

/// Posts what the depth allows.
void read_pair::pump() noexcept {
  while (!failed_ && !waiting_.empty() && under_way() < depth_) {
    std::array<read_request, most_posted> batch;
    const std::size_t count = fill(batch);
    const std::size_t posted = device_.context().post(object_, std::span(batch).first(count));
    device_.reads_posted(static_cast<std::uint32_t>(posted));
    if (posted == count) continue;
    // The device will complete none of those that are left, so their reads end only by `fail`.
    if (SCOLL_MUTANT(verbs_refused_reads_lost, "READs that the device has refused are waited for")) return;
    next_ -= static_cast<std::uint32_t>(count - posted);
    return fail({errc::connection_lost, "the device takes no more reads of this connection"});
  }
}

std::size_t read_pair::fill(std::span<read_request> batch) noexcept {
  std::size_t count = 0;
  while (count < batch.size() && !waiting_.empty() && under_way() < depth_) {
    remote_read& first = waiting_.front();
    const std::size_t size = std::min<std::size_t>(device_.read_bytes(), first.into.bytes.size() - begun_);
    batch[count++] = {.tag = tag_of(next_ & ~window_bit),
                      .into = first.into.bytes.data() + begun_,
                      .size = static_cast<std::uint32_t>(size),
                      .local_key = first.into.local_key,
                      .remote_address = first.from.address + begun_,
                      .remote_key = first.from.key};
    begun_ += size;
    const bool ends = begun_ == first.into.bytes.size();
    ends_[next_++ % most_depth] = ends;
    if (!ends) continue;
    posted_.push_back(waiting_.pop_front());
    begun_ = 0;
  }
  return count;
}

void read_pair::on_posted_done(const completion& done) noexcept {
  const std::uint32_t index = index_in(done);
  if ((index & window_bit) != 0) return on_window_done(index & ~window_bit, done);
  const std::uint32_t before = (index - first_) & ~window_bit;
  if (before >= under_way()) return;
  if (done.outcome != completion::result::success) {
    // What was posted behind it is flushed. Its memory is the device's until the queue pair is destroyed.
    forget_under_way();
    return fail(failure_of(done));
  }
  settle(first_ + before + 1);
  pump();
}

void read_pair::on_window_done(std::uint32_t window, const completion& done) noexcept {
  if (window_requests_ == 0) return;
  device_.reads_over(1);
  --window_requests_;
  if (done.outcome != completion::result::success) return fail(failure_of(done));
  rights_.on_window_done(window);
}

void read_pair::settle(std::uint32_t end) noexcept {
  device_.reads_over(end - first_);
  while (first_ != end) {
    const bool ends = ends_[first_++ % most_depth];
    if (ends && !posted_.empty()) posted_.pop_front().complete({});
  }
}

void read_pair::forget_under_way() noexcept {
  device_.reads_over(under_way());
  next_ = first_;
}

void read_pair::forget_window_requests() noexcept {
  device_.reads_over(std::exchange(window_requests_, 0));
}

// ---- rights

void read_pair::grant(read_grant& right, std::span<const registered_piece> pieces) noexcept {
  rights_.grant(right, pieces);
}

void read_pair::end(read_grant& right) noexcept {
  rights_.end(right);
}

window_request read_pair::binding(std::uint32_t window, const registered_piece& to) noexcept {
  const memory_object* const memory = device_.memory().find_object(to.local_key);
  SCOLL_ASSERT(memory != nullptr, "a right to memory that is not registered");
  return {tag_of(window_bit | window), window, memory, to.bytes};
}

window_request read_pair::unbinding(std::uint32_t window) noexcept {
  return {tag_of(window_bit | window), window, nullptr, {}};
}

bool read_pair::post(std::span<const window_request> requests) noexcept {
  const std::size_t posted = device_.context().post(object_, requests);
  device_.reads_posted(static_cast<std::uint32_t>(posted));
  window_requests_ += static_cast<std::uint32_t>(posted);
  if (posted == requests.size()) return true;
  fail({errc::connection_lost, "the device takes no more requests of this connection"});
  return false;
}

std::uint32_t read_pair::window_key(std::uint32_t window) const noexcept {
  return device_.context().window_key(object_, window);
}

void read_pair::answer_later() noexcept {
  if (!answers_.scheduled()) device_.home().schedule(answers_);
}

void read_pair::answer() noexcept {
  if (!destroyed_) return rights_.tell();
  finish_all();
  if (left_) device_.leave(*this);
}

// ---- the end

void read_pair::cut() noexcept {
  fail({errc::connection_lost, "the link was cut to end the use of memory"});
}

void read_pair::cut_now() noexcept {
  cut();
  destroy_now();
  rights_.forget();
  forget_under_way();
}

/// The device has let go of all memory. What has been read by then counts.
void read_pair::on_destroyed() noexcept {
  destroyed_ = true;
  forget_window_requests();
  fail({errc::connection_lost, "the queue pair for reads has ended"});
  answer_later();
}

void read_pair::finish_all() noexcept {
  const status lost = error(errc::connection_lost, "the connection broke before the memory was read");
  forget_under_way();
  // Whoever is told may end other reads, so each list is taken anew.
  for (reads* each : {&posted_, &waiting_}) {
    while (!each->empty()) each->pop_front().complete(lost);
  }
  rights_.finish();
}

}  // namespace scoll::transport::verbs
