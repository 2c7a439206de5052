// expect-error: conversion from .* requested|no viable conversion|cannot convert
#include "scoll/ship/context.hpp"
#include "scoll/ship/options.hpp"

// A context converts to options and to nothing else.
std::chrono::nanoseconds left(const scoll::call_context& context) {
#ifdef SCOLL_CONTROL
  const scoll::ship_options nested = context;
  return nested.deadline.left({});
#else
  const scoll::ship_limits nested = context;
  return nested.large_hold;
#endif
}
