#include "transport/memory/registered_memory.hpp"

#include <utility>

#include "transport/memory/memory_service.hpp"
#include "transport/memory/registrations.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {

registered_memory::registered_memory() noexcept = default;
registered_memory::registered_memory(std::unique_ptr<registered_span> span) noexcept
    : span_(std::move(span)) {}
registered_memory::registered_memory(registered_memory&& other) noexcept = default;
registered_memory& registered_memory::operator=(registered_memory&& other) noexcept {
  if (this == &other) return *this;
  end();
  span_ = std::move(other.span_);
  return *this;
}
registered_memory::~registered_memory() {
  end();
}

void registered_memory::end() noexcept {
  if (span_ != nullptr) span_.release()->remove_alone();
}

std::span<std::byte> registered_memory::bytes() const noexcept {
  return span_ == nullptr ? std::span<std::byte>() : span_->memory();
}

std::size_t registered_memory::rails() const noexcept {
  return span_ == nullptr ? 0 : span_->rails();
}

task<void> registered_memory::release() {
  const std::unique_ptr<registered_span> span = std::move(span_);
  if (span == nullptr) co_return;
  span->remove();
  const status removed = co_await span->settled().wait();
  removed.ignore();
}

task<result<registered_memory>> register_memory(endpoint& at, std::span<std::byte> memory,
                                                memory_access access) {
  auto span = at.memory().begin_registration(memory);
  if (!span) co_return span.error();
  std::unique_ptr<registered_span> held = std::move(*span);
  held->add(access);
  const status added = co_await held->settled().wait();
  if (added) co_return registered_memory(std::move(held));
  held->remove();
  const status removed = co_await held->settled().wait();
  removed.ignore();
  co_return added.error();
}

}  // namespace scoll::transport
