// expect-error: no form on the wire for this type: make it a plain struct, or write describe
#include "transport/wire/wire.hpp"

#ifdef SCOLL_CONTROL
class request {
 public:
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(value_);
  }

 private:
  std::uint32_t value_ = 0;
};
#else
class request {
 private:
  [[maybe_unused]] std::uint32_t value_ = 0;
};
#endif

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
