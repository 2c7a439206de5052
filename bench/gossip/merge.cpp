#include "gossip/liveness/merge.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/kit/clock.hpp"
#include "gossip.hpp"
#include "scoll/coro/random.hpp"
#include "transport/io/buffer.hpp"

namespace bench::gossip {
namespace {

using work = void (*)(std::uint8_t* own, const std::uint8_t* heard, std::size_t size);

void merge(std::uint8_t* own, const std::uint8_t* heard, std::size_t size) {
  scoll::gossip::merge_ages(own, heard, size, 1);
}
void copy(std::uint8_t* own, const std::uint8_t* heard, std::size_t size) {
  std::memcpy(own, heard, size);
  asm volatile("" : : "r"(own) : "memory");  // forces the copy, though nothing reads it
}

/// Merges two vectors in memory, aligned like received datagrams. As many merges are timed together as take
/// some 50 us.
class in_memory final : public contestant {
 public:
  in_memory(work does, std::size_t size)
      : does_(does),
        size_(size),
        together_(static_cast<std::uint32_t>(std::max<std::size_t>(1, (std::size_t{1} << 20) / size))),
        pool_(size, 2),
        own_(pool_.try_acquire()),
        heard_(pool_.try_acquire()),
        meter_(getpid()) {
    scoll::random_generator draw(1);
    for (std::size_t i = 0; i != size; ++i) {
      own()[i] = static_cast<std::uint8_t>(draw.below(16));
      heard()[i] = static_cast<std::uint8_t>(draw.below(16));
    }
  }

  std::uint32_t together() const { return together_; }
  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    for (std::uint32_t done = 0; done < operations; done += together_) {
      const std::int64_t began = now_ns();
      for (std::uint32_t i = 0; i != together_; ++i) does_(own(), heard(), size_);
      latency_us.push_back(static_cast<double>(now_ns() - began) / 1e3 / together_);
    }
  }
  std::vector<usage> used() const override { return {meter_.read()}; }

 private:
  std::uint8_t* own() const { return reinterpret_cast<std::uint8_t*>(own_.data()); }
  std::uint8_t* heard() const { return reinterpret_cast<std::uint8_t*>(heard_.data()); }

  work does_;
  std::size_t size_;
  std::uint32_t together_;
  scoll::transport::buffer_pool pool_;
  scoll::transport::buffer_ref own_;
  scoll::transport::buffer_ref heard_;
  process_meter meter_;
};

rows run_size(const bench::options& o, std::uint32_t size) {
  constexpr std::size_t memcpy_at = 1;
  constexpr std::uint32_t usual_batches = 100;
  std::vector<subject> subjects;
  std::uint32_t together = 1;
  const auto add = [&](const char* name, work does) {
    auto made = std::make_unique<in_memory>(does, size);
    together = made->together();
    subjects.push_back({name, std::move(made)});
  };
  add("scoll", merge);
  add("memcpy", copy);
  add("memcpy (A/A)", copy);
  contest_options c = o.contest(usual_batches * together, fmt::format("gossip-merge, {} B", size));
  c.warm_up = together;
  const auto scores = hold(subjects, c);
  rows found;
  for (std::size_t i = 0; i != scores.size(); ++i) {
    row r;
    r["bench"] = "gossip-merge";
    r["subject"] = scores[i].subject;
    r["size"] = size;
    r["gb_per_s"] = std::round(size / scores[i].p50() / 1e3 * 100) / 100;
    add_score(r, scores[i]);
    if (i != memcpy_at) add_ratios(r, scores[i], scores[memcpy_at]);
    found.push_back(std::move(r));
  }
  return found;
}

}  // namespace

rows run_merge(const bench::options& common, const std::vector<std::uint32_t>& sizes) {
  static const std::vector<column> columns{{"subject", "subject", 0, 14},   {"size", "bytes", 0, 7},
                                           {"gb_per_s", "GB/s", 2},         {"p50_us", "p50 us", 3},
                                           {"p50_ratio", "p50 ratio", 2},   {"p50_ratio_low", "low", 2, 6},
                                           {"p50_ratio_high", "high", 2, 6}};
  rows all;
  for (const std::uint32_t size : sizes) {
    const rows found = run_size(common, size);
    all.insert(all.end(), found.begin(), found.end());
  }
  show_progress("");
  print_table("gossip-merge: a heard vector into one's own; ratios to memcpy", columns, all);
  return all;
}

}  // namespace bench::gossip
