#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Part of ferry's tests: mpirun over ssh between three "hosts" that are one machine.
# Three "hosts" h1..h3 (10.77.0.1-3) on one machine: network namespaces with one sshd each, for mpirun over ssh with a hostfile.
# netns.sh up | down | mpi [mpirun args] prog | cut N | heal N | loss N PERCENT | blackhole N M | rate N KBIT | clear N
# Needs root and Debian's openssh-server, iproute2, nftables. All hosts share the file system, but not /dev/shm.
set -e
D=${NETNS_DIR:-${TMPDIR:-/tmp}/ferry-netns}; N=3; BR=brferry
case $1 in
up)
  mkdir -p $D /run/sshd; [ -f $D/key ] || ssh-keygen -q -t ed25519 -N '' -f $D/key
  [ -f $D/hostkey ] || ssh-keygen -q -t ed25519 -N '' -f $D/hostkey
  cp $D/key.pub $D/authorized_keys; chmod 600 $D/authorized_keys
  ip link add $BR type bridge; ip link set $BR up
  : > $D/hostfile
  for i in $(seq $N); do
    ip netns add h$i; ip link add ve$i type veth peer name eth0 netns h$i
    ip link set ve$i master $BR up
    ip -n h$i link set lo up; ip -n h$i addr add 10.77.0.$i/24 dev eth0; ip -n h$i link set eth0 up
    # own UTS name per host, so Open MPI does not take them for one node
    ip netns exec h$i unshare --uts --mount sh -c "hostname h$i; mount -t tmpfs tmpfs /dev/shm; exec /usr/sbin/sshd -D -f /dev/null \
      -o ListenAddress=10.77.0.$i -o Port=2222 -o HostKey=$D/hostkey -o PidFile=$D/sshd$i.pid \
      -o AuthorizedKeysFile=$D/authorized_keys -o PermitRootLogin=prohibit-password -o StrictModes=no \
      -o UsePAM=no -o PasswordAuthentication=no -E $D/sshd$i.log" &
    echo $! > $D/unshare$i.pid
    echo "10.77.0.$i slots=${SLOTS:-1}" >> $D/hostfile
  done
  for i in $(seq 50); do [ "$(ls $D/sshd?.pid 2>/dev/null|wc -l)" = $N ] && break; sleep .1; done ;;
down)
  for i in $(seq $N); do for p in $(ip netns pids h$i 2>/dev/null); do kill -9 $p 2>/dev/null || :; done; ip netns del h$i 2>/dev/null || :; done
  ip link del $BR 2>/dev/null || :; rm -f $D/*.pid ;;
mpi) # netns.sh mpi [mpirun args] prog  -- mpirun itself runs on host h1
  shift; export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  exec ip netns exec h1 unshare --uts --mount sh -c 'hostname h1; mount -t tmpfs tmpfs /dev/shm; exec "$@"' - mpirun \
    --mca plm_rsh_agent "ssh -p 2222 -i $D/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR" \
    --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
    --mca mpi_yield_when_idle 1 --hostfile $D/hostfile "$@" ;;
cut)   ip link set ve$2 down ;;                       # carrier gone: both sides see nothing (no RST)
heal)  ip link set ve$2 up ;;
loss)  ip netns exec h$2 nft -f - <<X
table inet flt {
 chain i {
 type filter hook input priority 0;
 iifname "eth0" numgen random mod 100 < $3 drop
 }
}
X
;;
blackhole) ip netns exec h$2 nft -f - <<X
table inet flt {
 chain i {
 type filter hook input priority 0;
 ip saddr 10.77.0.$3 drop
 }
}
X
;;
rate)  tc qdisc replace dev ve$2 root tbf rate ${3}kbit burst 16k latency 400ms ;;
clear) tc qdisc del dev ve$2 root 2>/dev/null || :; ip netns exec h$2 nft delete table inet flt 2>/dev/null || : ;;
esac
