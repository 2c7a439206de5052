#pragma once

/// Deliberate bugs that test the simulator: one of its properties must find each of them (docs/simulator.md).
/// A mutant consists of its sites. One of them says what the mutant does, the others name it only:
///
///     if (SCOLL_MUTANT(timer_not_armed, "no timer watches over an operation")) return;
///     if (SCOLL_MUTANT(timer_not_armed)) return;
///
/// A site is the constant `false`, except in the build made for this purpose, with `SCOLL_MUTANTS` defined.
/// There it is true while its mutant is switched on, and `mutants::all` lists it (`mutant_sites.hpp`).
#ifdef SCOLL_MUTANTS
#include "scoll/coro/mutant_sites.hpp"

#define SCOLL_MUTANT(name, ...) (::scoll::mutants::is_on<#name __VA_OPT__(, ) __VA_ARGS__>())
#else
#define SCOLL_MUTANT(...) false
#endif
