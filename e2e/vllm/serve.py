"""Runs any number of `vllm serve` processes that share one import of vLLM. For tests; Linux only.

Importing vLLM takes 12 s of CPU and happens three times for one server (front end, engine, worker). Here it happens
once: servers are forked from this process, and a server forks its engine and its worker. Nothing has touched a device
or started a thread pool before a fork, so that is safe. A server is ready 4 s after it has been asked for, and most of
its memory is shared.

Standard input takes one JSON object a line: {"name": NAME, "log": FILE, "args": ["serve", MODEL, ...]} starts a server
with its output in FILE. Standard output has one JSON object a line: {"name", "pid"} when it has been forked, and
{"name", "pid", "exit"} when it has ended: its exit status, or minus the signal that killed it.

Each server leads a process group of its own; whatever is left of the group when the server has ended is killed.
Standard input is a lifeline: when it ends, because the launcher closed it or died in whatever way, all groups are
killed. No server outlives its test.
"""

import json
import multiprocessing
import os
import selectors
import signal
import sys


def import_vllm():
    """Import all that a server needs, with fork as the way to start engine and worker, and return the entry point."""
    import vllm.utils.system_utils

    vllm.utils.system_utils.get_mp_context = lambda: multiprocessing.get_context("fork")
    import vllm.entrypoints.openai.api_server  # noqa: F401  (what the entry point imports when it runs)
    import vllm.v1.engine.core  # noqa: F401
    import vllm.v1.worker.cpu_worker  # noqa: F401
    from vllm.entrypoints.cli.main import main
    from vllm.model_executor.models.llama import LlamaForCausalLM
    from vllm.model_executor.models.registry import ModelRegistry

    # By its class, not by its name: vLLM would start a process that imports vLLM once more to look the class up.
    ModelRegistry.register_model("LlamaForCausalLM", LlamaForCausalLM)
    return main


def say(**fields):
    print(json.dumps(fields), flush=True)


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Nursery:
    """Forks servers on demand and watches over them. Single-threaded, as a process that forks has to be."""

    def __init__(self):
        self.names = {}  # pidfd -> (name, pid)
        self.pending = b""  # the part of standard input behind the last line end
        self.selector = selectors.DefaultSelector()
        self.selector.register(sys.stdin.fileno(), selectors.EVENT_READ)

    def run(self):
        """Serve until standard input ends; return None then, or the arguments of a server in its new process."""
        while True:
            for key, _ in self.selector.select():
                if key.fd != sys.stdin.fileno():
                    self.reap(key.fd)
                    continue
                received = os.read(key.fd, 65536)
                if not received:
                    return self.kill_all()
                *lines, self.pending = (self.pending + received).split(b"\n")
                for line in lines:
                    args = self.start(json.loads(line))
                    if args is not None:
                        return args

    def start(self, command):
        """Fork one server. In the new process return its arguments, in this one None."""
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            self.become_server(command["log"])
            return command["args"]
        pidfd = os.pidfd_open(pid)
        self.names[pidfd] = (command["name"], pid)
        self.selector.register(pidfd, selectors.EVENT_READ)
        say(name=command["name"], pid=pid)
        return None

    def become_server(self, log):
        """Give up what belongs to the parent: its pipes, and the handles on the other servers."""
        self.selector.close()
        for pidfd in self.names:
            os.close(pidfd)
        null = os.open(os.devnull, os.O_RDONLY)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for target, source in ((0, null), (1, file), (2, file)):
            os.dup2(source, target)
        os.close(null)
        os.close(file)

    def reap(self, pidfd):
        name, pid = self.names.pop(pidfd)
        self.selector.unregister(pidfd)
        os.close(pidfd)
        kill_group(pid)  # before the process is waited for, so that its id cannot belong to another one
        _, status = os.waitpid(pid, 0)
        say(name=name, pid=pid, exit=os.waitstatus_to_exitcode(status))

    def kill_all(self):
        for _, pid in self.names.values():
            kill_group(pid)
        for _, pid in self.names.values():
            os.waitpid(pid, 0)


def main():
    vllm_main = import_vllm()
    args = Nursery().run()
    if args is not None:
        sys.argv = ["vllm", *args]
        vllm_main()


if __name__ == "__main__":
    main()
