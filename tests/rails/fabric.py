"""Hosts with two network interfaces each, made of network namespaces that only this process and its children see.

A test begins with `fabric.enter()`, which runs the program again in namespaces of its own. They end with the program, whatever
kills it, so nothing is left behind. Root may do that, and so may everybody where user namespaces are allowed; otherwise the
test fails.

The interfaces `eth0` and `eth1` of a host are plugged into switches 0 and 1, which are bridges in the namespace of the test,
or both into switch 0, where they are in one subnet.
"""

import json
import os
import pathlib
import subprocess
import sys

INSIDE = "SCOLL_TEST_INSIDE"
PORT = 7001
DROP_ALL = "1,6 0 0 2,"  # a program of one instruction, "return 2": the packet is dropped
# Drops what comes from or goes to a port of TCP over IPv4 without options, and lets everything else through.
DROP_PORT = "6,40 0 0 34,21 2 0 {port},40 0 0 36,21 0 1 {port},6 0 0 2,6 0 0 4294967295,"
# Drops a tenth of the packets of IPv4 by a random number, and lets everything else through.
LOSE_TENTH = "6,40 0 0 12,21 0 2 2048,32 0 0 4294963256,37 0 1 429496729,6 0 0 0,6 0 0 2,"
QUEUE = ("burst", "64k", "limit", "4m")  # of a limited interface: so long that a local sender never overflows it


def enter():
    """Goes on in namespaces of its own, as process 1 there: when it ends, the kernel kills its children and takes the network
    down. Fails if that is forbidden."""
    if os.environ.get(INSIDE):
        run("mount", "-t", "tmpfs", "tmpfs", "/run")  # the names of namespaces stay private
        pathlib.Path("/run/netns").mkdir()
        run("mount", "-t", "proc", "proc", "/proc")  # processes have other numbers in here
        run("ip", "link", "set", "lo", "up")
        return
    said = []
    for new in (("--user", "--map-root-user"), ()):
        command = ("unshare", *new, "--net", "--mount", "--pid", "--fork", "--kill-child")
        tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            os.execvpe("unshare", [*command, sys.executable, *sys.argv], os.environ | {INSIDE: "1"})
        said.append(tried.stderr.strip())
    sys.exit("these tests need network namespaces, as root or with user namespaces allowed: " + "; ".join(said))


def run(*command):
    """The output of a command, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


class Fabric:
    def __init__(self, hosts=2, family=4, one_subnet=False):
        self.hosts = range(1, hosts + 1)
        self.family = family
        self.one_subnet = one_subnet
        for switch in (0,) if one_subnet else (0, 1):
            run("ip", "link", "add", f"sw{switch}", "type", "bridge")
            run("ip", "link", "set", f"sw{switch}", "up")
        for host in self.hosts:
            run("ip", "netns", "add", f"h{host}")
            run("ip", "-n", f"h{host}", "link", "set", "lo", "up")
            for nic in (0, 1):
                self._plug_in(host, nic)

    def _plug_in(self, host, nic):
        port, switch = self._port(host, nic), 0 if self.one_subnet else nic
        run("ip", "link", "add", port, "type", "veth", "peer", "name", f"eth{nic}", "netns", f"h{host}")
        run("ip", "link", "set", port, "master", f"sw{switch}", "up")
        self.up(host, nic)
        run("tc", "qdisc", "add", "dev", port, "clsact")
        self._tc(host, "qdisc", "add", "dev", f"eth{nic}", "clsact")

    def remove(self):
        for host in self.hosts:
            run("ip", "netns", "del", f"h{host}")
            for nic in (0, 1):  # the namespace may live on for a moment, and with it the other end
                subprocess.run(["ip", "link", "del", self._port(host, nic)], capture_output=True, check=False)
        for switch in (0,) if self.one_subnet else (0, 1):
            run("ip", "link", "del", f"sw{switch}")

    def _port(self, host, nic):
        """The switch's end of the cable."""
        return f"h{host}p{nic}"

    def _ip(self, host, *words):
        return run("ip", "-n", f"h{host}", *words)

    def _tc(self, host, *words):
        return run("tc", "-n", f"h{host}", *words)

    def inside(self, host):
        """What to put before a command for it to run on a host. The process keeps its id."""
        return ["nsenter", f"--net=/run/netns/h{host}"]

    # ---- addresses

    def address(self, host, nic):
        subnet = 0 if self.one_subnet else nic
        last = host + 100 * nic if self.one_subnet else host
        return f"10.{subnet}.0.{last}" if self.family == 4 else f"fd00:{subnet + 1}::{last}"

    def place(self, host, nic):
        """The address with its port."""
        address = self.address(host, nic)
        return f"{address}:{PORT}" if self.family == 4 else f"[{address}]:{PORT}"

    def prefix(self):
        return 24 if self.family == 4 else 64

    def remove_address(self, host, nic):
        self._ip(host, "addr", "del", f"{self.address(host, nic)}/{self.prefix()}", "dev", f"eth{nic}")

    def restore_address(self, host, nic):
        """Gives the interface its address, which it keeps if it has it."""
        words = ("nodad",) if self.family == 6 else ()  # an address in doubt could not be bound to
        self._ip(host, "addr", "replace", f"{self.address(host, nic)}/{self.prefix()}", "dev", f"eth{nic}", *words)

    # ---- links

    def down(self, host, nic):
        """Takes the host's end of a link down."""
        self._ip(host, "link", "set", f"eth{nic}", "down")

    def up(self, host, nic):
        self._ip(host, "link", "set", f"eth{nic}", "up")
        self.restore_address(host, nic)  # IPv6 addresses go when the link goes down

    def unplug(self, host, nic):
        """Takes the switch's end of a link down: the host's end loses its carrier."""
        run("ip", "link", "set", self._port(host, nic), "down")

    def plug(self, host, nic):
        run("ip", "link", "set", self._port(host, nic), "up")

    def switch_off(self, switch):
        for host in self.hosts:
            self.unplug(host, switch)

    def switch_on(self, switch):
        for host in self.hosts:
            self.plug(host, switch)

    # ---- packets

    def drop_out(self, host, nic):
        """Swallows all that an interface sends, and tells nobody."""
        run("tc", "filter", "add", "dev", self._port(host, nic), "ingress", "bpf", "da", "bytecode", DROP_ALL)

    def drop_in(self, host, nic):
        """Swallows all that is sent to an interface."""
        self._tc(host, "filter", "add", "dev", f"eth{nic}", "ingress", "bpf", "da", "bytecode", DROP_ALL)

    def drop_both(self, host, nic):
        self.drop_out(host, nic)
        self.drop_in(host, nic)

    def lose(self, host, nic):
        """Loses a tenth of the packets that an interface sends, and a tenth of those that are sent to it."""
        run("tc", "filter", "add", "dev", self._port(host, nic), "ingress", "bpf", "da", "bytecode", LOSE_TENTH)
        self._tc(host, "filter", "add", "dev", f"eth{nic}", "ingress", "bpf", "da", "bytecode", LOSE_TENTH)

    def drop_connection(self, host, nic, port):
        """Swallows all packets of the connection whose port at one of its ends is given."""
        program = DROP_PORT.format(port=port)
        run("tc", "filter", "add", "dev", self._port(host, nic), "ingress", "bpf", "da", "bytecode", program)
        self._tc(host, "filter", "add", "dev", f"eth{nic}", "ingress", "bpf", "da", "bytecode", program)

    def connections(self, host, nic):
        """The established connections of an interface, each by the port of the end that made it."""
        listed = run(*self.inside(host), "ss", "-H", "-t", "-n", "state", "established", "src", self.address(host, nic))
        ports = [[int(end.rpartition(":")[2]) for end in line.split()[2:4]] for line in listed.splitlines()]
        return {own if own != PORT else theirs for own, theirs in ports}

    def let_through(self, host, nic):
        """Ends the drops of an interface."""
        run("tc", "filter", "del", "dev", self._port(host, nic), "ingress")
        self._tc(host, "filter", "del", "dev", f"eth{nic}", "ingress")

    def drop_everything(self):
        """Swallows all packets of all hosts, from one moment to the next."""
        self._at_all_ports(f"filter add dev {{}} ingress bpf da bytecode {DROP_ALL!r}")

    def let_everything_through(self):
        self._at_all_ports("filter del dev {} ingress")

    def _at_all_ports(self, command):
        """Has one process carry out a command for each port, so that hardly any time is between two of them."""
        lines = "".join(command.format(self._port(host, nic)) + "\n" for host in self.hosts for nic in (0, 1))
        subprocess.run(["tc", "-batch", "-"], input=lines, text=True, capture_output=True, check=True)

    def limit(self, host, nic, rate):
        """Limits what an interface sends, to a rate such as "1gbit"."""
        self._tc(host, "qdisc", "replace", "dev", f"eth{nic}", "root", "tbf", "rate", rate, *QUEUE)

    def reset(self, host, nic):
        """Resets all connections of an interface: both ends hear of it at once. Returns how many there were."""
        own = self.address(host, nic) if self.family == 4 else f"[{self.address(host, nic)}]"
        command = [*self.inside(host), "ss", "-K", "-H", "-t", "state", "established", "src", own]
        return len(run(*command).splitlines())

    def bytes(self, host, nic):
        """The bytes that an interface has sent and received."""
        seen = json.loads(self._ip(host, "-s", "-j", "link", "show", f"eth{nic}"))[0]["stats64"]
        return seen["tx"]["bytes"], seen["rx"]["bytes"]
