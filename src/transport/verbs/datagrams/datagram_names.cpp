#include "transport/verbs/datagrams/datagram_names.hpp"

#include <memory>
#include <utility>

namespace scoll::transport::verbs {

known_name* datagram_names::find(const datagram_name& name) noexcept {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

known_name* datagram_names::in_the_way() noexcept {
  return all_.size() < most_ ? nullptr : by_use_.first();
}

void datagram_names::remove(known_name& name) noexcept {
  const datagram_name key = name.name;
  static_cast<list_hook<by_use>&>(name).unlink();
  spare_ = all_.extract(key);
}

known_name& datagram_names::add(const datagram_name& name) {
  known_name* made = nullptr;
  if (spare_.empty()) {
    made = &all_[name];
  } else {
    spare_.key() = name;
    known_name& old = spare_.mapped();
    std::destroy_at(&old);
    std::construct_at(&old);
    made = &all_.insert(std::move(spare_)).position->second;
  }
  made->name = name;
  by_use_.push_back(*made);
  return *made;
}

void datagram_names::touch(known_name& name) noexcept {
  static_cast<list_hook<by_use>&>(name).unlink();
  by_use_.push_back(name);
}

bool datagram_names::is_to_be_asked(const known_name& name, time_point now) noexcept {
  const bool wanted = !name.leads_somewhere() || name.silent_sends >= silent_sends_limit;
  return wanted && (!name.asked || now - *name.asked >= least_pause);
}

/// A question that is repeated keeps its nonce, because the answer to the first one may still come.
std::uint64_t datagram_names::ask(known_name& name, time_point now) noexcept {
  while (name.nonce == 0) name.nonce = random_.next();
  name.asked = now;
  ++name.unanswered;
  return name.nonce;
}

datagram_names::answer datagram_names::answered(known_name& name, std::uint64_t nonce,
                                                const whereabouts& where) noexcept {
  if (nonce == 0 || nonce != name.nonce) return answer::ignored;
  name.nonce = 0;
  name.unanswered = 0;
  name.silent_sends = 0;
  name.in_doubt = false;
  if (name.where == where) return answer::confirmed;
  if (name.where && name.where->epoch != where.epoch) name.earlier_epoch = name.where->epoch;
  name.where = where;
  return answer::moved;
}

/// A question that was open when a restart shows may be answered from before it, so another one is needed. But it
/// comes no sooner than other questions: whoever forges epochs at a port of that address could have it asked at
/// will.
datagram_names::origin datagram_names::heard(const datagram_name& claimed, std::uint64_t epoch,
                                             const gid& source, std::uint32_t queue_pair) noexcept {
  known_name* const name = find(claimed);
  if (name == nullptr || !name->where) return source == claimed.host ? origin::right : origin::unproven;
  if (source != name->where->address) return origin::forged;
  if (epoch == name->earlier_epoch) return origin::late;
  if (epoch != name->where->epoch) {
    if (!std::exchange(name->in_doubt, true)) name->nonce = 0;
    return origin::restarted;
  }
  if (queue_pair != name->where->queue_pair) return origin::forged;
  name->silent_sends = 0;
  return origin::right;
}

}  // namespace scoll::transport::verbs
