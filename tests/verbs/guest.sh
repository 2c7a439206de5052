#!/bin/bash
# The first process of the virtual machine that vm.py boots: it makes RDMA devices out of pairs of virtual interfaces, which a
# bridge connects, runs the command of /out/command, and powers off. Arguments come from the kernel's command line.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8
argument() { busybox sed -n "s/.*$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
devices=$(argument scoll_devices) modules=$(argument scoll_modules) folder=$(argument scoll_folder)

mount -t tmpfs none /run
mkdir -p /dev/shm /dev/pts /out
mount -t tmpfs none /dev/shm
mount -t devpts none /dev/pts
mount -t 9p -o trans=virtio,version=9p2000.L,rw,msize=512000 out /out
mkdir -p /lib/modules
ln -sfn "$modules" "/lib/modules/$(uname -r)"
ulimit -l unlimited
ip link set lo up
modprobe -a rdma_rxe veth bridge sch_netem

# Local addresses must be reached over the wire, so the table `local` comes after rules by interface.
for setting in accept_local=1 rp_filter=0 arp_ignore=1 arp_announce=2; do
  sysctl -qw "net.ipv4.conf.all.$setting" "net.ipv4.conf.default.$setting"
done
ip link add wire type bridge
ip link set wire up mtu 4200
ip rule add pref 100 lookup local
for ((i = 1; i <= devices; i++)); do
  ip link add "eth$i" address "02:00:00:00:00:0$i" type veth peer name "port$i"
  ip link set "port$i" master wire up mtu 4200
  ip link set "eth$i" up mtu 4200
  ip addr add "10.0.0.$i/24" dev "eth$i"
  ip rule add pref 10 iif "eth$i" lookup local
  ip rule add pref 20 oif "eth$i" lookup $((100 + i))
  ip route add 10.0.0.0/24 dev "eth$i" src "10.0.0.$i" table $((100 + i))
  ip route add local "10.0.0.$i" dev "eth$i" table $((100 + i)) # nodes that share a device
  rdma link add "rxe$i" type rxe netdev "eth$i"
done
ip rule del pref 0
for ((i = 1; i <= devices; i++)); do
  for ((j = 1; j <= devices; j++)); do
    ((i == j)) || ip neigh replace "10.0.0.$j" lladdr "02:00:00:00:00:0$j" dev "eth$i" nud permanent
  done
done

stty -onlcr </dev/console
echo "guest: up after $(cut -d' ' -f1 /proc/uptime) s with $(rdma link | wc -l) RDMA devices"
if (($(rdma link | wc -l) == devices)); then
  cd "$folder" && bash /out/command </dev/null
  echo $? >/out/status
fi
sync
echo 0 >/proc/sys/kernel/printk
busybox poweroff -f
