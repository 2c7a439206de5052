// expect-error: a view owns nothing: use std::string or std::vector, or say wire::borrowed_string
#include <span>

#include "transport/wire/wire.hpp"

struct request {
#ifdef SCOLL_CONTROL
  scoll::wire::borrowed_bytes value;
#else
  std::span<const std::byte> value;
#endif
};

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
