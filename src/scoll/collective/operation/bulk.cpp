#include "scoll/collective/operation/bulk.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "scoll/collective/bulks.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/writable.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

// The pause before a busy source is asked again grows from one to the other.
constexpr nanoseconds first_pause = std::chrono::milliseconds(1);
constexpr nanoseconds longest_pause = std::chrono::milliseconds(50);

}  // namespace

operation_bulk::operation_bulk(engine& owner) : engine_(owner), landing_(owner.wire(), *this) {}

operation_bulk::~operation_bulk() = default;

// ---- the beginning

void operation_bulk::begin(const operation_subject& subject, event& progress) {
  SCOLL_ASSERT(stage_ == stage::idle, "bulk data belong to one operation at a time");
  subject_ = &subject;
  progress_ = &progress;
  stage_ = stage::heard;
}

void operation_bulk::offer(const operation_subject& subject, event& progress, const bulk_view& object,
                           const bulk_pieces& pieces, const bulk_plan& plan, nanoseconds time) {
  begin(subject, progress);
  pieces_ = pieces;
  info_ = {pieces.length(), pieces.piece_bytes(), plan};
  time_ = time;
  for (const auto part : object.parts()) place_.push_back(transport::as_writable(part));
  stage_ = stage::placed;
  has_place_ = true;
}

void operation_bulk::offer_again(const operation_subject& subject, event& progress,
                                 const operation_bulk& first, bool whole) {
  begin(subject, progress);
  pieces_ = first.pieces_;
  info_ = first.info_;
  if (whole) info_.plan = bulk_plan::whole();
  time_ = first.time_;
  place_ = first.place_;
  stage_ = stage::placed;
  has_place_ = true;
}

void operation_bulk::hear(const operation_subject& subject, event& progress, const bulk_head& said) {
  begin(subject, progress);
  pieces_ = bulk_pieces::divide(said.length, said.piece_bytes).value();
  info_ = {said.length, said.piece_bytes, said.routes()};
  time_ = nanoseconds(static_cast<std::int64_t>(std::min(said.time_ns, longest_extension_ns)));
  parent_memory_ = said.from;
}

status operation_bulk::receive(std::span<const std::span<std::byte>> place) {
  if (stage_ != stage::heard) return error(errc::already_exists, "the bulk data have a place");
  std::uint64_t size = 0;
  for (const auto part : place) size += part.size();
  if (size != info_.length) {
    return make_error(errc::invalid_argument, "a place of {} bytes for {} bytes of bulk data", size,
                      info_.length);
  }
  place_.assign(place.begin(), place.end());
  stage_ = stage::placed;
  has_place_ = true;
  return {};
}

bulk_routes operation_bulk::routes() const noexcept {
  return {info_.plan, subject_->members, pieces_.count(), subject_->tree};
}

status operation_bulk::expose(time_point ends, const bulk_passing& passing) {
  const bool none = pieces_.count() == 0;
  if (stage_ == stage::heard && none) stage_ = stage::placed;
  if (stage_ == stage::heard && passing.slots != 0) {
    if (const status made = make_slots(passing); !made) return made;
  }
  if (stage_ != stage::placed) {
    return make_error(errc::invalid_argument,
                      "prepare gave no place for {} bytes of bulk data: receive_bulk, or bulk_window",
                      info_.length);
  }
  ends_at_ = ends;
  ends_.assign(place_);
  landed_.assign(pieces_.count(), subject_->is_root());
  if (!none) {
    transport::piece_options options;
    options.piece_bytes = info_.piece_bytes;
    options.complete = subject_->is_root();
    options.length_in_slots = passes_ ? info_.length : 0;
    options.events = this;
    auto region = transport::memory_region::expose_pieces(
        engine_.wire(), std::span<const std::span<std::byte>>(place_), options);
    if (!region) return region.error();
    region_ = std::move(*region);
    find_readers();
    if (passes_) window_.begin(pieces_.count(), static_cast<std::uint32_t>(place_.size()), consumers_);
  }
  stage_ = stage::exposed;
  exposed_ = true;
  engine_.bulk_data().decided(*this);
  if (!none && !subject_->is_root()) begin_landing();
  return {};
}

std::uint32_t operation_bulk::parent_of(std::uint32_t relative) const {
  return subject_->tree.parent(subject_->members, relative);
}

/// True if the member is in this node's subtree.
bool operation_bulk::is_below(std::uint32_t relative) const {
  // The walk is bounded, because a user's tree is not trusted.
  for (std::uint32_t steps = 0; relative != 0 && steps < subject_->members; ++steps) {
    relative = parent_of(relative);
    if (relative == subject_->relative) return true;
    if (relative >= subject_->members) return false;
  }
  return false;
}

/// Finds the members that read here by plan. Those in this node's subtree have ended when it has, and those that are
/// held dead are not awaited.
void operation_bulk::find_readers() {
  readers_.clear();
  consumers_.clear();
  routes().for_each_consumer(subject_->relative, [&](std::uint32_t reader) {
    if (reader >= subject_->members) return;
    consumers_.push_back(reader);
    if (!is_below(reader) && !engine_.lives().is_dead(node_at(reader))) readers_.push_back(reader);
  });
}

void operation_bulk::begin_landing() {
  ancestors_.clear();
  // Trees may be deep, and a user's tree is not trusted. All ways end at the root.
  for (std::uint32_t r = parent_of(subject_->relative); r != 0 && r < subject_->members; r = parent_of(r)) {
    if (ancestors_.size() + 1 == bulk_landing::most_ancestors) break;
    ancestors_.push_back(r);
  }
  ancestors_.push_back(0);
  lands_ = true;
  const bool whole = info_.plan.kind() == bulk_plan_kind::whole;
  const bool wrongly =
      SCOLL_MUTANT(schedule_of_neighbour, "a member gets its pieces by the schedule of another one");
  const std::uint32_t as = wrongly ? subject_->relative % (subject_->members - 1) + 1 : subject_->relative;
  landing_.begin({pieces_, place_, &region_, whole, passes_}, routes().intake(as), ancestors_);
}

bulk_head operation_bulk::head_for_children() const noexcept {
  bulk_head head;
  head.length = info_.length;
  head.piece_bytes = info_.piece_bytes;
  head.plan = static_cast<std::uint8_t>(info_.plan.kind());
  head.radix = info_.plan.radix();
  head.time_ns = static_cast<std::uint64_t>(time_.count());
  if (region_.exposed()) head.from = region_.descriptor();
  return head;
}

// ---- the pieces

void operation_bulk::on_landed(std::uint32_t piece) noexcept {
  landed_[piece] = true;
  arrived_.push_back(piece);
  if (landing_.missing() == 0) close_requests();
  if (passes_ && failure_) {
    see(piece);
  } else if (passes_) {
    pass_on();
  }
  progress_->set();
}

void operation_bulk::on_failed(const error& why) noexcept {
  fail(why);
}

void operation_bulk::on_ordered(std::uint32_t piece, node_id, bool up) noexcept {
  if (up) landing_.rise(piece);
}

/// Takes the next piece to hand out: by offset, or as they arrive where the plan brings them in no order.
std::optional<std::uint32_t> operation_bulk::next_landed() noexcept {
  const bool in_order = subject_->is_root() || info_.plan.kind() != bulk_plan_kind::circulant;
  if (handed_out_ == (in_order ? landed_.size() : arrived_.size())) return std::nullopt;
  if (!in_order) return arrived_[handed_out_++];
  if (!landed_[handed_out_]) return std::nullopt;
  return static_cast<std::uint32_t>(handed_out_++);
}

const bulk_chunk* operation_bulk::next_chunk() {
  std::uint64_t at = chunk_.offset + chunk_.bytes.size();
  if (at == chunk_end_) {
    if (passes_ && handed_out_ != 0) see(static_cast<std::uint32_t>(handed_out_ - 1));
    auto piece = next_landed();
    if (piece && *piece == 1 && SCOLL_MUTANT(bulk_chunk_lost, "a chunk is not handed out"))
      piece = next_landed();
    if (!piece) return nullptr;
    at = pieces_.offset(*piece);
    chunk_end_ = at + pieces_.size(*piece);
  }
  const auto rest = bytes_at(at);
  chunk_ = {at, rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), chunk_end_ - at)))};
  return &chunk_;
}

/// The bytes of the object from an offset to the end of the span that they lie in.
std::span<const std::byte> operation_bulk::bytes_at(std::uint64_t offset) const noexcept {
  if (passes_) {
    const std::uint64_t piece = offset / info_.piece_bytes;
    return place_[piece % place_.size()].subspan(static_cast<std::size_t>(offset % info_.piece_bytes));
  }
  const std::size_t part = ends_.span_of(offset);
  return place_[part].subspan(static_cast<std::size_t>(offset - ends_.begin_of(part)));
}

bool operation_bulk::complete(bool chunks_wanted) const noexcept {
  if (!has_all() || failure_) return false;
  return !chunks_wanted || pieces_.count() == 0 ||
         (handed_out_ == landed_.size() && chunk_.offset + chunk_.bytes.size() == chunk_end_);
}

void operation_bulk::refuse(const error& why) noexcept {
  if (!failure_) failure_ = why;
  if (passes_) see_all();
  progress_->set();
}

void operation_bulk::fail(const error& why) noexcept {
  refuse(why);
  if (has_all()) return;
  stop_landing();
  if (region_.exposed()) region_.fail(why);
}

bool operation_bulk::has_all() const noexcept {
  return exposed_ && (!lands_ || landing_.missing() == 0);
}

void operation_bulk::stop_landing() noexcept {
  if (!SCOLL_MUTANT(bulk_lands_after_end, "pieces land although the operation has ended")) landing_.end();
  close_requests();
}

/// Tells the sources that this node needs nothing more of them. One that has heard no request hears so by a word of
/// its own: a request that has not left, or that the source was too busy for.
void operation_bulk::close_requests() noexcept {
  for (auto& asked : asking_) {
    const bool unheard = asked->again.armed() || (asked->pending() && !asked->transmitted());
    if (asked->pending()) asked->cancel();
    if (asked->again.armed()) engine_.wire().get_executor().disarm(asked->again);
    if (unheard &&
        !SCOLL_MUTANT(unsent_request_untold,
                      "a source whose reader has taken its request back before it left is not told"))
      engine_.bulk_data().decline(*this, node_at(asked->member), wait_for_request());
  }
}

// ---- the sources

node_id operation_bulk::node_at(std::uint32_t relative) const {
  return subject_->group->members->node(subject_->rank_at(relative));
}

void operation_bulk::on_wanted(std::uint32_t member) noexcept {
  if (member == ancestors_.front() && parent_memory_.node != 0) {
    transport::session* const parent = engine_.wire().find(parent_memory_.node);
    return landing_.source_ready(member, *parent, parent_memory_);
  }
  ask(member);
}

/// Asks a member for its memory. The request stays open for as long as this node may need it.
void operation_bulk::ask(std::uint32_t member) {
  const node_id node = node_at(member);
  transport::session* const source = engine_.wire().find(node);
  if (source == nullptr)
    return landing_.source_lost(member,
                                make_error(errc::unreachable, "no address is known for node {}", node));
  auto unused = std::ranges::find_if(asking_, [](const auto& a) { return !a->used(); });
  if (unused == asking_.end()) unused = asking_.insert(unused, std::make_unique<source_request>(*this));
  source_request& asked = **unused;
  asked.member = member;
  asked.pause = nanoseconds(0);
  send(asked);
}

/// The time that a source waits for a request which it has not heard: half of what is left here, so that there
/// is time to get the pieces from another one.
nanoseconds operation_bulk::wait_for_request() const noexcept {
  return std::max(nanoseconds(0), (ends_at_ - engine_.wire().get_executor().now()) / 2);
}

void operation_bulk::send(source_request& asked) {
  transport::session& source = *engine_.wire().find(node_at(asked.member));
  const status sent = source.request(asked, transport::traffic_class::collective,
                                     engine_.bulk_data().make_request(*this, wait_for_request(), false), 0);
  if (!sent) not_given(asked, sent.error());
}

/// A source that is busy is asked again after a pause; any other one is lost.
void operation_bulk::not_given(source_request& asked, const error& why) noexcept {
  if (why != errc::busy || !landing_.running()) return landing_.source_lost(asked.member, why);
  executor& executor = engine_.wire().get_executor();
  asked.pause = std::clamp(asked.pause * 2, first_pause, longest_pause);
  executor.arm(asked.again, executor.now() + asked.pause);
}

void operation_bulk::source_request::on_answer(transport::exchange& self,
                                               transport::reply_event& event) noexcept {
  auto& asked = static_cast<source_request&>(self);
  asked.bulk->heard(asked, event);
}

void operation_bulk::heard(source_request& asked, transport::reply_event& event) noexcept {
  if (!event.outcome) return not_given(asked, event.outcome.error());
  const auto memory = wire::decode_from<transport::region_descriptor>(event.head);
  transport::session* const source = engine_.wire().find(node_at(asked.member));
  if (!memory || memory->node != source->peer()) {
    if (!event.final) asked.cancel();
    return landing_.source_lost(asked.member, {errc::malformed, "a member's memory does not decode"});
  }
  if (event.final)
    return landing_.source_lost(asked.member, {errc::malformed, "memory that is gone at once"});
  landing_.source_ready(asked.member, *source, *memory);
}

void operation_bulk::decline(time_point ends) noexcept {
  if (!undecided()) return;
  stage_ = stage::declined;
  ends_at_ = ends;
  engine_.bulk_data().decided(*this);
  if (subject_->is_root() || pieces_.count() == 0) return;
  const std::uint32_t parent = parent_of(subject_->relative);
  routes().intake(subject_->relative).for_each_source([&](std::uint32_t source) {
    // A parent hears it in the answer, but that of a relay comes late.
    if (source != parent || subject_->is_relay())
      engine_.bulk_data().decline(*this, node_at(source), wait_for_request());
  });
}

// ---- the readers

result<transport::region_descriptor> operation_bulk::memory_for(node_id reader) const {
  const bool lost = failure_ && !has_all();
  if (stage_ != stage::exposed || lost || !region_.exposed())
    return make_error(errc::stale_descriptor, "node {} has no bulk data to give", engine_.options().id);
  const auto rank = subject_->group->members->rank_of(reader);
  const auto relative = rank ? subject_->relative_of(*rank) : std::nullopt;
  const bool may_read =
      relative && (routes().is_consumer(subject_->relative, *relative) || is_below(*relative));
  if (!may_read && !SCOLL_MUTANT(stranger_served, "a member gives its bulk data to every member that asks"))
    return make_error(errc::not_member, "node {} gets no bulk data from node {}", reader,
                      engine_.options().id);
  return region_.descriptor();
}

void operation_bulk::reader_done(node_id reader) noexcept {
  const auto is_reader = [&](std::uint32_t relative) { return node_at(relative) == reader; };
  if (std::erase_if(readers_, is_reader) != 0) progress_->set();
  const auto gone = std::ranges::find_if(consumers_, is_reader);
  if (gone != consumers_.end()) consumer_gone(*gone);
}

void operation_bulk::consumer_gone(std::uint32_t relative) noexcept {
  if (!passes_) return;
  window_.gone(relative);
  pass_on();
}

void operation_bulk::nobody_reads() noexcept {
  if (passes_) window_.all_gone();
  if (readers_.empty()) return;
  readers_.clear();
  progress_->set();
}

void operation_bulk::withdraw() noexcept {
  if (stage_ == stage::idle || stage_ == stage::withdrawn) return;
  stop_landing();
  calm_down();
  region_.unexpose();
  readers_.clear();
  stage_ = stage::withdrawn;
  engine_.bulk_data().decided(*this);
}

void operation_bulk::clear() noexcept {
  withdraw();
  place_.clear();
  consumers_.clear();
  arrived_.clear();
  landed_.clear();
  handed_out_ = 0;
  chunk_end_ = 0;
  chunk_ = {};
  failure_ = {};
  has_place_ = exposed_ = lands_ = passes_ = gives_nothing_ = false;
  parent_memory_ = {};
  subject_ = nullptr;
  progress_ = nullptr;
  stage_ = stage::idle;
}

}  // namespace scoll::detail
