"""Programs that try to get out of a sandbox, or to break it: for testing any isolated provider.

Each prints `ESCAPED` if it did what it must not. Whatever else it does, the provider has to clear it
away in time and to serve the next program as if nothing had happened.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostileProgram:
    """One attempt."""

    name: str
    code: str
    timeout_s: float = 0.6


def hostile_programs(*, port: int, secret_path: str, secret: str) -> list[HostileProgram]:
    """All attempts.

    Args:
        port: a port on which this process listens on the loopback address.
        secret_path: a file of this machine that holds `secret`.
        secret: text that must not be found anywhere.
    """
    reach = f"""
import socket
for address in (('127.0.0.1', {port}), ('::1', {port}), ('169.254.169.254', 80), ('1.1.1.1', 53)):
    try:
        socket.create_connection(address, 0.3)
        print('ESCAPED', address)
    except OSError:
        pass
"""
    look = f"""
import os
secret = {secret[:8]!r}.encode() + {secret[8:]!r}.encode()  # in halves, lest this source be found
for folder, folders, files in os.walk('/'):
    if folder.startswith(('/proc', '/usr')): folders.clear(); continue
    for name in files:
        try:
            with open(os.path.join(folder, name), 'rb') as file:
                if secret in file.read(10**6): print('ESCAPED', folder, name)
        except OSError: pass
if os.path.exists({secret_path!r}): print('ESCAPED', {secret_path!r})
if secret.decode() in str(os.environ): print('ESCAPED environment')
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        text = open('/proc/' + pid + '/environ', 'rb').read() + open('/proc/' + pid + '/cmdline', 'rb').read()
        if secret in text: print('ESCAPED', pid)
    except OSError: pass
"""
    return [
        HostileProgram("reach the network", reach),
        HostileProgram("look for a secret", look, 10.0),
        *(HostileProgram(name, code) for name, code in _PROGRAMS.items()),
    ]


def hostile_sources() -> list[HostileProgram]:
    """Source for a persistent interpreter that attacks the provider through its connection.

    The provider has to stay responsive meanwhile, and to serve the next source.
    """
    return [HostileProgram(name, code) for name, code in _SOURCES.items()]


_FIND = """
import os, socket, stat, threading, time
connections = [n for n in range(3, 64) if os.path.exists(f'/proc/self/fd/{n}')
               and stat.S_ISSOCK(os.fstat(n).st_mode)]
"""
_SOURCES = {
    "flood the connection": _FIND + "while True:\n    for n in connections: os.write(n, b'0 0')",
    "flood it from a thread": _FIND
    + """
def flood():
    while True:
        for n in connections:
            try: os.write(n, b'x' * 4096)
            except OSError: pass
for _ in range(4): threading.Thread(target=flood, daemon=True).start()
time.sleep(0.5)
""",
    "send descriptors": _FIND
    + "for n in connections * 50: socket.send_fds(socket.socket(fileno=os.dup(n)), [b'0 0'], [0, 1, 2])",
    "answer for the interpreter": _FIND
    + "for n in connections:\n    for k in range(9): os.write(n, b'%d 0' % k)",
    "close the connection": _FIND + "for n in connections: os.close(n)",
    "read the connection": _FIND
    + "def read():\n    while True: os.read(connections[0], 100)\n"
    + "threading.Thread(target=read, daemon=True).start()",
}
_PROGRAMS = {
    "fork without end": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "fork and leave": """
import os, time
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(100)
        os._exit(0)
""",
    "kill everything": """
import os, signal
for target in (-1, 0, 1, os.getppid()):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSTOP, signal.SIGKILL):
        try: os.kill(target, number)
        except OSError: pass
""",
    "disturb the reaper": """
import os, resource, signal
for number in range(1, 65):
    if number not in (9, 19):
        try: os.kill(1, number)
        except OSError: pass
for attempt in (lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0)),
                lambda: os.sched_setaffinity(1, {0}),
                lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
                lambda: os.setpriority(os.PRIO_USER, 0, 19),
                lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))):
    try:
        attempt()
        print('ESCAPED')
    except OSError: pass
""",
    "become a child of the server": """
import ctypes, os, platform
number = {'x86_64': 56, 'aarch64': 220}[platform.machine()]
if ctypes.CDLL(None).syscall(number, 0x8000 | 17, 0, 0, 0, 0) >= 0: print('ESCAPED')
""",
    "stop itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "take memory without end": "held = []\nwhile True: held.append(bytearray(2**24))",
    "take memory in anonymous files": """
import os
try:
    files = [os.memfd_create('x') for _ in range(200)]
    for n in range(4096):
        for file in files: os.write(file, bytes(2**20))
    print('ESCAPED')
except OSError as error: print(error)
""",
    "fill the disk": """
import os
written = 0
try:
    for n in range(10_000):
        with open(f'/tmp/{n}', 'wb', buffering=0) as file: written += file.write(bytes(2**20))
    print('ESCAPED')
except OSError: pass
""",
    "nest folders": "import os\nwhile True:\n    os.mkdir('d')\n    os.chdir('d')",
    "write system folders": """
import os
library = os.path.dirname(os.__file__)
for folder in ('/', '/usr', '/usr/bin', '/usr/lib', '/etc', '/dev', '/proc', '/sandbox/bin', library):
    try:
        open(folder + '/x', 'w')
        print('ESCAPED', folder)
    except OSError: pass
""",
    "change the interpreter": """
import os, sys
for path in (os.path.realpath('/sandbox/bin/python'), os.__file__, '/etc/passwd', '/proc/self/exe'):
    for attempt in (lambda: open(path, 'r+b'), lambda: os.chmod(path, 0o777),
                    lambda: os.unlink(path), lambda: os.truncate(path, 0)):
        try:
            attempt()
            print('ESCAPED', path)
        except OSError: pass
""",
    "gain privileges": """
import ctypes, os
libc = ctypes.CDLL(None)
for attempt in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.chroot('.'),
                lambda: os.mknod('dev', 0o60666, os.makedev(254, 0)), lambda: os.chown('/tmp', 0, 0),
                lambda: os.nice(-5)):
    try:
        attempt()
        print('ESCAPED')
    except OSError: pass
for call in (lambda: libc.unshare(0x10000000), lambda: libc.unshare(0x20000), lambda: libc.setns(0, 0),
             lambda: libc.mount(b'x', b'/tmp', b'tmpfs', 0, 0), lambda: libc.umount2(b'/proc', 2),
             lambda: libc.prctl(38, 0, 0, 0, 0), lambda: libc.sethostname(b'x', 1),
             lambda: libc.ptrace(0, 0, 0, 0)):
    if call() == 0: print('ESCAPED')
for path in ('/proc/self/uid_map', '/proc/self/gid_map'):
    try:
        os.write(os.open(path, os.O_WRONLY), b'0 0 1')
        print('ESCAPED', path)
    except OSError: pass
""",
    "call what the filter forbids": """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
numbers = {'x86_64': (101, 155, 165, 169, 175, 246, 248, 250, 272, 298, 300, 303, 304, 308, 310, 311, 312,
                      313, 321, 323, 0x40000000 | 39, 29, 64, 68, 240, 254),
           'aarch64': (117, 41, 40, 142, 105, 104, 217, 219, 97, 241, 262, 264, 265, 268, 270, 271, 272, 273,
                       280, 282, 194, 190, 186, 180, 26)}[platform.machine()]
for number in (*numbers, 425, 428, 429, 430, 432, 435, 438, 442, 447):
    result = libc.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0)
    if result != -1 or ctypes.get_errno() not in (1, 38): print('ESCAPED', number)
""",
    "open odd sockets": """
import socket
for family, kind in ((16, 3), (17, 3), (38, 5), (40, 1), (31, 3), (2, 3), (10, 3)):
    try:
        socket.socket(family, kind, 0)
        print('ESCAPED', family, kind)
    except OSError: pass
""",
    "find open descriptors": """
import os, stat
for descriptor in range(3, 1024):
    try:
        print('ESCAPED', descriptor, os.fstat(descriptor))
    except OSError: pass
for descriptor in range(3):
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode): print('ESCAPED', descriptor)
""",
    "raise its own limits": """
import resource
for name in ('NPROC', 'DATA', 'FSIZE', 'NOFILE', 'CPU', 'CORE', 'MEMLOCK'):
    kind = getattr(resource, 'RLIMIT_' + name)
    soft, hard = resource.getrlimit(kind)
    try:
        resource.setrlimit(kind, (hard + 1, hard + 1))
        print('ESCAPED', name)
    except (OSError, ValueError): pass
""",
    "flood both streams": """
import os, threading
def flood(descriptor):
    while True: os.write(descriptor, b'x' * 65536)
threading.Thread(target=flood, args=(2,)).start()
flood(1)
""",
    "close everything": "import os\nos.closerange(0, 100)\nprint('x')",
    "hold the streams from a daemon": """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(100)
print('done')
""",
    "recurse": "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
    "compile a bomb": "exec('(' * 5000 + ')' * 5000)\nexec('-' * 10**6 + '1')",
    "match for ever": "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
    "compute for ever": "print(len(str(9 ** 9 ** 9)))",
    "print garbage": "import os\nos.write(1, bytes(range(256)) * 100)\nprint('\\ud800', '\\x1b[2J')",
    "write to its pipes from the wrong end": """
import os
for descriptor in (0, 1, 2):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try: os.write(os.open(f'/proc/self/fd/{descriptor}', flags | os.O_NONBLOCK), b'x')
        except OSError: pass
""",
}
