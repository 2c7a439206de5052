#include <cerrno>
#include <cstring>
#include <memory>

#include "transport/verbs/ibverbs/ibverbs_context.hpp"

namespace scoll::transport::verbs {

result<queue_pair_object*> ibverbs_context::make_datagram_pair(const datagram_pair_request& what,
                                                               std::uint8_t port) {
  const auto partition = full_member_key(port);
  if (!partition) return partition.error();
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_UD;
  wanted.send_cq = wanted.recv_cq = static_cast<queue*>(what.completions)->cq;
  wanted.srq = static_cast<shared_receives*>(what.receives)->srq;
  wanted.cap = {.max_send_wr = what.sends,
                .max_recv_wr = 0,
                .max_send_sge = 1,
                .max_recv_sge = 0,
                .max_inline_data = what.inline_bytes};
  ibv_qp* const qp = create(wanted);
  if (qp == nullptr) return failed("create_qp for datagrams", errno);
  if (const auto s = make_datagrams_ready(*qp, *partition, port, what.queue_key); !s) {
    ibv_destroy_qp(qp);
    return s.error();
  }
  auto* const made = new pair;
  made->qp = qp;
  made->number = qp->qp_num;
  made->inline_bytes = wanted.cap.max_inline_data;
  return made;
}

/// A queue pair of datagrams has no peer, so it goes through all its states at once.
status ibverbs_context::make_datagrams_ready(ibv_qp& qp, std::uint16_t partition, std::uint8_t port,
                                             std::uint32_t queue_key) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.pkey_index = partition;
  to.port_num = port;
  to.qkey = queue_key;
  const int set = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  if (const int failure = ibv_modify_qp(&qp, &to, set); failure != 0)
    return failed("modify_qp for datagrams to INIT", failure);
  to.qp_state = IBV_QPS_RTR;
  if (const int failure = ibv_modify_qp(&qp, &to, IBV_QP_STATE); failure != 0)
    return failed("modify_qp for datagrams to RTR", failure);
  to.qp_state = IBV_QPS_RTS;
  to.sq_psn = 0;
  if (const int failure = ibv_modify_qp(&qp, &to, IBV_QP_STATE | IBV_QP_SQ_PSN); failure != 0)
    return failed("modify_qp for datagrams to RTS", failure);
  return {};
}

/// The global header is always sent, because receivers check where a datagram comes from.
result<address_handle*> ibverbs_context::make_address_handle(const address_request& to) {
  ibv_ah_attr way{};
  way.dlid = to.remote_lid;
  way.sl = to.service_level;
  way.port_num = to.port;
  way.is_global = 1;
  std::memcpy(way.grh.dgid.raw, to.remote.data(), to.remote.size());
  way.grh.sgid_index = static_cast<std::uint8_t>(to.gid_index);
  way.grh.hop_limit = hops;
  way.grh.traffic_class = to.traffic_class;
  ibv_ah* const ah = ibv_create_ah(domain_, &way);
  if (ah == nullptr) return failed("create_ah", errno);
  auto* const made = new handle;
  made->ah = ah;
  return made;
}

void ibverbs_context::destroy(address_handle* object) noexcept {
  const std::unique_ptr<handle> gone(static_cast<handle*>(object));
  ibv_destroy_ah(gone->ah);
}

}  // namespace scoll::transport::verbs
