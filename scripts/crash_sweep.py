#!/usr/bin/env python3
"""crash_sweep: kill, cut or fail a command at every state-changing syscall.

    crash_sweep.py --setup CMD --run CMD --recover CMD --check CMD [options]

All four commands are shell strings.  For every injection point they run in a
fresh temporary directory (the working directory, also $SANDBOX):

    setup      builds the "before" state
    run        the command under test; the fault is injected here
    recover    what a user would do next (may be empty)
    check      exit status 0 = this point is fine

A point is one system call that changes state under the sandbox (or under a
--root directory): open with O_CREAT/O_TRUNC/O_TMPFILE, write/pwrite to a
regular file, fsync/fdatasync, rename, link, symlink, unlink, rmdir, mkdir,
truncate, chmod, chown, utimens, xattr, copy_file_range, sendfile, fallocate,
FICLONE.  Interpreter start-up touches nothing there, so it makes no points.

Modes (--mode, comma separated):
    kill     SIGKILL to the whole process tree just before the call happens
    torn     half of a write happens, then SIGKILL
    lost     SIGKILL, then every file gets back the content it had at its
             last fsync while names stay as they are: the power cut of a file
             system that wrote the metadata first (needs no root; blind to
             mmap, O_SYNC and sync(); files over 64 MiB are left alone)
    int/term SIGINT or SIGTERM to the calling process, the call goes on
    ENOSPC, EIO, EDQUOT, EACCES, ...   the call fails with that errno
             (--sticky: so does every later point, as on a full disk)
    power    (root) the sandbox is a loop-mounted file system; at the point
             its backing image is copied as it is and everything is killed;
             recovery runs on the mounted copy: un-synced data is gone
             (--writeback random: a random part of it is synced first)
In lost and power there is one more point, "end": the cut comes after the
command has finished, and what it reported as done must be there.

--nested K does it again inside the recovery: for K of the run's kill points,
the first recovery is itself killed at each of its own points, then recover
runs once more and check judges.

The commands see: SANDBOX, PY (this interpreter), SWEEP_MODE, SWEEP_POINT
(0 = nothing injected), SWEEP_SYSCALL; recover and check also SWEEP_RC (exit
status of run, 128+n for a signal), SWEEP_OUT and SWEEP_ERR (files with the
run's output); check also SWEEP_RECOVER_RC, SWEEP_RECOVER_OUT and
SWEEP_RECOVER_ERR.  A check can so compare what the program *claimed* with
what is on disk.

The points come from seccomp user notification: Linux 5.5 or newer, x86_64 or
aarch64, no privileges, one exact order over threads and child processes, at
little cost.

Not seen: writes through mmap or io_uring, and processes that leave the
command's session.

Exit status: 0 no failures, 1 failures, 2 cannot run.
"""

import argparse
import array
import concurrent.futures
import ctypes
import errno
import fcntl
import json
import os
import platform
import random
import re
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

Point = tuple[str, list[str]]  # name of the call, paths relative to a root
Task = tuple[str, int, int | None]  # mode, point of the run, point of its recovery

# --------------------------------------------------------------- syscalls

# name -> (kind of each interesting argument ...).  p<i> = path in argument i
# relative to the cwd, d<i> = dirfd in argument i with the path in i+1,
# f<i> = file descriptor in argument i.
# fmt: off
CALLS = {
    "open": ("p0",), "creat": ("p0",), "openat": ("d0",), "openat2": ("d0",), "write": ("f0",),
    "pwrite64": ("f0",), "writev": ("f0",), "pwritev": ("f0",), "pwritev2": ("f0",), "sendfile": ("f0",),
    "copy_file_range": ("f2",), "splice": ("f2",), "ioctl": ("f0",), "fallocate": ("f0",), "fsync": ("f0",),
    "fdatasync": ("f0",), "syncfs": ("f0",), "sync_file_range": ("f0",), "truncate": ("p0",),
    "ftruncate": ("f0",), "rename": ("p0", "p1"), "renameat": ("d0", "d2"), "renameat2": ("d0", "d2"),
    "link": ("p0", "p1"), "linkat": ("d0", "d2"), "symlink": ("p1",), "symlinkat": ("d1",),
    "unlink": ("p0",), "unlinkat": ("d0",), "rmdir": ("p0",), "mkdir": ("p0",), "mkdirat": ("d0",),
    "mknod": ("p0",), "mknodat": ("d0",), "chmod": ("p0",), "fchmod": ("f0",), "fchmodat": ("d0",),
    "fchmodat2": ("d0",), "chown": ("p0",), "lchown": ("p0",), "fchown": ("f0",), "fchownat": ("d0",),
    "utime": ("p0",), "utimes": ("p0",), "futimesat": ("d0",), "utimensat": ("d0",), "setxattr": ("p0",),
    "lsetxattr": ("p0",), "fsetxattr": ("f0",), "removexattr": ("p0",), "lremovexattr": ("p0",),
    "fremovexattr": ("f0",),
}
# fmt: on

# fmt: off
X86_64 = {
    "write": 1, "open": 2, "ioctl": 16, "pwrite64": 18, "writev": 20, "sendfile": 40, "fsync": 74,
    "fdatasync": 75, "truncate": 76, "ftruncate": 77, "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85,
    "link": 86, "unlink": 87, "symlink": 88, "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93,
    "lchown": 94, "utime": 132, "mknod": 133, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190,
    "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "utimes": 235, "openat": 257,
    "mkdirat": 258, "mknodat": 259, "fchownat": 260, "futimesat": 261, "unlinkat": 263, "renameat": 264,
    "linkat": 265, "symlinkat": 266, "fchmodat": 268, "splice": 275, "sync_file_range": 277,
    "utimensat": 280, "fallocate": 285, "pwritev": 296, "syncfs": 306, "renameat2": 316,
    "copy_file_range": 326, "pwritev2": 328, "openat2": 437, "fchmodat2": 452,
}
# fmt: on
# fmt: off
AARCH64 = {
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
    "fremovexattr": 16, "ioctl": 29, "mknodat": 33, "mkdirat": 34, "unlinkat": 35, "symlinkat": 36,
    "linkat": 37, "renameat": 38, "truncate": 45, "ftruncate": 46, "fallocate": 47, "fchmod": 52,
    "fchmodat": 53, "fchownat": 54, "fchown": 55, "openat": 56, "write": 64, "writev": 66, "pwrite64": 68,
    "pwritev": 70, "sendfile": 71, "splice": 76, "fsync": 82, "fdatasync": 83, "sync_file_range": 84,
    "utimensat": 88, "syncfs": 267, "renameat2": 276, "copy_file_range": 285, "pwritev2": 287,
    "openat2": 437, "fchmodat2": 452,
}
# fmt: on
ARCHES = {"x86_64": (0xC000003E, X86_64, 317), "aarch64": (0xC00000B7, AARCH64, 277)}

FICLONE, FICLONERANGE = 0x40049409, 0x4020940D
WRITES_FLAGS = os.O_CREAT | os.O_TRUNC | (getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY)
OPEN_FLAGS_ARG = {"open": 1, "openat": 2}
AT_FDCWD = -100

# Calls that may really run out of space; the others stay unharmed by ENOSPC
# and EDQUOT.  EIO and the rest may hit anything.
# fmt: off
NEEDS_SPACE = {
    "open", "creat", "openat", "openat2", "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile",
    "copy_file_range", "splice", "ioctl", "fallocate", "fsync", "fdatasync", "syncfs", "rename", "renameat",
    "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat", "mknod", "mknodat",
    "setxattr", "lsetxattr", "fsetxattr", "truncate", "ftruncate",
}
# fmt: on


TEARABLE = ("write", "pwrite64")
NO_SPACE = ("ENOSPC", "EDQUOT")
END = "end"  # the point after the last one, in CUTS only
CUTS = ("lost", "power")


class CannotRun(Exception):
    """The sweep cannot be done here, or the command fails without any fault."""


# ------------------------------------------------ seccomp user notification

NOTIF = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif, 80 bytes
RESP = struct.Struct("=QqiI")  # struct seccomp_notif_resp
IOC_RECV, IOC_SEND = 0xC0502100, 0xC0182101
RESP_CONTINUE = 1
RET_ALLOW, RET_NOTIFY = 0x7FFF0000, 0x7FC00000


def bpf_program(nrs: dict[str, int], arch_id: int) -> tuple[bytes, int]:
    """Classic BPF: notify for the calls in nrs, allow everything else."""
    load, jump_equal, jump_set, ret = 0x20, 0x15, 0x45, 0x06
    code: list[bytes] = []

    def ins(op: int, jt: int, jf: int, k: int) -> None:
        code.append(struct.pack("=HBBI", op, jt, jf, k & 0xFFFFFFFF))

    ins(load, 0, 0, 4)
    ins(jump_equal, 1, 0, arch_id)
    ins(ret, 0, 0, RET_ALLOW)
    ins(load, 0, 0, 0)
    for name, nr in nrs.items():
        if name in OPEN_FLAGS_ARG:
            ins(jump_equal, 0, 4, nr)
            ins(load, 0, 0, 16 + 8 * OPEN_FLAGS_ARG[name])
            ins(jump_set, 0, 1, WRITES_FLAGS)
            ins(ret, 0, 0, RET_NOTIFY)
            ins(ret, 0, 0, RET_ALLOW)
        elif name == "ioctl":
            ins(jump_equal, 0, 5, nr)
            ins(load, 0, 0, 16 + 8)
            ins(jump_equal, 1, 0, FICLONE)
            ins(jump_equal, 0, 1, FICLONERANGE)
            ins(ret, 0, 0, RET_NOTIFY)
            ins(ret, 0, 0, RET_ALLOW)
        else:
            ins(jump_equal, 0, 1, nr)
            ins(ret, 0, 0, RET_NOTIFY)
    ins(ret, 0, 0, RET_ALLOW)
    return b"".join(code), len(code)


def install_filter(nrs: dict[str, int], arch_id: int, nr_seccomp: int) -> int:
    """In the child: install the filter, return the listener descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    blob, n = bpf_program(nrs, arch_id)
    buf = ctypes.create_string_buffer(blob, len(blob))
    prog = struct.pack("@HxxxxxxP", n, ctypes.addressof(buf))
    pbuf = ctypes.create_string_buffer(prog, len(prog))
    if libc.prctl(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS
        raise OSError(ctypes.get_errno(), "no_new_privs")
    libc.syscall.restype = ctypes.c_long
    fd = libc.syscall(
        ctypes.c_long(nr_seccomp), ctypes.c_long(1), ctypes.c_ulong(1 << 3), pbuf
    )  # NEW_LISTENER
    if fd < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return int(fd)


def read_cstring(tid: int, addr: int) -> str:
    out = b""
    fd = os.open(f"/proc/{tid}/mem", os.O_RDONLY)
    try:
        while len(out) < 8192:
            n = 4096 - (addr + len(out)) % 4096
            part = os.pread(fd, n, addr + len(out))
            if not part:
                break
            end = part.find(b"\0")
            if end >= 0:
                out += part[:end]
                break
            out += part
    finally:
        os.close(fd)
    return os.fsdecode(out)


def readlink(path: str) -> str:
    try:
        name = os.readlink(path)
    except OSError:
        return ""
    return name.removesuffix(" (deleted)")


def to_int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def to_int64(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def call_paths(tid: int, name: str, args: Sequence[int]) -> list[str]:
    """Absolute paths a call names ('' where they cannot be told)."""
    found = []
    for spec in CALLS[name]:
        kind, i = spec[0], int(spec[1])
        if kind == "f":
            found.append(readlink(f"/proc/{tid}/fd/{to_int32(args[i])}"))
            continue
        base, rel = f"/proc/{tid}/cwd", i
        if kind == "d":
            dirfd, rel = to_int32(args[i]), i + 1
            if dirfd != AT_FDCWD:
                base = f"/proc/{tid}/fd/{dirfd}"
        try:
            text = read_cstring(tid, args[rel]) if args[rel] else ""
        except OSError:
            text = ""
        path = os.path.normpath(os.path.join(readlink(base) or "/", text))
        head, tail = os.path.split(path)
        found.append(os.path.join(os.path.realpath(head), tail))
    return found


def session_members(sid: int) -> list[int]:
    """Processes of the session that we made for the command."""
    members = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as f:
                fields = f.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == sid and fields[0] != b"Z":
            members.append(int(entry))
    return members


def kill_session(sid: int) -> None:
    for _ in range(50):
        members = session_members(sid)
        if not members:
            return
        for pid in members:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.002)


def status_to_rc(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def half_write(tid: int, name: str, args: Sequence[int]) -> None:
    """Let half of a write happen through a duplicate of its descriptor."""
    with open(f"/proc/{tid}/status") as f:
        tgid = next(int(line.split()[1]) for line in f if line.startswith("Tgid:"))
    count = args[2] // 2
    if not count:
        return
    mem = os.open(f"/proc/{tid}/mem", os.O_RDONLY)
    data = os.pread(mem, count, args[1])
    os.close(mem)
    pidfd = os.pidfd_open(tgid)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    fd = libc.syscall(
        ctypes.c_long(438), ctypes.c_long(pidfd), ctypes.c_long(to_int32(args[0])), ctypes.c_ulong(0)
    )
    if fd < 0:
        raise CannotRun("pidfd_getfd: " + os.strerror(ctypes.get_errno()))
    try:
        if name == "pwrite64":
            os.pwrite(fd, data, to_int64(args[3]))
        else:
            os.write(fd, data)
    finally:
        os.close(fd)
        os.close(pidfd)


class Durable:
    """File contents as of their last fsync, by inode (mode lost)."""

    CHANGES = frozenset(
        [
            "open",
            "creat",
            "openat",
            "openat2",
            "write",
            "pwrite64",
            "writev",
            "pwritev",
            "pwritev2",
            "sendfile",
            "splice",
            "copy_file_range",
            "ioctl",
            "fallocate",
            "truncate",
            "ftruncate",
        ]
    )

    def __init__(self, roots: list[str]) -> None:
        self.roots = roots
        self.seen: dict[tuple[int, int], bytes] = {}

    def content(self, path: str) -> tuple[tuple[int, int], bytes] | None:
        """(device and inode, content) of a regular file of up to 64 MiB, else None."""
        try:
            st = os.lstat(path)
            if not stat.S_ISREG(st.st_mode) or st.st_size > 64 << 20:
                return None
            with open(path, "rb") as f:
                return (st.st_dev, st.st_ino), f.read()
        except OSError:
            return None

    def before(self, name: str, path: str) -> None:
        """Called before the call happens."""
        if name == "syncfs":
            self.seen.clear()
        elif found := self.content(path):
            if name in ("fsync", "fdatasync"):
                self.seen[found[0]] = found[1]
            elif name in self.CHANGES:
                self.seen.setdefault(*found)

    def restore(self) -> None:
        """Give every file the content it had at its last sync."""
        for root in self.roots:
            for base, _, files in os.walk(root):
                for path in (os.path.join(base, f) for f in files):
                    found = self.content(path)
                    if found and self.seen.get(found[0], found[1]) != found[1]:
                        with open(path, "r+b") as f:
                            f.truncate(0)
                            f.write(self.seen[found[0]])


class Trace:
    """What a supervised command did."""

    def __init__(self) -> None:
        self.rc = -1
        self.points: list[Point] = []
        self.hit: str | None = None  # label of the point that was injected into
        self.timed_out = False


def label(point: Point) -> str:
    return point[0] + " " + " -> ".join(point[1])


def blur(text: str) -> str:
    """Labels with random temporary names made comparable."""
    return re.sub(r"[0-9a-f]{6,}|[A-Za-z0-9_]{8}(?=\b)|\d+", "*", text)


def makes_file(tid: int, how_address: int) -> bool:
    """Whether an openat2 call asks to create or cut a file; its flags stand in the caller's memory."""
    try:
        mem = os.open(f"/proc/{tid}/mem", os.O_RDONLY)
        flags = struct.unpack("=Q", os.pread(mem, 8, how_address))[0]
        os.close(mem)
    except OSError:
        return True
    return bool(flags & WRITES_FLAGS)


def below(paths: list[str], roots: list[str], ignore: re.Pattern[str] | None) -> list[str]:
    """Those of the paths that are below a root, relative to it; none if one of them is ignored."""
    found = []
    for path in paths:
        for root in roots:
            if path == root or path.startswith(root + "/"):
                found.append(os.path.relpath(path, root))
                break
    return [] if ignore and any(ignore.search(p) for p in found) else found


def supervise(
    cmd: str,
    cwd: str,
    env: dict[str, str],
    roots: list[str],
    opt: argparse.Namespace,
    *,
    mode: str | None = None,
    at: int = 0,
    out: str = "/dev/null",
    err: str = "/dev/null",
    on_cut: Callable[[], None] | None = None,
    durable: Durable | None = None,
) -> Trace:
    """Run cmd; inject `mode` at its `at`-th point (0: only record)."""
    arch_id, table, nr_seccomp = ARCHES[platform.machine()]
    nrs = {n: table[n] for n in CALLS if n in table}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.chdir(cwd)
            null = os.open("/dev/null", os.O_RDONLY)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            o, e = os.open(out, flags, 0o600), os.open(err, flags, 0o600)
            for src, dst in ((null, 0), (o, 1), (e, 2)):
                os.dup2(src, dst)
            fd = install_filter(nrs, arch_id, nr_seccomp)
            theirs.sendmsg([b"L"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
            os.execve("/bin/sh", ["sh", "-c", cmd], env)
        except BaseException as exc:
            try:
                theirs.sendmsg([b"E" + str(exc).encode()[:200]])
            except OSError:
                pass
        finally:
            os._exit(127)
    theirs.close()
    msg, anc, _, _ = ours.recvmsg(256, socket.CMSG_SPACE(4))
    ours.close()
    if not anc:
        os.waitpid(pid, 0)
        raise CannotRun("seccomp notification not available: " + msg[1:].decode(errors="replace"))
    listener = array.array("i", anc[0][2][:4])[0]
    trace = Trace()
    started = not opt.marker
    deadline = time.monotonic() + opt.timeout
    pidfd = os.pidfd_open(pid)
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    poller.register(pidfd, select.POLLIN)
    done = False
    try:
        while not done:
            left = deadline - time.monotonic()
            if left <= 0:
                trace.timed_out = True
                break
            for fd, event in poller.poll(left * 1000):
                if fd == pidfd:
                    done = True
                    continue
                if not event & select.POLLIN:
                    if event & (select.POLLHUP | select.POLLERR):
                        poller.unregister(listener)
                    continue
                buf = bytearray(NOTIF.size)
                try:
                    fcntl.ioctl(listener, IOC_RECV, buf)
                except OSError:
                    continue
                got = NOTIF.unpack(buf)
                ident, tid, nr, args = got[0], got[1], got[3], got[6:]
                name = next(n for n, v in nrs.items() if v == nr)
                error = 0
                try:
                    full = call_paths(tid, name, args)
                except OSError:
                    full = []
                paths = below(full, roots, opt.ignore)
                if paths and name == "openat2" and not makes_file(tid, args[2]):
                    paths = []
                if paths and not started:
                    started = any(opt.marker in p for p in paths)
                    paths = []
                if paths:
                    point = (name, paths)
                    trace.points.append(point)
                    n = len(trace.points)
                    if at and (n == at or (n > at and opt.sticky)):
                        if n == at:
                            trace.hit = label(point)
                        if mode in ("kill", "torn", "lost", "power"):
                            if mode == "torn" and name in TEARABLE:
                                half_write(tid, name, args)
                            if on_cut:
                                on_cut()
                            kill_session(pid)
                            done = True
                            break
                        if mode in ("int", "term"):
                            if n == at:
                                os.kill(tid, signal.SIGINT if mode == "int" else signal.SIGTERM)
                        elif mode and (mode not in NO_SPACE or name in NEEDS_SPACE):
                            error = -getattr(errno, mode)
                if paths and durable and not error:
                    durable.before(name, full[-1])
                resp = bytearray(RESP.pack(ident, 0, error, 0 if error else RESP_CONTINUE))
                try:
                    fcntl.ioctl(listener, IOC_SEND, resp)
                except OSError:
                    pass
    finally:
        kill_session(pid)
        os.close(listener)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
    trace.rc = status_to_rc(status)
    return trace


# ------------------------------------------------------------------ sandboxes


class Sandbox:
    """A fresh directory, for mode power a fresh loop-mounted file system."""

    def __init__(self, opt: argparse.Namespace, fs: str | None = None) -> None:
        self.opt, self.fs, self.mounted = opt, fs, False
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="sweep-", dir=opt.workdir))
        self.dir = os.path.join(self.top, "sandbox")
        os.mkdir(self.dir)
        self.image = os.path.join(self.top, "disk.img")
        if fs:
            try:
                subprocess.run(["cp", "--sparse=always", opt.image, self.image], check=True)
                self.mount(self.image)
                self.dir = os.path.join(self.dir, "d")
                os.mkdir(self.dir)
            except BaseException:
                self.close()
                raise

    def log(self, name: str) -> str:
        """Where a file about the sandbox, not in it, is kept."""
        return os.path.join(self.top, name)

    def mount(self, image: str) -> None:
        """Mount `image` as the sandbox; commit=600 so that nothing is written by the clock."""
        kind = str(self.fs)
        options = "loop,nouuid" if kind == "xfs" else "loop,commit=600"
        got = subprocess.run(
            ["mount", "-t", kind, "-o", options, image, os.path.join(self.top, "sandbox")],
            check=False,
            capture_output=True,
            text=True,
        )
        if got.returncode:
            raise CannotRun("mount: " + got.stderr.strip())
        self.mounted = True

    def umount(self) -> None:
        point = os.path.join(self.top, "sandbox")
        for _ in range(40):
            if subprocess.run(["umount", point], capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.05)
        else:
            subprocess.run(["umount", "-l", point], capture_output=True, check=False)
        self.mounted = False

    def sync(self) -> None:
        fd = os.open(self.dir, os.O_RDONLY)
        ctypes.CDLL(None).syncfs(fd)
        os.close(fd)

    def cut(self, rng: random.Random | None) -> None:
        """Called with the command stopped: save the disk as it is now."""
        if rng:
            for base, dirs, files in os.walk(self.dir):
                for name in dirs + files:
                    path = os.path.join(base, name)
                    if rng.random() < 0.5 and not os.path.islink(path):
                        try:
                            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                            os.fsync(fd)
                            os.close(fd)
                        except OSError:
                            pass
        subprocess.run(["cp", "--sparse=always", self.image, self.image + ".cut"], check=True)

    def restart(self) -> None:
        """After the cut: mount the saved disk in place of the live one."""
        self.umount()
        os.replace(self.image + ".cut", self.image)
        self.mount(self.image)
        if not os.path.isdir(self.dir):
            raise CannotRun("the sandbox itself was lost (setup not synced?)")

    def close(self, keep: str | None = None) -> None:
        if keep:
            shutil.copytree(
                self.top, keep, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("disk.img*")
            )
        if self.mounted:
            self.umount()
        shutil.rmtree(self.top, ignore_errors=True)


def make_image(opt: argparse.Namespace) -> None:
    size = {"ext4": 32, "xfs": 320, "btrfs": 128}[opt.fs] << 20
    tool = {
        "ext4": ["mkfs.ext4", "-q", "-F"],
        "xfs": ["mkfs.xfs", "-q", "-f"],
        "btrfs": ["mkfs.btrfs", "-q", "-f"],
    }[opt.fs]
    fd, opt.image = tempfile.mkstemp(prefix="sweep-fs-", dir=opt.workdir)
    os.ftruncate(fd, size)
    os.close(fd)
    got = subprocess.run([*tool, opt.image], capture_output=True, text=True, check=False)
    if got.returncode:
        raise CannotRun(f"{tool[0]}: {got.stderr.strip()}")


def shell(cmd: str, box: Sandbox, env: dict[str, str], opt: argparse.Namespace, name: str) -> int:
    """Run a helper command, output to `name`.out and .err; return its exit status (124: too slow)."""
    with open(box.log(name + ".out"), "ab") as o, open(box.log(name + ".err"), "ab") as e:
        if not cmd:
            return 0
        proc = subprocess.Popen(
            ["sh", "-c", cmd],
            cwd=box.dir,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=o,
            stderr=e,
            start_new_session=True,
        )
        try:
            rc = proc.wait(opt.timeout)
        except subprocess.TimeoutExpired:
            rc = 124
        if rc == 124:
            kill_session(proc.pid)
            proc.wait()
    return 128 - rc if rc < 0 else rc


# ------------------------------------------------------------------ one point


def tail(path: str, n: int = 400) -> str:
    try:
        with open(path, "rb") as f:
            return f.read()[-n:].decode(errors="replace").strip()
    except OSError:
        return ""


def one_point(
    opt: argparse.Namespace, mode: str | None, at: int, inner: int | None = None, expected: str = ""
) -> dict[str, Any]:
    """Set up, run with the fault, recover, check.  Returns a result dict.

    inner: None, 0 (count the recovery's points) or n (kill recovery at n).
    """
    result: dict[str, Any] = {
        "mode": mode or "none",
        "point": at,
        "inner": inner,
        "ok": False,
        "why": "",
        "label": "",
        "drift": False,
        "points": [],
    }
    try:
        box = Sandbox(opt, opt.fs if mode == "power" else None)
    except (CannotRun, subprocess.CalledProcessError) as exc:
        result["why"] = "cannot run: " + str(exc).splitlines()[0]
        return result
    keep = None
    try:
        env = dict(
            os.environ,
            SANDBOX=box.dir,
            PY=sys.executable,
            PYTHONDONTWRITEBYTECODE="1",
            PYTHONHASHSEED="0",
            SWEEP_MODE=mode or "none",
            SWEEP_POINT=str(at),
            SWEEP_SYSCALL="",
        )
        log = box.log
        rc = shell(opt.setup, box, env, opt, "setup")
        if rc:
            raise CannotRun(f"setup ended with {rc}: {tail(log('setup.err'))}")
        roots = [os.path.realpath(box.dir), *opt.root]
        out, err = log("run.out"), log("run.err")
        rng = random.Random(f"{opt.seed}/{at}") if opt.writeback == "random" else None
        durable = Durable(roots) if mode == "lost" else None
        if mode == "power":
            box.sync()

        def cut() -> None:
            if mode == "power":
                box.cut(rng)

        trace = supervise(
            opt.run, box.dir, env, roots, opt, mode=mode, at=at, out=out, err=err, on_cut=cut, durable=durable
        )
        if durable and (trace.hit or at == len(trace.points) + 1):
            durable.restore()
        result["points"] = trace.points
        result["rc"] = trace.rc
        if trace.timed_out:
            result["why"] = "run did not end in time"
            return result
        if mode in CUTS and at == len(trace.points) + 1:
            cut()  # it comes after a finished run
            trace.hit = END
        result["label"] = trace.hit or ""
        if at and not trace.hit:
            result["why"] = "point not reached"
            result["drift"] = result["ok"] = True
            return result
        if expected and trace.hit and blur(trace.hit) != blur(expected):
            result["drift"] = True
        if mode == "power":
            box.restart()
        env.update(
            SWEEP_RC=str(trace.rc),
            SWEEP_OUT=out,
            SWEEP_ERR=err,
            SWEEP_SYSCALL=(trace.hit or "").split(" ")[0],
            SWEEP_RECOVER_OUT=log("recover.out"),
            SWEEP_RECOVER_ERR=log("recover.err"),
        )
        if inner is not None and opt.recover:
            rec = supervise(
                opt.recover,
                box.dir,
                env,
                roots,
                opt,
                mode="kill" if inner else None,
                at=inner,
                out=log("recover1.out"),
                err=log("recover1.err"),
            )
            result["inner_points"] = rec.points
            result["label"] += f" / recovery: {rec.hit or 'whole'}"
        rrc = shell(opt.recover, box, env, opt, "recover")
        env["SWEEP_RECOVER_RC"] = str(rrc)
        if rrc == 124:
            result["why"] = "recovery did not end in time"
        else:
            rc = shell(opt.check, box, env, opt, "check")
            result["ok"] = rc == 0
            if rc:
                result["why"] = tail(log("check.err")) or tail(log("check.out")) or f"check ended with {rc}"
        return result
    except CannotRun as exc:
        result["why"] = "cannot run: " + str(exc)
        return result
    finally:
        if not result["ok"] and opt.keep:
            keep = os.path.join(opt.keep, f"{mode or 'none'}-{at}" + (f"-{inner}" if inner else ""))
        box.close(keep)


def sample(n: int, limit: int, seed: int = 1) -> list[int]:
    """Points 1..n, or one from each of `limit` equal stretches.

    Not every k-th one: a step that repeats would be hit in the same place
    each time.
    """
    if not limit or n <= limit:
        return list(range(1, n + 1))
    rng = random.Random(f"{seed}/{n}/{limit}")
    return sorted({rng.randint(n * i // limit + 1, n * (i + 1) // limit) for i in range(limit)})


# ----------------------------------------------------------------------- main


def parse(argv: list[str] | None) -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = ap.add_argument
    add("--setup", default="", help="builds the before state")
    add("--run", required=True, help="command under test")
    add("--recover", default="", help="what repairs after the fault")
    add("--check", required=True, help="status 0 = state and report are right")
    add("--mode", default="kill", help="kill,torn,lost,int,term,power,ENOSPC,EIO..")
    add("--errno", default="", help="more errno modes, same as in --mode")
    add(
        "--max-points",
        type=int,
        default=0,
        metavar="N",
        help="at most N points a mode, one from each N-th of the run\n(0: all; --seed chooses which)",
    )
    add(
        "--point",
        default="",
        metavar="MODE:N[:M]",
        help="only this point (M: also kill the recovery at its M-th point)",
    )
    add("--nested", type=int, default=0, metavar="K", help="for K kill points also sweep the recovery")
    add("--sticky", action="store_true", help="errors stay from the point on")
    add("--calls", default="", help="only points of these calls, e.g. rename,fsync")
    add(
        "--root", action="append", default=[], help="further directory whose changes are points (not cleaned)"
    )
    add("--ignore", default="", metavar="REGEX", help="paths (relative to their root) that make no points")
    add("--marker", default="", help="points count only after a change to a path that contains this")
    add("--fs", default="ext4", choices=["ext4", "xfs", "btrfs"], help="file system of mode power")
    add("--writeback", default="none", choices=["none", "random"])
    add("--seed", type=int, default=1)
    add("--jobs", type=int, default=os.cpu_count() or 1)
    add("--timeout", type=float, default=60, help="seconds a command")
    add("--workdir", default=None, help="where sandboxes are made")
    add("--keep", default="", metavar="DIR", help="copy failed sandboxes there")
    add("--json", default="", metavar="FILE", help="all results")
    add("--list", action="store_true", help="only list the points")
    add("--verbose", action="store_true", help="print every point")
    opt = ap.parse_args(argv)
    opt.ignore = re.compile(opt.ignore) if opt.ignore else None
    opt.root = [os.path.realpath(r) for r in opt.root]
    opt.image = None
    opt.modes = [m for m in (opt.mode + "," + opt.errno).split(",") if m]
    for m in opt.modes:
        if m not in ("kill", "torn", "lost", "int", "term", "power") and not hasattr(errno, m):
            ap.error(f"unknown mode {m}")
    return opt


def planned(opt: argparse.Namespace, points: list[Point]) -> list[Task]:
    """What to inject where, by the options."""
    wanted = set(filter(None, opt.calls.split(",")))
    tasks: list[Task] = []
    if opt.point:
        mode, _, rest = opt.point.partition(":")
        at, _, inner = rest.partition(":")
        opt.modes = [mode]
        tasks.append((mode, int(at), int(inner) if inner else None))
    else:
        for mode in opt.modes:
            fit = [
                i
                for i, p in enumerate(points, 1)
                if (not wanted or p[0] in wanted)
                and (mode != "torn" or p[0] in TEARABLE)
                and (mode not in NO_SPACE or p[0] in NEEDS_SPACE)
            ]
            tasks += [(mode, fit[i - 1], None) for i in sample(len(fit), opt.max_points, opt.seed)]
            if mode in CUTS:
                tasks.append((mode, len(points) + 1, None))
        if opt.nested:
            for at in sample(len(points), opt.nested, opt.seed):
                first = one_point(opt, "kill", at, 0)
                n = len(first.get("inner_points", []))
                tasks += [("kill", at, m) for m in sample(n, opt.max_points, opt.seed)]
    return tasks


def sweep(opt: argparse.Namespace) -> int:
    began = time.monotonic()
    base = one_point(opt, None, 0)
    if not base["ok"]:
        raise CannotRun("without any fault the check already fails: " + base["why"])
    again = one_point(opt, None, 0)
    points = base["points"]
    steady = [blur(label(p)) for p in points] == [blur(label(p)) for p in again["points"]]
    print(
        f"{len(points)} points in a run without fault "
        f"(rc {base['rc']}, {'same' if steady else 'NOT the same'} twice)"
    )
    if opt.list:
        for i, p in enumerate(points, 1):
            print(f"{i:5} {label(p)}")
        return 0
    if not points:
        raise CannotRun("the command changes nothing under the sandbox")
    tasks = planned(opt, points)
    if "power" in opt.modes:
        make_image(opt)
    try:
        results = run_tasks(opt, tasks, points)
    finally:
        if opt.image:
            os.unlink(opt.image)
    print_table(results, points)
    took = time.monotonic() - began
    failures = sum(not r["ok"] for r in results)
    drift = sum(r["drift"] for r in results)
    if opt.json:
        with open(opt.json, "w") as f:
            json.dump(
                [{k: v for k, v in r.items() if k not in ("points", "inner_points")} for r in results],
                f,
                indent=1,
            )
    print(
        f"\n{took:.1f} s, {len(results) / took * 60:.0f} points a minute"
        + (f", {drift} not where planned" if drift else "")
    )
    print(f"{len(results)} points, {failures} failures")
    if any(r["why"].startswith("cannot run") for r in results):
        return 2
    return 1 if failures else 0


def print_table(results: list[dict[str, Any]], points: list[Point]) -> None:
    """One line a mode and call: how many points, how many of them failed."""
    table: dict[tuple[str, str], list[int]] = {}
    for r in results:
        call = points[r["point"] - 1][0] if r["point"] <= len(points) else END
        key = (r["mode"] + ("+recovery" if r["inner"] else ""), call)
        row = table.setdefault(key, [0, 0])
        row[0] += 1
        row[1] += not r["ok"]
    print(f"\n{'mode':14} {'call':16} {'points':>6} {'failed':>6}")
    for (mode, call), (n, bad) in sorted(table.items()):
        print(f"{mode:14} {call:16} {n:6} {bad:6}")


def run_tasks(opt: argparse.Namespace, tasks: list[Task], points: list[Point]) -> list[dict[str, Any]]:
    """Run every task in worker processes; print what fails as it comes."""
    results = []
    with concurrent.futures.ProcessPoolExecutor(opt.jobs) as pool:
        jobs = [
            pool.submit(one_point, opt, mode, at, inner, label(points[at - 1]) if at <= len(points) else END)
            for mode, at, inner in tasks
        ]
        for job in jobs:
            r = job.result()
            results.append(r)
            if not r["ok"] or opt.verbose:
                inner = f":{r['inner']}" if r["inner"] else ""
                print(
                    f"{'ok  ' if r['ok'] else 'FAIL'} "
                    f"{r['mode']}:{r['point']}{inner}  {r['label']}"
                    + (f"  [{r['why'].splitlines()[-1]}]" if r["why"] else ""),
                    flush=True,
                )
    return results


def main(argv: list[str] | None = None) -> int:
    opt = parse(argv)
    if not sys.platform.startswith("linux") or platform.machine() not in ARCHES:
        print("crash_sweep: needs Linux on x86_64 or aarch64", file=sys.stderr)
        return 2
    try:
        return sweep(opt)
    except CannotRun as exc:
        print(f"crash_sweep: {exc}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
