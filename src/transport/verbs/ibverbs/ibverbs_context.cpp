#include "transport/verbs/ibverbs/ibverbs_context.hpp"

#include <arpa/inet.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::uint32_t mtu_unit = 128;       // times two to the power of the enumerator
constexpr std::uint8_t not_ready_timer = 12;  // 0.64 ms
constexpr std::uint16_t full_member = 0x8000;

std::uint32_t bytes_of(ibv_mtu mtu) noexcept {
  return mtu_unit << static_cast<unsigned>(mtu);
}

ibv_mtu mtu_of(std::uint32_t bytes) noexcept {
  unsigned value = IBV_MTU_256;
  while (value < IBV_MTU_4096 && (mtu_unit << (value + 1)) <= bytes) ++value;
  return static_cast<ibv_mtu>(value);
}

bool set_non_blocking(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

error ibverbs_context::failed(const char* call, int errno_value) const {
  const char* const remedy =
      errno_value == ENOMEM ? ": raise the limit of locked memory (ulimit -l, LimitMEMLOCK=)" : "";
  return make_error(errc::io_error, "verbs: {} on {}: {}{}", call, name_, std::strerror(errno_value), remedy);
}

result<std::unique_ptr<device_context>> ibverbs_context::open(reactor& home, ibv_device& device) {
  std::unique_ptr<ibverbs_context> made(new ibverbs_context(home));
  if (const auto s = made->set_up(device); !s) return s.error();
  return std::unique_ptr<device_context>(std::move(made));
}

status ibverbs_context::set_up(ibv_device& device) {
  name_ = ibv_get_device_name(&device);
  context_ = ibv_open_device(&device);
  if (context_ == nullptr) return failed("open", errno);
  domain_ = ibv_alloc_pd(context_);
  if (domain_ == nullptr) return failed("alloc_pd", errno);
  channel_ = ibv_create_comp_channel(context_);
  if (channel_ == nullptr) return failed("create_comp_channel", errno);
  if (!set_non_blocking(channel_->fd) || !set_non_blocking(context_->async_fd)) return failed("fcntl", errno);
  return {};
}

ibverbs_context::~ibverbs_context() {
  if (stopped_.scheduled()) home_.unschedule(stopped_);
  if (channel_ != nullptr) ibv_destroy_comp_channel(channel_);
  if (domain_ != nullptr) ibv_dealloc_pd(domain_);
  if (context_ != nullptr) ibv_close_device(context_);
}

// ---- the device

device_limits ibverbs_context::limits() {
  ibv_device_attr all{};
  if (ibv_query_device(context_, &all) != 0) return {};
  device_limits l;
  l.queue_entries = static_cast<std::uint32_t>(all.max_cqe);
  l.shared_receives = all.max_srq == 0 ? 0 : static_cast<std::uint32_t>(all.max_srq_wr);
  l.queue_pair_entries = static_cast<std::uint32_t>(all.max_qp_wr);
  l.reads_out = static_cast<std::uint8_t>(std::min(all.max_qp_init_rd_atom, 255));
  l.ports = all.phys_port_cnt;
  if ((all.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) != 0)
    l.windows = static_cast<std::uint32_t>(std::max(all.max_mw, 0));
  l.reads_in = static_cast<std::uint8_t>(std::min(all.max_qp_rd_atom, 255));
  return l;
}

result<port_facts> ibverbs_context::port(std::uint8_t number) {
  ibv_port_attr attributes{};
  if (const int failure = ibv_query_port(context_, number, &attributes); failure != 0)
    return failed("query_port", failure);
  port_facts facts;
  facts.active = attributes.state == IBV_PORT_ACTIVE;
  facts.ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  facts.lid = attributes.lid;
  facts.mtu = bytes_of(attributes.active_mtu);
  facts.max_message_bytes = attributes.max_msg_sz;
  return facts;
}

result<gid_entry> ibverbs_context::address(std::uint8_t port, std::uint32_t index) {
  ibv_port_attr attributes{};
  if (ibv_query_port(context_, port, &attributes) != 0 ||
      index >= static_cast<std::uint32_t>(attributes.gid_tbl_len))
    return error(errc::not_found, "no more addresses");
  ibv_gid_entry found{};
  gid_entry entry;
  if (ibv_query_gid_ex(context_, port, index, &found, 0) != 0) return entry;  // the place is empty
  std::memcpy(entry.address.data(), found.gid.raw, entry.address.size());
  entry.usable = found.gid_type != IBV_GID_TYPE_ROCE_V1;
  return entry;
}

result<std::uint16_t> ibverbs_context::full_member_key(std::uint8_t port) {
  ibv_port_attr attributes{};
  if (const int failure = ibv_query_port(context_, port, &attributes); failure != 0)
    return failed("query_port", failure);
  for (std::uint16_t index = 0; index < attributes.pkey_tbl_len; ++index) {
    std::uint16_t key = 0;
    if (ibv_query_pkey(context_, port, index, &key) == 0 && (ntohs(key) & full_member) != 0) return index;
  }
  return make_error(errc::unreachable, "verbs: port {} of {} is no full member of a partition", port, name_);
}

// ---- memory and queues

result<memory_object*> ibverbs_context::register_memory(std::span<std::byte> bytes, register_for use) {
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  if (use == register_for::remote_read) access |= IBV_ACCESS_REMOTE_READ;
  if (use == register_for::windows) access |= IBV_ACCESS_MW_BIND;
  ibv_mr* const region = ibv_reg_mr(domain_, bytes.data(), bytes.size(), access);
  if (region == nullptr) return failed("reg_mr", errno);
  auto* const made = new memory;
  made->region = region;
  made->local_key = region->lkey;
  made->remote_key = region->rkey;
  made->remote_address = reinterpret_cast<std::uintptr_t>(bytes.data());
  return made;
}

void ibverbs_context::deregister(memory_object* object) noexcept {
  const std::unique_ptr<memory> gone(static_cast<memory*>(object));
  ibv_dereg_mr(gone->region);
}

result<completion_queue*> ibverbs_context::make_completion_queue(std::uint32_t entries) {
  ibv_cq* const cq = ibv_create_cq(context_, static_cast<int>(entries), nullptr, channel_, 0);
  if (cq == nullptr) return failed("create_cq", errno);
  auto* const made = new queue;
  made->cq = cq;
  return made;
}

void ibverbs_context::destroy(completion_queue* which) noexcept {
  const std::unique_ptr<queue> gone(static_cast<queue*>(which));
  while (take_completion_event()) {
  }
  ibv_destroy_cq(gone->cq);
}

result<receive_queue*> ibverbs_context::make_receive_queue(std::uint32_t entries) {
  ibv_srq_init_attr wanted{};
  wanted.attr.max_wr = entries;
  wanted.attr.max_sge = 1;
  ibv_srq* const srq = ibv_create_srq(domain_, &wanted);
  if (srq == nullptr) return failed("create_srq", errno);
  auto* const made = new shared_receives;
  made->srq = srq;
  return made;
}

void ibverbs_context::destroy(receive_queue* which) noexcept {
  const std::unique_ptr<shared_receives> gone(static_cast<shared_receives*>(which));
  ibv_destroy_srq(gone->srq);
}

// ---- queue pairs

/// Some devices refuse what they cannot grant.
ibv_qp* ibverbs_context::create(ibv_qp_init_attr& wanted) noexcept {
  ibv_qp* const qp = ibv_create_qp(domain_, &wanted);
  if (qp != nullptr || wanted.cap.max_inline_data == 0) return qp;
  wanted.cap.max_inline_data = 0;
  return ibv_create_qp(domain_, &wanted);
}

result<queue_pair_object*> ibverbs_context::make_queue_pair(const queue_pair_request& what,
                                                            std::uint8_t port) {
  const auto key = full_member_key(port);
  if (!key) return key.error();
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = static_cast<queue*>(what.completions)->cq;
  if (what.receives != nullptr) {
    wanted.srq = static_cast<shared_receives*>(what.receives)->srq;
  } else {
    wanted.cap.max_recv_wr = wanted.cap.max_recv_sge = 1;  // none is posted, but not all devices do without
  }
  wanted.cap.max_send_wr = what.sends;
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_inline_data = what.inline_bytes;
  wanted.qp_type = IBV_QPT_RC;
  ibv_qp* const qp = create(wanted);
  if (qp == nullptr) return failed("create_qp", errno);
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.pkey_index = *key;
  init.port_num = port;
  init.qp_access_flags = what.serves_reads ? unsigned{IBV_ACCESS_REMOTE_READ} : 0U;
  const int set = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (const int failure = ibv_modify_qp(qp, &init, set); failure != 0) {
    ibv_destroy_qp(qp);
    return failed("modify_qp to INIT", failure);
  }
  auto made = std::make_unique<pair>();
  made->qp = qp;
  made->number = qp->qp_num;
  made->inline_bytes = wanted.cap.max_inline_data;
  if (const auto s = make_windows(*made, what.windows); !s) {
    destroy(made.release());
    return s.error();
  }
  return made.release();
}

status ibverbs_context::make_windows(pair& of, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    ibv_mw* const window = ibv_alloc_mw(domain_, IBV_MW_TYPE_2);
    if (window == nullptr) return failed("alloc_mw", errno);
    of.windows.push_back(window);
  }
  return {};
}

status ibverbs_context::connect(queue_pair_object* object, const path_request& path) {
  ibv_qp& qp = *static_cast<pair*>(object)->qp;
  if (const auto s = make_ready_to_receive(qp, path); !s) return s;
  return make_ready_to_send(qp, path);
}

status ibverbs_context::make_ready_to_receive(ibv_qp& qp, const path_request& path) {
  const auto facts = port(path.port);
  if (!facts) return facts.error();
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = mtu_of(path.mtu);
  to.dest_qp_num = path.remote_queue_pair;
  to.rq_psn = path.remote_packet;
  to.max_dest_rd_atomic = path.reads_in;
  to.min_rnr_timer = not_ready_timer;
  to.ah_attr.dlid = path.remote_lid;
  to.ah_attr.sl = path.service_level;
  to.ah_attr.port_num = path.port;
  to.ah_attr.is_global = facts->ethernet ? 1 : 0;
  std::memcpy(to.ah_attr.grh.dgid.raw, path.remote.data(), path.remote.size());
  to.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(path.gid_index);
  to.ah_attr.grh.hop_limit = hops;
  to.ah_attr.grh.traffic_class = path.traffic_class;
  const int set = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (const int failure = ibv_modify_qp(&qp, &to, set); failure != 0)
    return failed("modify_qp to RTR", failure);
  return {};
}

status ibverbs_context::make_ready_to_send(ibv_qp& qp, const path_request& path) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTS;
  to.timeout = path.timeout;
  to.retry_cnt = path.retry_count;
  to.rnr_retry = path.rnr_retry;
  to.sq_psn = path.own_packet;
  to.max_rd_atomic = path.reads_out;
  const int set = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                  IBV_QP_MAX_QP_RD_ATOMIC;
  if (const int failure = ibv_modify_qp(&qp, &to, set); failure != 0)
    return failed("modify_qp to RTS", failure);
  return {};
}

/// A queue pair cannot be destroyed while a window is bound to it.
void ibverbs_context::destroy(queue_pair_object* object) noexcept {
  const std::unique_ptr<pair> gone(static_cast<pair*>(object));
  for (ibv_mw* window : gone->windows) ibv_dealloc_mw(window);
  ibv_destroy_qp(gone->qp);
}

}  // namespace scoll::transport::verbs
