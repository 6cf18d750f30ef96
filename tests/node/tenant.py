"""A hostile tenant: user 1000 with delegated subtrees, who does what it likes in them.

Run as a script it is the tenant: it takes the version, a seed, the number of actions, the CPUs and
the folders of its subtrees, and prints what became of each action.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable

USER = 1000
DB = "0a1b2c3d-0000-4000-8000-00000000000d"
"""The uid of the pod whose CPUs the tenant is after; it knows it."""

NAMES = [
    f"pod{DB}",
    "kubepods",
    "burstable",
    "kubepods.slice",
    f"kubepods-pod{DB.replace('-', '_')}.slice",
    "c-db",
    "cri-containerd-db.scope",
    "a",
    "b",
    "n" * 255,
    os.fsdecode(b"\xff\xfe"),
    " (deleted)",
]
CPUSET_FILES = ["cpuset.cpus", "cpuset.mems", "cpuset.cpus.partition", "cpuset.cpus.exclusive"]
CPUSET_FILES += ["cpuset.cpu_exclusive", "cpuset.sched_load_balance", "cpuset.memory_migrate"]


class Tenant:
    """What it does; each action raises OSError where the kernel refuses it."""

    def __init__(self, version: int, seed: int, cpus: list[int], bases: list[str]) -> None:
        self.version = version
        self.draw = random.Random(seed)
        self.cpus = cpus
        self.bases = bases
        self.children: list[int] = []

    def folder(self) -> str:
        """Return a cgroup of its own, near the top or deep."""
        at = self.draw.choice(self.bases)
        for _ in range(self.draw.randint(0, 4)):
            below = [entry.path for entry in os.scandir(at) if entry.is_dir()]
            if not below:
                break
            at = self.draw.choice(below)
        return at

    def write(self, path: str, text: str) -> None:
        with open(path, "w") as file:
            file.write(text)

    def make(self) -> None:
        os.mkdir(f"{self.folder()}/{self.draw.choice(NAMES)}")

    def nest(self) -> None:
        """Make cgroups inside cgroups: a few, or more than a path can name."""
        here = os.getcwd()
        os.chdir(self.folder())
        try:
            for _ in range(self.draw.choice((5, 30, 30, 1200))):
                os.mkdir("deep")
                os.chdir("deep")
        finally:
            os.chdir(here)

    def imitate(self) -> None:
        """Make what looks like the other pod's container, and go there."""
        for path in (f"kubepods/pod{DB}/c-db", f"pod{DB}/c-db"):
            at = self.draw.choice(self.bases)
            for part in path.split("/"):
                at = f"{at}/{part}"
                if not os.path.isdir(at):
                    os.mkdir(at)
                if self.version == 1:
                    self.ready(at)
            self.write(f"{at}/cgroup.procs", str(self.one()))

    def ready(self, at: str) -> None:
        """Let a cpuset of version 1 take processes: it has what the one above has."""
        for name in ("cpuset.cpus", "cpuset.mems"):
            if os.path.exists(f"{at}/{name}"):
                with open(f"{os.path.dirname(at)}/{name}") as file:
                    self.write(f"{at}/{name}", file.read())

    def unmake(self) -> None:
        os.rmdir(self.folder())

    def rename(self) -> None:
        at = self.folder()
        os.rename(at, f"{os.path.dirname(at)}/{self.draw.choice(NAMES)}")

    def move(self) -> None:
        at = self.folder()
        if self.version == 1 and at not in self.bases:
            self.ready(at)
        self.write(f"{at}/{self.draw.choice(('cgroup.procs', 'cgroup.threads'))}", str(self.one()))

    def set(self) -> None:
        some = ",".join(map(str, self.draw.sample(self.cpus, self.draw.randint(1, len(self.cpus)))))
        text = self.draw.choice((some, some, some, "", "0", "1", "root", "isolated", "member"))
        self.write(f"{self.folder()}/{self.draw.choice(CPUSET_FILES)}", text)

    def divide(self) -> None:
        words = [f"{self.draw.choice('+-')}{one}" for one in ("cpuset", "cpu")]
        self.write(f"{self.folder()}/cgroup.subtree_control", " ".join(words))

    def thread(self) -> None:
        self.write(f"{self.folder()}/cgroup.type", "threaded")

    def change_mode(self) -> None:
        at = self.folder()
        file = self.draw.choice(("", "/cgroup.procs", "/cpuset.cpus"))
        os.chmod(at + file, self.draw.choice((0o777, 0o700, 0o755)))

    def widen(self) -> None:
        """Take, again and again, what the cgroup above has."""
        at = self.folder()
        for _ in range(200):
            try:
                self.ready(at)
            except OSError:
                time.sleep(0.0001)

    def trespass(self) -> None:
        """Go where it has no right to."""
        at = self.draw.choice(self.bases)
        for _ in range(self.draw.randint(1, 3)):
            at = os.path.dirname(at)
        match self.draw.randint(0, 2):
            case 0:
                os.mkdir(f"{at}/{self.draw.choice(NAMES)}")
            case 1:
                self.write(f"{at}/cgroup.procs", str(self.one()))
            case _:
                self.write(f"{at}/cpuset.cpus", "0")

    def fork(self) -> None:
        child = os.fork()
        if child == 0:
            time.sleep(999)
            os._exit(0)
        self.children.append(child)
        if len(self.children) > 5:
            child = self.children.pop(self.draw.randrange(5))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def one(self) -> int:
        return self.draw.choice([os.getpid(), *self.children])

    def act(self) -> str:
        actions: list[Callable[[], None]] = [
            self.make, self.make, self.nest, self.imitate, self.imitate, self.unmake, self.rename,
            self.move, self.move, self.set, self.set, self.divide, self.thread, self.change_mode,
            self.widen, self.trespass, self.fork, self.fork,
        ]  # fmt: skip
        action = self.draw.choice(actions)
        try:
            action()
        except OSError as error:
            return f"{action.__name__}: {error.strerror}"
        return f"{action.__name__}: done"


if __name__ == "__main__":
    version, seed, actions, cpus, *bases = sys.argv[1:]
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    tenant = Tenant(int(version), int(seed), list(map(int, cpus.split(","))), bases)
    print("begins", flush=True)
    for _ in range(int(actions)):
        print(tenant.act(), flush=True)
        time.sleep(0.02)
    for process in tenant.children:
        os.kill(process, signal.SIGKILL)
