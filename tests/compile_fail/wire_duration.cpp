// expect-error: a duration must count in std::int64_t
#include <chrono>

#include "transport/wire/wire.hpp"

struct request {
#ifdef SCOLL_CONTROL
  std::chrono::nanoseconds value;
#else
  std::chrono::duration<double> value;
#endif
};

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
