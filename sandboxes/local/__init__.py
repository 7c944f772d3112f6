"""Programs in Linux namespaces on this machine, without Docker, root or any extra package.

A bare interpreter enters a jail once and waits there; each program is a fork of it, ready in about two
milliseconds. One-shot programs run in warm slots, each a process and network namespace that is killed,
reaped and given empty folders after every program. A session is such a place with folders that last.

Threat model. The program is hostile: it may be the output of a model that is rewarded for cheating.

Covered, by default, for root and for ordinary users:

- Files: only the base interpreter, system libraries and tools are visible, read-only. Not the home
  folders, nor installed packages, nor this project with its reference solutions, nor anything writable
  but three empty, bounded folders in memory (`/workspace`, `/tmp`, `/dev/shm`).
- The network: an own one, with nothing but a loopback device.
- Processes: none but the program's own can be seen, signalled or traced. No capabilities, no way to
  gain any, no namespaces, and an allow list of system calls (x86-64 and aarch64).
- Other programs: nothing of an earlier or concurrent one is visible, neither files, processes, sockets,
  shared memory nor the heap. The host's environment and descriptors are not passed on.
- Exhaustion: wall and processor time, memory of the whole tree, processes and threads, disk, inodes,
  size of a file, open files, output. At the end, at a limit, on cancellation, and when this process is
  killed, the whole tree is killed, however it forked and whatever it ignores.
- Reading files back: links, fifos, folders and sizes made to harm are refused.

Not covered:

- The kernel is shared: a fault in it that works from behind the filter gets out. So does one of the
  processor (timing, speculation). For code of an adversary use a virtual machine.
- Memory is counted by a control group where one can be made (`isolation` is `namespaces+cgroup`, as
  root). Elsewhere (`namespaces`) it is measured every 20 ms, so that a burst overshoots for a moment, and
  the kernel's own memory for pipes and sockets is bounded by their number only.
- Processor time of a whole tree: many processes may use all cores until the time limit.
- System tools and libraries are readable, with all that was put below `/usr`.
- A slot keeps its network namespace: how many connections an earlier program made on the loopback device
  shows for a minute in the ports that are still taken. Nothing listens there, and nothing goes out.
- Session folders are cleared between sessions, not between the commands of one.

Where the jail cannot be had, `start` raises `SandboxUnavailable`; nothing runs with less isolation.
"""

from __future__ import annotations

from .provider import LocalProvider

__all__ = ["LocalProvider"]
