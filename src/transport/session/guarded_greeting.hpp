#pragma once

#include <string_view>

#include "scoll/coro/result.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"
#include "transport/session/link_guard.hpp"

/// What both sides of a connection do about its guard, between `hello` and `identity`:
///
/// ```text
///   the side that connected                         the side that accepted
///     hello, secure (its first step)  ───────────►    makes its guard, takes the step
///     takes the step                  ◄───────────  secure (its answer)
///     secure (its proof)              ───────────►    takes the step: proven, it opens and seals from now on
///     seals: identity                 ═══════════►    opens it, and compares the channel
///     opens from the announcement on  ◄═══════════  secure (empty: the announcement), welcome
/// ```
namespace scoll::transport::guarded_greeting {

/// Makes the guard of a connection that this side has made, and writes the hello with the first steps. Errors
/// are those of `link_security::connect`; then nothing is written.
status begin(link& l, link_security& by, lane_id lane) noexcept;

/// Takes a frame of the other side. Errors: those of `link_guard::take_step`; `not_authentic` for another frame
/// than a step, which somebody sends who does without the proof.
status take(link& l, const frame_view& frame) noexcept;

/// Goes on as far as the link takes writes now; to be called again when it is writable. True if everything is
/// said that comes before the identity, and it may be written now. The side that connected calls it.
bool advance(link& l) noexcept;

/// Writes the steps that the guard has to say, if there are any and the link takes them. True if none is left.
bool write_steps(link& l) noexcept;

/// Says whether an identity or welcome is of this connection, and from a node that its guard speaks for. Error:
/// `not_authentic`.
status check(const link& l, const identity& said, std::string_view cluster) noexcept;

}  // namespace scoll::transport::guarded_greeting
