// Open MPI over TCP: MPI_Bcast and MPI_Reduce, with the algorithms that it chooses itself.
//
// Between orders every rank sleeps in its own wait for the next order. While a collective operation is under
// way, Open MPI has no wait that sleeps; at best it yields the processor whenever it has found nothing.

#include <mpi.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/kit/guest.hpp"
#include "bench/kit/sockets.hpp"

namespace {

/// Runs this program again, under mpirun, as this many ranks that keep their files in a folder.
std::vector<std::string> ranks_of(const std::string& count, const std::string& folder, char** program) {
  std::vector<std::string> words{SCOLL_OPENMPI_RUN,
                                 "-np",
                                 count,
                                 "--oversubscribe",
                                 "--bind-to",
                                 "none",  // more ranks than processors
                                 "--mca",
                                 "plm",
                                 "isolated",
                                 "--mca",
                                 "orte_tmpdir_base",
                                 folder,
                                 "--mca",
                                 "oob_tcp_if_include",
                                 "lo",
                                 "--mca",
                                 "pml",
                                 "ob1",
                                 "--mca",
                                 "btl",
                                 "tcp,self",
                                 "--mca",
                                 "btl_tcp_if_include",
                                 "lo",
                                 "--mca",
                                 "mpi_yield_when_idle",
                                 "1"};
  for (; *program != nullptr; ++program) words.emplace_back(*program);
  return words;
}

[[noreturn]] void become(std::vector<std::string> words) {
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);  // allows the ranks to run as the current user, even as root
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  std::perror(arguments[0]);
  _exit(127);
}

/// Makes mpirun start the ranks, and stays to remove the files that mpirun leaves when it is killed. When
/// told to end, it tells mpirun, which ends the ranks.
int launch(const std::string& count, char** program) {
  std::string folder = std::filesystem::temp_directory_path() / "scoll-bench-mpi-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) bench::fail("a folder for mpirun");
  sigset_t expected, before;
  sigemptyset(&expected);
  sigaddset(&expected, SIGTERM);
  sigaddset(&expected, SIGCHLD);
  sigprocmask(SIG_BLOCK, &expected, &before);
  const pid_t parent = getpid();
  const pid_t mpirun = fork();
  if (mpirun < 0) bench::fail("fork");
  if (mpirun == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (getppid() != parent) _exit(3);
    become(ranks_of(count, folder, program));
  }
  int status = 0, signal = 0;
  while (sigwait(&expected, &signal) == 0 && waitpid(mpirun, &status, WNOHANG) != mpirun) {
    if (signal == SIGTERM) kill(mpirun, SIGTERM);
  }
  std::filesystem::remove_all(folder);
  return status == 0 ? 0 : 3;
}

/// Runs one rank. An error of MPI ends all ranks, with MPI's own message.
class collective {
 public:
  explicit collective(std::size_t size) : payload_(size) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  ~collective() { MPI_Finalize(); }
  collective(const collective&) = delete;
  collective& operator=(const collective&) = delete;

  /// Waits until every rank has arrived here.
  void meet() { MPI_Barrier(MPI_COMM_WORLD); }

  void broadcast() {
    const auto mine = static_cast<std::uint64_t>(rank_) + 1;
    std::uint64_t sum = 0;
    MPI_Bcast(payload_.data(), static_cast<int>(payload_.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    const auto n = static_cast<std::uint64_t>(ranks_);
    if (rank_ == 0 && sum != n * (n + 1) / 2) throw std::runtime_error("the sum is wrong");
  }

 private:
  std::vector<std::byte> payload_;
  int rank_ = 0;
  int ranks_ = 0;
};

void play(bench::member& me, std::size_t size, const std::string& congestion_control) {
  collective job(size);
  job.meet();
  job.broadcast();  // makes the connections
  bench::set_congestion_control_of_all(congestion_control);
  job.meet();
  me.ready();
  me.serve([&] { job.broadcast(); }, [&] { job.meet(); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("started by scoll-bench: INVITATION RANKS BYTES [CONGESTION CONTROL]\n", stderr);
    return 2;
  }
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  try {
    if (rank == nullptr) return launch(argv[2], argv);
    bench::guest joined(argv[1], static_cast<std::uint32_t>(std::stoul(rank)), "openmpi-tcp");
    try {
      play(joined.self(), std::stoul(argv[3]), argc > 4 ? argv[4] : "");
    } catch (const std::exception& e) {
      joined.self().give_up(e.what());
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "scoll-bench-mpi: %s\n", e.what());
    return 3;
  }
  return 0;
}
