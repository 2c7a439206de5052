#!/usr/bin/env python3
# needs: gossipctl
"""What is sent to gossip daemons by those who are not who they say they are: counted, and without effect."""

import random
import unittest

from gossip_cluster import Cluster, bound_to, run_tests, until


class Forgery(unittest.TestCase):
    def test_without_the_key_nobody_is_believed(self):
        """A participant with another key is heard, counted and never alive."""
        cluster = Cluster(3, "--with-key")
        try:
            cluster.start(0, 1)
            keys = cluster.home / "gossip.keys"
            other = cluster.run("keys", "--file", cluster.home / "other.keys", "new")
            self.assertEqual(other.returncode, 0, other.stderr)
            right = keys.read_text()
            keys.write_text((cluster.home / "other.keys").read_text())
            cluster.start(2)
            keys.write_text(right)
            until(lambda: cluster.ask(0, "status", expect=(0, 1))["alive"] == 2, "the two see each other")
            until(lambda: cluster.ask(0, "dump")["counters"]["not_authentic"] > 2, "the third is refused")
            self.assertGreater(cluster.ask(0, "status", expect=1)["unknown_key"], 0)
            states = {m["index"]: m["state"] for m in cluster.ask(0, "members", expect=1)}
            self.assertEqual(states, {0: "alive", 1: "alive", 2: "unknown"})
        finally:
            cluster.close()

    def test_what_is_forged_from_a_members_address_changes_nothing(self):
        for arguments, refused_as in [([], "malformed"), (["--with-key"], "not_authentic")]:
            with self.subTest(arguments=arguments):
                cluster = Cluster(5, *arguments)
                try:
                    cluster.start_all()
                    cluster.wait_all_alive()
                    self.forge(cluster, refused_as)
                finally:
                    cluster.close()

    def forge(self, cluster, refused_as):
        """Of five, 0 and 2 are killed, and the test has their ports: what they are sent, it can send on."""
        cluster.kill(0)
        with bound_to(cluster.addresses[0]) as zero:
            of_two, of_three = self.ping_from(cluster, 2, zero), self.ping_from(cluster, 3, zero)
            cluster.kill(2)
            with bound_to(cluster.addresses[2]) as two:
                cluster.wait_all_named([0, 2], [1, 3, 4])
                altered = [self.altered(of_two, at) for at in (8, 16, 24, 32, 48, 65, 73, 80, -1)]
                altered += [of_two[:-1]]
                garbage = [b"x", of_two[:40], random.Random(9).randbytes(1000)]
                self.expect_dropped(cluster, two, altered, **{refused_as: len(altered)})
                self.expect_dropped(cluster, two, garbage, malformed=len(garbage))
                versions = [b"SCGP" + bytes(200), self.altered(of_two, 4), self.altered(of_two, 5)]
                self.expect_dropped(cluster, two, versions, other_version=len(versions))
                # One line about a peer in ten seconds.
                self.assertEqual(cluster.log(1).count("speaks version"), 1)
                # Real ones, from another's address and from their owner's: they were meant for another receiver.
                self.expect_dropped(cluster, two, [of_three], **{refused_as: 1})
                self.expect_dropped(cluster, zero, [of_two], **{refused_as: 1})
                self.expect_dropped(cluster, two, [of_two, of_two], **{refused_as: 2})

    @staticmethod
    def ping_from(cluster, i, port):
        ping = 1
        while True:
            message, (host, source) = port.recvfrom(65536)
            if f"{host}:{source}" == cluster.addresses[i] and message[6] == ping:
                return message

    @staticmethod
    def altered(message, at):
        copy = bytearray(message)
        copy[at] ^= 1
        return bytes(copy)

    def expect_dropped(self, cluster, port, messages, **counted):
        """Participant 1 counts the messages, and is two cycles later as it was."""
        names = ("malformed", "not_authentic", "repeated", "unknown_address", "disagreeing", "other_version")
        host, number = cluster.addresses[1].split(":")

        def counters():
            return cluster.ask(1, "dump")["counters"]

        def state():
            return [(m["index"], m["state"], m["incarnation"], m["aliveness"]) for m in cluster.ask(1, "members", expect=1)]

        before, state_before, told = counters(), state(), len(cluster.watch.events)
        for message in messages:
            port.sendto(message, (host, int(number)))
        until(lambda: all(counters()[name] >= before[name] + n for name, n in counted.items()), f"counted: {counted}")
        cycle = counters()["cycles"]
        until(lambda: counters()["cycles"] >= cycle + 2, "two cycles go by")
        after = counters()
        self.assertEqual({name: after[name] - before[name] for name in names},
                         {name: counted.get(name, 0) for name in names})
        self.assertEqual(state(), state_before)
        self.assertEqual(cluster.watch.events[told:], [])


if __name__ == "__main__":
    run_tests()
