#include "scrub.hpp"

#include "../store/check_object.hpp"
#include "list_share.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/when_all.hpp"

namespace shard {
namespace {

/// One walk over the objects of this server, by several readers that take turns.
class scrub_pass {
 public:
  scrub_pass(object_store& store, run_progress& progress, const scrub::request& request,
             scoll::bcast_context& call)
      : store_(store),
        progress_(progress),
        call_(call),
        pace_(request.pace),
        next_start_(call.get_executor().now()),
        share_(scrub::reply_capacity, 64, call.members().size()) {
    result_.list.parts.emplace_back().rank = call.rank();
  }

  scoll::task<scoll::result<scrub::reply>> run() {
    std::vector<scoll::task<void>> readers;
    for (int i = 0; i != readers_at_once; ++i) readers.push_back(read());
    co_await scoll::when_all(std::move(readers));
    if (!so_far_) co_return so_far_.error();
    co_return std::move(result_);
  }

 private:
  static constexpr int readers_at_once = 4;

  scoll::task<void> read() {
    while (so_far_) {
      const auto waited = co_await wait_for_turn();
      if (!waited) so_far_ = waited;
      const object_record* next = so_far_ ? store_.next(cursor_) : nullptr;
      if (next == nullptr) co_return;
      const object_record object = *next;
      cursor_ = object.name;
      const auto fault = co_await find_damage(store_, object, call_.pool(), call_.stop());
      if (!fault) {
        so_far_ = fault.error();
      } else {
        add(object, *fault);
      }
    }
  }

  scoll::task<scoll::status> wait_for_turn() {
    if (pace_.count() <= 0) co_return scoll::status{};
    const auto start = next_start_;
    next_start_ += pace_;
    co_return co_await scoll::sleep_until(start, call_.stop());
  }

  void add(const object_record& object, const std::string& fault) {
    ++progress_.done;
    progress_.bytes += object.size;
    ++result_.objects.value;
    result_.bytes.value += object.size;
    const object_record* now = store_.find(object.name);
    const bool replaced = now == nullptr || now->generation != object.generation;
    if (fault.empty() || replaced) return;  // a put replaced the object meanwhile, so its file is another one
    ++result_.damaged.value;
    auto& part = result_.list.parts.front();
    if (share_.take(object.name.size() + fault.size() + 2 * sizeof(std::uint32_t))) {
      part.value.push_back({object.name, fault});
    } else {
      part.cut = true;
    }
  }

  object_store& store_;
  run_progress& progress_;
  scoll::bcast_context& call_;
  scoll::nanoseconds pace_;
  scoll::time_point next_start_;
  list_share share_;
  std::string cursor_;
  scoll::status so_far_;
  scrub::reply result_;
};

}  // namespace

scoll::task<scoll::result<scrub::reply>> scrub::execute(const request& asked, scoll::bcast_context& call) {
  const auto how_far = board->begin(asked.run);
  how_far->total = store->objects();
  how_far->revocable = asked.group;
  scrub_pass pass(*store, *how_far, asked, call);
  auto result = co_await pass.run();
  how_far->revocable.reset();
  co_return result;
}

}  // namespace shard
