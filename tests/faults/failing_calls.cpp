// failing_calls CALL ERRNO N PATH COMMAND…: runs the command, and lets one system call fail with that errno, on any
// thread and in any process that it starts: the N-th one (from 1), or every one (0). PATH selects the calls: those that
// concern a file whose path has it as a part, by name or by descriptor; "" selects all. The last line on stderr is
// "matched M". Ends with the command's exit code; 125: the system does not allow this.
//
// The kernel asks this process about each call (a seccomp filter with SECCOMP_RET_USER_NOTIF), so that nothing of the
// program is replaced.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

/// Where a call has a path or a descriptor among its arguments; -1: nowhere.
struct Call {
  long number;
  int path, descriptor;
};

const std::map<std::string, Call> kCalls = {{"openat", {SYS_openat, 1, -1}},
                                            {"openat2", {SYS_openat2, 1, 0}},
                                            {"mkdir", {SYS_mkdir, 0, -1}},
                                            {"rename", {SYS_rename, 1, -1}},
                                            {"link", {SYS_link, 1, -1}},
                                            {"unlink", {SYS_unlink, 0, -1}},
                                            {"unlinkat", {SYS_unlinkat, 1, 0}},
                                            {"rmdir", {SYS_rmdir, 0, -1}},
                                            {"write", {SYS_write, -1, 0}},
                                            {"pwrite64", {SYS_pwrite64, -1, 0}},
                                            {"read", {SYS_read, -1, 0}},
                                            {"pread64", {SYS_pread64, -1, 0}},
                                            {"fsync", {SYS_fsync, -1, 0}},
                                            {"close", {SYS_close, -1, 0}},
                                            {"flock", {SYS_flock, -1, 0}},
                                            {"fcntl", {SYS_fcntl, -1, 0}},
                                            {"ftruncate", {SYS_ftruncate, -1, 0}},
                                            {"fallocate", {SYS_fallocate, -1, 0}},
                                            {"newfstatat", {SYS_newfstatat, 1, 0}},
                                            {"statx", {SYS_statx, 1, 0}},
                                            {"getdents64", {SYS_getdents64, -1, 0}},
                                            {"readlink", {SYS_readlink, 0, -1}},
                                            {"socket", {SYS_socket, -1, -1}},
                                            {"bind", {SYS_bind, -1, -1}},
                                            {"listen", {SYS_listen, -1, -1}},
                                            {"connect", {SYS_connect, -1, -1}},
                                            {"accept4", {SYS_accept4, -1, -1}},
                                            {"setsockopt", {SYS_setsockopt, -1, -1}},
                                            {"getsockname", {SYS_getsockname, -1, -1}},
                                            {"pipe2", {SYS_pipe2, -1, -1}},
                                            {"dup2", {SYS_dup2, -1, -1}},
                                            {"signalfd4", {SYS_signalfd4, -1, -1}},
                                            {"getrandom", {SYS_getrandom, -1, -1}},
                                            {"memfd_create", {SYS_memfd_create, -1, -1}},
                                            {"clone3", {SYS_clone3, -1, -1}},
                                            {"prctl", {SYS_prctl, -1, -1}},
                                            {"setpgid", {SYS_setpgid, -1, -1}},
                                            {"sched_setaffinity", {SYS_sched_setaffinity, -1, -1}},
                                            {"membarrier", {SYS_membarrier, -1, -1}},
                                            {"eventfd2", {SYS_eventfd2, -1, -1}},
                                            {"uname", {SYS_uname, -1, -1}},
                                            {"process_vm_readv", {SYS_process_vm_readv, -1, -1}},
                                            {"clone", {SYS_clone, -1, -1}}};

std::string text_at(pid_t process, std::uint64_t address) {
  std::array<char, PATH_MAX> bytes{};
  const int memory = open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t got = pread(memory, bytes.data(), bytes.size() - 1, static_cast<off_t>(address));
  close(memory);
  return got > 0 ? bytes.data() : "";
}

std::string file_of(pid_t process, int descriptor) {
  std::array<char, PATH_MAX> bytes{};
  const std::string link = descriptor == AT_FDCWD ? "cwd" : "fd/" + std::to_string(descriptor);
  const ssize_t got =
      readlink(("/proc/" + std::to_string(process) + "/" + link).c_str(), bytes.data(), bytes.size() - 1);
  return got > 0 ? bytes.data() : "";
}

bool selects(const Call& call, const std::string& part, const seccomp_notif& asked) {
  if (part.empty()) return true;
  const auto process = static_cast<pid_t>(asked.pid);
  const std::string path = call.path < 0 ? "" : text_at(process, asked.data.args[call.path]);
  if (path.find(part) != std::string::npos) return true;
  return call.descriptor >= 0 && (path.empty() || path[0] != '/') &&
         file_of(process, static_cast<int>(asked.data.args[call.descriptor])).find(part) != std::string::npos;
}

/// Installs the filter in this process. Returns the descriptor by which the kernel asks; -1: it is not allowed.
int install(long number) {
  std::array<sock_filter, 4> code = {{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1),
                                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program = {code.size(), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

void answer(int listener, const Call& call, int error, long nth, const std::string& part, long& matched) {
  seccomp_notif asked{};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return;
  seccomp_notif_resp reply{};
  reply.id = asked.id;
  const bool match = selects(call, part, asked);
  if (match) ++matched;
  if (match && (nth == 0 || matched == nth))
    reply.error = -error;
  else
    reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc < 6 ? kCalls.end() : kCalls.find(argv[1]);
  if (found == kCalls.end()) {
    std::fprintf(stderr, "failing_calls CALL ERRNO N PATH COMMAND…\n");
    return 125;
  }
  const Call& call = found->second;
  const int error = std::atoi(argv[2]);
  const long nth = std::atol(argv[3]);
  const std::string part = argv[4];
  // The child says which of its descriptors is the listener, and waits until the parent has taken it.
  std::array<int, 2> go{}, made{};
  if (pipe2(go.data(), O_CLOEXEC) != 0 || pipe2(made.data(), O_CLOEXEC) != 0) return 125;
  const pid_t child = fork();
  if (child == 0) {
    const int listener = install(call.number);
    char begun = 0;
    if (listener < 0) _exit(125);
    // Not read() and write(), which may be the calls that the kernel asks about before the parent can answer.
    (void)!syscall(SYS_writev, made[1], std::array<iovec, 1>{{{const_cast<int*>(&listener), sizeof listener}}}.data(),
                   1);
    (void)!syscall(SYS_readv, go[0], std::array<iovec, 1>{{{&begun, 1}}}.data(), 1);
    execvp(argv[5], argv + 5);
    _exit(125);
  }
  close(made[1]);
  int in_child = -1;
  if (read(made[0], &in_child, sizeof in_child) != sizeof in_child) return 125;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const int listener = static_cast<int>(syscall(SYS_pidfd_getfd, handle, in_child, 0));
  if (handle < 0 || listener < 0) {
    kill(child, SIGKILL);
    return 125;
  }
  (void)!write(go[1], "x", 1);
  long matched = 0;
  for (;;) {
    std::array<pollfd, 2> watched = {{{listener, POLLIN, 0}, {handle, POLLIN, 0}}};
    if (poll(watched.data(), watched.size(), -1) < 0) break;
    if ((watched[0].revents & POLLIN) != 0) answer(listener, call, error, nth, part, matched);
    if ((watched[1].revents & POLLIN) != 0) break;
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::fprintf(stderr, "matched %ld\n", matched);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
