// gRPC in its usual form for this job: the root calls all others at once, over a connection to each, and adds
// up the replies, without a tree. Both sides have one thread of ours, and use the asynchronous interface; a
// wait for the completion queue sleeps in epoll.

#include <fan_out.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/kit/clock.hpp"
#include "bench/kit/guest.hpp"
#include "bench/kit/sockets.hpp"

namespace {

struct setting {
  std::uint32_t nodes = 0;
  std::size_t size = 0;
  std::string congestion_control;
};

/// Answers every call with one number.
class server {
 public:
  server(std::uint64_t value, const std::string& congestion_control) : value_(value) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    queue_ = builder.AddCompletionQueue();
    running_ = builder.BuildAndStart();
    if (running_ == nullptr || port_ == 0) throw std::runtime_error("the gRPC server did not start");
    bench::set_congestion_control_of_all(congestion_control);
  }

  std::uint16_t port() const noexcept { return static_cast<std::uint16_t>(port_); }

  [[noreturn]] void serve() {
    accept_next();
    while (true) {
      void* tag = nullptr;
      bool good = false;
      if (!queue_->Next(&tag, &good)) throw std::runtime_error("the completion queue was shut down");
      std::unique_ptr<call> happened(static_cast<call*>(tag));
      if (!good || happened->answered) continue;
      accept_next();
      answer(std::move(happened));
    }
  }

 private:
  struct call {
    grpc::ServerContext context;
    bench::Request request;
    bench::Reply reply;
    grpc::ServerAsyncResponseWriter<bench::Reply> writer{&context};
    bool answered = false;
  };

  void accept_next() {
    call& next = *std::make_unique<call>().release();  // the completion queue owns it now
    service_.RequestCall(&next.context, &next.request, &next.writer, queue_.get(), queue_.get(), &next);
  }
  void answer(std::unique_ptr<call> asked) {
    call& c = *asked.release();
    c.answered = true;
    c.reply.set_value(value_);
    c.writer.Finish(c.reply, grpc::Status::OK, &c);
  }

  std::uint64_t value_;
  int port_ = 0;
  bench::FanOut::AsyncService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> running_;
};

class root {
 public:
  root(bench::member& me, const setting& s) : me_(me), expected_(std::uint64_t{s.nodes} * (s.nodes + 1) / 2) {
    request_.set_data(std::string(s.size, 'x'));
    for (std::uint32_t i = 1; i < s.nodes; ++i) {
      const std::string address = "127.0.0.1:" + std::to_string(me.port(i));
      servers_.push_back(
          bench::FanOut::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())));
    }
  }

  /// At a fixed rate another thread begins the broadcasts: a wait for the completion queue is too coarse for that.
  void carry_out(const bench::order& o) {
    broadcasts_.clear();
    broadcasts_.resize(o.operations);
    begun_ = ended_ = 0;
    if (o.gap_ns == 0) {
      while (ended_ < o.operations) {
        while (begun_ < o.operations && begun_ - ended_ < o.in_flight) begin_next(bench::now_ns());
        take_reply();
      }
      return;
    }
    std::thread other([&] { begin_at_rate(o); });
    while (ended_ < o.operations) take_reply();
    other.join();
  }

 private:
  struct broadcast;
  struct call {
    broadcast* of = nullptr;
    grpc::ClientContext context;
    bench::Reply reply;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<bench::Reply>> reader;
  };
  struct broadcast {
    std::uint32_t number = 0;
    std::int64_t began_ns = 0;
    std::uint64_t sum = 1;
    std::size_t missing = 0;
    std::vector<call> calls;
  };

  void begin_next(std::int64_t at_ns) {
    broadcast& b = broadcasts_[begun_];
    b.number = begun_++;
    b.began_ns = at_ns;
    b.missing = servers_.size();
    b.calls = std::vector<call>(servers_.size());
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      call& c = b.calls[i];
      c.of = &b;
      c.reader = servers_[i]->AsyncCall(&c.context, request_, &queue_);
      c.reader->Finish(&c.reply, &c.status, &c);
    }
  }

  void begin_at_rate(const bench::order& o) {
    const std::int64_t start = bench::now_ns();
    for (std::uint32_t i = 0; i < o.operations; ++i) {
      const std::int64_t due = start + std::int64_t{o.gap_ns} * i;
      const timespec at{due / 1'000'000'000, due % 1'000'000'000};
      while (bench::now_ns() < due) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
      begin_next(due);
    }
  }

  void take_reply() {
    void* tag = nullptr;
    bool good = false;
    if (!queue_.Next(&tag, &good) || !good) throw std::runtime_error("the completion queue was shut down");
    const call& done = *static_cast<call*>(tag);
    if (!done.status.ok()) throw std::runtime_error("a call failed: " + done.status.error_message());
    broadcast& b = *done.of;
    b.sum += done.reply.value();
    if (--b.missing != 0) return;
    if (b.sum != expected_) throw std::runtime_error("the sum is wrong");
    me_.note(b.number, b.began_ns, bench::now_ns());
    b.calls = std::vector<call>();
    ++ended_;
  }

  bench::member& me_;
  std::uint64_t expected_;
  bench::Request request_;
  std::vector<std::unique_ptr<bench::FanOut::Stub>> servers_;
  grpc::CompletionQueue queue_;
  std::vector<broadcast> broadcasts_;  ///< of this order
  std::uint32_t begun_ = 0;
  std::uint32_t ended_ = 0;
};

void play_server(bench::member& me, const setting& s) {
  server mine(std::uint64_t{me.index()} + 1, s.congestion_control);
  me.publish(mine.port());
  me.ready();
  mine.serve();
}

void play_root(bench::member& me, const setting& s) {
  constexpr std::uint16_t listens_nowhere = 1;
  me.publish(listens_nowhere);
  root mine(me, s);
  mine.carry_out({1});  // makes the connections
  bench::set_congestion_control_of_all(s.congestion_control);
  me.ready();
  while (const auto next = me.next_order()) {
    mine.carry_out(*next);
    me.done(next->operations);
  }
}

[[noreturn]] void live(const std::string& invitation, std::uint32_t index, const setting& s) {
  try {
    bench::guest joined(invitation, index, "grpc", index == 0);
    try {
      index == 0 ? play_root(joined.self(), s) : play_server(joined.self(), s);
    } catch (const std::exception& e) {
      joined.self().give_up(e.what());
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "scoll-bench-grpc: %s\n", e.what());
    _exit(3);
  }
  _exit(0);
}

}  // namespace

/// A process besides those that take part. It starts them before any of them has begun to use gRPC, and ends
/// with the first that ends; the other processes die with it.
int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("started by scoll-bench: INVITATION PROCESSES BYTES [CONGESTION CONTROL]\n", stderr);
    return 2;
  }
  const setting s{static_cast<std::uint32_t>(std::stoul(argv[2])), std::stoul(argv[3]),
                  argc > 4 ? argv[4] : ""};
  const pid_t parent = getpid();
  for (std::uint32_t i = 0; i < s.nodes; ++i) {
    const pid_t child = fork();
    if (child < 0) {
      std::perror("fork");
      return 3;
    }
    if (child != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(3);
    live(argv[1], i, s);
  }
  int status = 0;
  wait(&status);
  return status == 0 ? 0 : 3;
}
