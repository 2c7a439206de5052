#include "../../include/gossip/liveness/merge.hpp"

#include <algorithm>
#include <cstring>

namespace scoll::gossip {
namespace {

template <std::size_t Bytes>
struct lanes_of {
  typedef std::uint8_t type __attribute__((vector_size(Bytes)));  // NOLINT(modernize-use-using)
};

std::uint8_t shifted(std::uint8_t age, int shift) noexcept {
  return age >= old_age ? age : static_cast<std::uint8_t>(std::clamp(age + shift, 0, int{old_age}));
}

/// Ages are limited before they are added to, so that nothing wraps; 254 and 255 stay what they are. Inlined
/// into its callers, which say for which processor it is.
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
  for (; i < count; ++i) {
    const std::uint8_t moved = shifted(heard[i], shift);
    own[i] = Merge ? std::min(own[i], moved) : moved;
  }
}

template <std::size_t Bytes, bool Merge>
[[gnu::always_inline]] inline void run(std::uint8_t* own, const std::uint8_t* heard, std::size_t count,
                                       int shift) noexcept {
  return shift >= 0 ? run<Bytes, Merge, true>(own, heard, count, shift)
                    : run<Bytes, Merge, false>(own, heard, count, shift);
}

using function = void (*)(std::uint8_t*, const std::uint8_t*, std::size_t, int) noexcept;

/// 16 bytes are what every processor in question has (SSE2, NEON).
template <bool Merge>
void run_narrow(std::uint8_t* own, const std::uint8_t* heard, std::size_t count, int shift) noexcept {
  run<16, Merge>(own, heard, count, shift);
}

#if defined(__x86_64__)
template <bool Merge>
__attribute__((target("avx2"))) void run_wide(std::uint8_t* own, const std::uint8_t* heard, std::size_t count,
                                              int shift) noexcept {
  run<32, Merge>(own, heard, count, shift);
}

template <bool Merge>
function best() noexcept {
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

void shift_ages(std::uint8_t* ages, std::size_t count, int cycles) noexcept {
  static const function move = best<false>();
  if (cycles != 0) move(ages, ages, count, cycles);
}

}  // namespace scoll::gossip
