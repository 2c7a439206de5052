#pragma once

namespace scoll::sim {

class coverage;
struct broadcast_record;

/// Marks what a broadcast that has ended shows to have happened.
void note_witnessed(const broadcast_record& b, coverage& seen);

}  // namespace scoll::sim
