#include "base/process/call_filter.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

namespace stoker {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_AARCH64;
#endif

// Numbers from 424 on are the same on every architecture; older headers lack the last of them.
constexpr std::array<std::uint32_t, 107> denied_calls{
    // Other programs and processes.
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kill, SYS_tkill,
    SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_kcmp, SYS_pidfd_open, SYS_pidfd_getfd,
    SYS_pidfd_send_signal, SYS_process_madvise, SYS_process_mrelease, SYS_setpgid, SYS_setpriority,
    SYS_ioprio_set, SYS_migrate_pages, SYS_move_pages,
    // Owners, rights and times of files, which Landlock does not cover.
    SYS_fchmod, SYS_fchmodat, 452 /* fchmodat2 */, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr,
    SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, 463 /* setxattrat */,
    466 /* removexattrat */, 469 /* file_setattr */, SYS_truncate, SYS_name_to_handle_at,
    SYS_open_by_handle_at, SYS_mknodat,
    // The machine itself: mounts, modules, clocks.
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
    SYS_move_mount, SYS_open_tree, SYS_mount_setattr, 467 /* open_tree_attr */, SYS_unshare, SYS_setns,
    SYS_swapon, SYS_swapoff, SYS_reboot, SYS_sethostname, SYS_setdomainname, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_acct, SYS_quotactl,
    SYS_quotactl_fd, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_vhangup,
    SYS_syslog, SYS_personality,
    // Rarely needed, and often where the kernel has its faults.
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter,
    SYS_io_uring_register, SYS_io_setup, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_lookup_dcookie,
    SYS_fanotify_init, SYS_fanotify_mark, SYS_inotify_init1, SYS_memfd_secret, SYS_landlock_create_ruleset,
    SYS_vmsplice, SYS_remap_file_pages,
    // Memory and messages that outlive the process or reach others.
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_shmdt, SYS_semget, SYS_semop, SYS_semctl, SYS_semtimedop,
    SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend,
    SYS_mq_timedreceive};

#if defined(__x86_64__)
constexpr std::array<std::uint32_t, 14> denied_old_calls{
    SYS_fork,      SYS_vfork, SYS_chmod, SYS_chown,  SYS_lchown,     SYS_utime,        SYS_utimes,
    SYS_futimesat, SYS_mknod, SYS_iopl,  SYS_ioperm, SYS_modify_ldt, SYS_inotify_init, SYS_uselib};
#else
constexpr std::array<std::uint32_t, 0> denied_old_calls{};
#endif

// One of a pair can send to any socket in the file system, too.
constexpr std::array<std::uint32_t, 7> network_calls{SYS_socket, SYS_socketpair, SYS_connect, SYS_bind,
                                                     SYS_listen, SYS_accept,     SYS_accept4};

constexpr std::uint32_t place_of_number = offsetof(seccomp_data, nr);
constexpr std::uint32_t place_of_architecture = offsetof(seccomp_data, arch);
// The lower half of an argument. Every value that is compared fits into it.
constexpr std::uint32_t place_of_argument(std::size_t i) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + i * sizeof(std::uint64_t));
}

class Filter {
 public:
  Filter() {
    load(place_of_architecture);
    add(BPF_JMP | BPF_JEQ | BPF_K, own_architecture, 1, 0);
    answer(SECCOMP_RET_KILL_PROCESS);
    load(place_of_number);
#if defined(__x86_64__)
    // The same calls under the numbers of x32.
    constexpr std::uint32_t first_x32_call = 0x40000000;
    add(BPF_JMP | BPF_JGE | BPF_K, first_x32_call, 0, 1);
    answer(error(EPERM));
#endif
  }

  void deny(std::uint32_t call, int code = EPERM) {
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    answer(error(code));
  }

  // Allowed only if one of `values` is its first argument.
  void allow_only(std::uint32_t call, const std::vector<std::uint32_t>& values) {
    const auto count = static_cast<std::uint8_t>(values.size());
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, static_cast<std::uint8_t>(count + 3));
    load(place_of_argument(0));
    for (std::uint8_t i = 0; i < count; ++i)
      add(BPF_JMP | BPF_JEQ | BPF_K, values[i], static_cast<std::uint8_t>(count - i), 0);
    answer(error(EPERM));
    answer(SECCOMP_RET_ALLOW);
  }

  // Allowed only with this flag in its first argument.
  void allow_with(std::uint32_t call, std::uint32_t flag) {
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
    load(place_of_argument(0));
    add(BPF_JMP | BPF_JSET | BPF_K, flag, 1, 0);
    answer(error(EPERM));
    answer(SECCOMP_RET_ALLOW);
  }

  void switch_on() {
    answer(SECCOMP_RET_ALLOW);
    const sock_fprog program{static_cast<unsigned short>(lines_.size()), lines_.data()};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
      fail("system calls could not be filtered: {}", std::strerror(errno));
  }

 private:
  static std::uint32_t error(int code) {
    return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(code) & SECCOMP_RET_DATA);
  }
  void add(int code, std::uint32_t value, std::uint8_t if_true, std::uint8_t if_false) {
    lines_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, value});
  }
  void load(std::uint32_t place) {
    add(BPF_LD | BPF_W | BPF_ABS, place, 0, 0);
  }
  void answer(std::uint32_t what) {
    add(BPF_RET | BPF_K, what, 0, 0);
  }

  std::vector<sock_filter> lines_;
};

}  // namespace

bool can_filter_calls() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void filter_calls(bool may_connect) {
  Filter filter;
  for (const std::uint32_t call : denied_calls) filter.deny(call);
  for (const std::uint32_t call : denied_old_calls) filter.deny(call);
  if (!may_connect)
    for (const std::uint32_t call : network_calls) filter.deny(call);
  filter.deny(SYS_clone3, ENOSYS);  // its flags lie in memory; the C library then calls clone
  filter.allow_with(SYS_clone, CLONE_THREAD);
  const auto own = static_cast<std::uint32_t>(::getpid());
  filter.allow_only(SYS_tgkill, {own});
  filter.allow_only(SYS_prlimit64, {0, own});
  filter.allow_only(SYS_sched_setaffinity, {0, own});
  filter.switch_on();
}

}  // namespace stoker
