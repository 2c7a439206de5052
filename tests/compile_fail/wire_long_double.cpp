// expect-error: long double differs between platforms
#include "transport/wire/wire.hpp"

struct request {
#ifdef SCOLL_CONTROL
  double value;
#else
  long double value;
#endif
};

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
