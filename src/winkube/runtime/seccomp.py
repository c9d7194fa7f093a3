"""The system calls a container may make; every other one fails with "operation not permitted".

The list follows the default profile of the container engines for a process without capabilities,
less what no Windows program under Wine needs.
"""

from typing import Any, Final

_ALLOWED: Final = """
accept accept4 access alarm arch_prctl bind brk capget capset chdir chmod chown clock_getres
clock_gettime clock_nanosleep clone3 close close_range connect copy_file_range creat dup dup2 dup3
epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve
execveat exit exit_group faccessat faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2
fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat
fstatfs fsync ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat getcpu
getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp
getpid getppid getpriority getrandom getresgid getresuid getrlimit get_robust_list getrusage getsid
getsockname getsockopt gettid gettimeofday getuid getxattr inotify_add_watch inotify_init
inotify_init1 inotify_rm_watch io_cancel ioctl io_destroy io_getevents io_pgetevents ioprio_get
ioprio_set io_setup io_submit kill lchown lgetxattr link linkat listen listxattr llistxattr
lremovexattr lseek lsetxattr lstat madvise membarrier memfd_create mincore mkdir mkdirat mknod
mknodat mlock mlock2 mlockall mmap modify_ldt mprotect mremap msgctl msgget msgrcv msgsnd msync
munlock munlockall munmap name_to_handle_at nanosleep newfstatat open openat openat2 pause
pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll
prctl pread64 preadv preadv2 prlimit64 process_mrelease process_vm_readv process_vm_writev pselect6
ptrace pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg
remap_file_pages removexattr rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction
rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
rt_tgsigqueueinfo sched_getaffinity sched_getattr sched_getparam sched_get_priority_max
sched_get_priority_min sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
sched_setparam sched_setscheduler sched_yield select semctl semget semop semtimedop sendfile
sendmmsg sendmsg sendto setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid
setresgid setresuid setreuid setrlimit set_robust_list setsid setsockopt set_thread_area
set_tid_address setuid setxattr shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4
socketpair splice stat statfs statx symlink symlinkat sync sync_file_range syncfs sysinfo tee
tgkill time timer_create timer_delete timerfd_create timerfd_gettime timerfd_settime
timer_getoverrun timer_gettime timer_settime times tkill truncate umask uname unlink unlinkat utime
utimensat utimes vfork vmsplice wait4 waitid waitpid write writev
"""

_AF_VSOCK: Final = 40
_PERSONALITIES: Final = (0x0, 0x0008, 0x20000, 0x20008, 0xFFFFFFFF, 0x0040000)
# Flags of clone(2) that make namespaces: a container makes none of its own.
_NAMESPACE_FLAGS: Final = 0x7E020000


def _masked(index: int, mask: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def profile() -> dict[str, Any]:
    """The ``linux.seccomp`` part of an OCI runtime specification."""
    allow = "SCMP_ACT_ALLOW"
    personality = [
        {
            "names": ["personality"],
            "action": allow,
            "args": [{"index": 0, "value": value, "op": "SCMP_CMP_EQ"}],
        }
        for value in _PERSONALITIES
    ]
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": [
            {"names": [name for name in _ALLOWED.split() if name != "clone3"], "action": allow},
            *personality,
            {
                "names": ["socket"],
                "action": allow,
                "args": [{"index": 0, "value": _AF_VSOCK, "op": "SCMP_CMP_NE"}],
            },
            {"names": ["clone"], "action": allow, "args": [_masked(0, _NAMESPACE_FLAGS, 0)]},
            # Its flags are in memory and cannot be checked; ENOSYS makes libc use clone(2).
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
        ],
    }
