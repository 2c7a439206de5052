#include "gossip/liveness/merge.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace scoll::gossip {
namespace {

constexpr std::size_t narrowest = 16;  // every processor in question has this (SSE2, NEON)

template <std::size_t Bytes>
struct lanes_of {
  typedef std::uint8_t type __attribute__((vector_size(Bytes)));  // NOLINT(modernize-use-using)
};

std::uint8_t shifted(std::uint8_t age, int shift) noexcept {
  return age >= old_age ? age : static_cast<std::uint8_t>(std::clamp(age + shift, 0, int{old_age}));
}

/// Ages are limited before the addition, so that nothing wraps; 254 and 255 stay as they are. The function is
/// inlined into its callers, which state the processor.
template <std::size_t Bytes, bool Merge, bool Forward>
[[gnu::always_inline]] inline void run(std::uint8_t* own, const std::uint8_t* heard, std::size_t count,
                                       int shift) noexcept {
  using lanes = typename lanes_of<Bytes>::type;
  const auto distance = static_cast<std::uint8_t>(Forward ? shift : -shift);
  const lanes amount = lanes{} + distance;
  const lanes limit = Forward ? lanes{} + static_cast<std::uint8_t>(old_age - distance) : amount;
  const lanes old = lanes{} + old_age;
  const lanes never = lanes{} + never_heard;
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + Bytes <= count; i += Bytes) {
    lanes age, moved;
    std::memcpy(&age, heard + i, Bytes);
    if constexpr (Forward) {
      moved = ((age < limit ? age : limit) + amount) | (age == never ? never : lanes{});
    } else {
      moved = (age > limit ? age : limit) - amount;
      moved = age >= old ? age : moved;
    }
    if constexpr (Merge) {
      std::memcpy(&age, own + i, Bytes);
      moved = age < moved ? age : moved;
    }
    std::memcpy(own + i, &moved, Bytes);
  }
  if constexpr (Bytes > narrowest) {
    run<narrowest, Merge, Forward>(own + i, heard + i, count - i, shift);
  } else {
    for (; i < count; ++i) {
      const std::uint8_t moved = shifted(heard[i], shift);
      own[i] = Merge ? std::min(own[i], moved) : moved;
    }
  }
}

template <std::size_t Bytes, bool Merge>
[[gnu::always_inline]] inline void run(std::uint8_t* own, const std::uint8_t* heard, std::size_t count,
                                       int shift) noexcept {
  return shift >= 0 ? run<Bytes, Merge, true>(own, heard, count, shift)
                    : run<Bytes, Merge, false>(own, heard, count, shift);
}

/// Keeps the ages that are at least `least` fresher than the heard ones; the others become "never heard".
template <std::size_t Bytes>
[[gnu::always_inline]] inline void keep_fresher(std::uint8_t* heard, const std::uint8_t* own,
                                                std::size_t count, std::uint8_t shift,
                                                std::uint8_t least) noexcept {
  using lanes = typename lanes_of<Bytes>::type;
  const lanes amount = lanes{} + shift;
  const lanes limit = lanes{} + static_cast<std::uint8_t>(old_age - shift);
  const lanes never = lanes{} + never_heard;
  const lanes least_apart = lanes{} + least;
  std::size_t i = 0;
  for (; i + Bytes <= count; i += Bytes) {
    lanes age, mine;
    std::memcpy(&age, heard + i, Bytes);
    std::memcpy(&mine, own + i, Bytes);
    const lanes theirs = ((age < limit ? age : limit) + amount) | (age == never ? never : lanes{});
    const lanes apart = theirs - (theirs < mine ? theirs : mine);
    const lanes told = apart >= least_apart ? mine : never;
    std::memcpy(heard + i, &told, Bytes);
  }
  for (; i < count; ++i) {
    const int apart = int{shifted(heard[i], shift)} - own[i];
    heard[i] = apart >= int{least} ? own[i] : never_heard;
  }
}

using function = void (*)(std::uint8_t*, const std::uint8_t*, std::size_t, int) noexcept;

template <bool Merge>
void run_narrow(std::uint8_t* own, const std::uint8_t* heard, std::size_t count, int shift) noexcept {
  run<narrowest, Merge>(own, heard, count, shift);
}

#if defined(__x86_64__)
template <bool Merge>
__attribute__((target("avx2"))) void run_wide(std::uint8_t* own, const std::uint8_t* heard, std::size_t count,
                                              int shift) noexcept {
  run<32, Merge>(own, heard, count, shift);
}

template <bool Merge>
__attribute__((target("avx512bw"))) void run_widest(std::uint8_t* own, const std::uint8_t* heard,
                                                    std::size_t count, int shift) noexcept {
  run<64, Merge>(own, heard, count, shift);
}

template <bool Merge>
function best() noexcept {
  if (__builtin_cpu_supports("avx512bw") != 0) return &run_widest<Merge>;
  return __builtin_cpu_supports("avx2") != 0 ? &run_wide<Merge> : &run_narrow<Merge>;
}
#else
template <bool Merge>
function best() noexcept {
  return &run_narrow<Merge>;
}
#endif

}  // namespace

void merge_ages(std::uint8_t* own, const std::uint8_t* heard, std::size_t count, int shift) noexcept {
  static const function merge = best<true>();
  merge(own, heard, count, shift);
}

void keep_fresher_ages(std::uint8_t* heard, const std::uint8_t* own, std::size_t count, int shift,
                       int least) noexcept {
  const int amount = std::clamp(shift, 0, int{old_age});
  keep_fresher<narrowest>(heard, own, count, static_cast<std::uint8_t>(amount),
                          static_cast<std::uint8_t>(std::clamp(least, 1, int{never_heard})));
}

bool none_older(const std::uint8_t* ages, std::size_t count, std::uint8_t most) noexcept {
  using lanes = lanes_of<narrowest>::type;
  const lanes limit = lanes{} + most;
  lanes found{};
  std::size_t i = 0;
  for (; i + narrowest <= count; i += narrowest) {
    lanes age;
    std::memcpy(&age, ages + i, narrowest);
    found |= age > limit ? age : lanes{};
  }
  std::array<std::uint64_t, narrowest / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), &found, narrowest);
  std::uint64_t any = words[0] | words[1];
  for (; i < count; ++i) any |= ages[i] > most ? 1U : 0U;
  return any == 0;
}

void shift_ages(std::uint8_t* ages, std::size_t count, int cycles) noexcept {
  static const function move = best<false>();
  if (cycles != 0) move(ages, ages, count, cycles);
}

}  // namespace scoll::gossip
