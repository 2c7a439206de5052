#pragma once

#include "tools/scoll-sim/cluster/freights.hpp"

namespace scoll::sim {

class coverage;
struct broadcast_record;

/// Marks what a broadcast that has ended shows to have happened; `load`, if not null, is its bulk data.
void note_rest(const broadcast_record& b, coverage& seen);
void note_trace(const broadcast_record& b, coverage& seen);
void note_witnessed(const broadcast_record& b, const freights::freight* load, coverage& seen);

}  // namespace scoll::sim
