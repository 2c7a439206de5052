// expect-error: a struct with more than 24 members
#include "transport/wire/wire.hpp"

#ifdef SCOLL_CONTROL
struct request {
  std::uint8_t a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x;
};
#else
struct request {
  std::uint8_t a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y;
};
#endif

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
