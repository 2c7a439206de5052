// expect-error: no form on the wire for this type: make it a plain struct, or write describe
#include <chrono>

#include "transport/wire/wire.hpp"

struct request {
#ifdef SCOLL_CONTROL
  std::uint64_t value;
#else
  std::chrono::steady_clock::time_point value;
#endif
};

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
