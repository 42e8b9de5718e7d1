#!/bin/bash
# Three "hosts" h1 to h3 (10.77.0.1 to .3) on one machine: network namespaces with an ssh server each, for mpirun over ssh
# with a hostfile. They share the file system, but neither /dev/shm nor processes.
#   netns.sh missing                   says what this machine lacks for them; says nothing where they can be made
#   netns.sh inside COMMAND…           makes them and runs the command beside them; they end with it, however that ends
#   netns.sh mpi [OPTION…] PROGRAM…    inside: mpirun with these words, on h1
#   netns.sh on N COMMAND…             inside: runs the command on host N
#   netns.sh ssh                       inside: prints the ssh command that reaches the hosts
#   netns.sh cut N                     inside: takes the carrier from host N's link: both sides see nothing, no reset
#   netns.sh drop N MATCH              inside: host N drops what it is sent and matches, in the words of nft
#   netns.sh rate N RATE               inside: host N is sent no more than that a second, such as 1mbit
#   netns.sh heal N                    inside: undoes all that
# NETNS_DIR is a folder for keys, logs and the hostfile. Needs root, iproute2, openssh-server and Open MPI. NETNS_SSH=no leaves out
# the ssh servers.
set -e
export PATH="$PATH:/usr/sbin:/sbin"
hosts="1 2 3"
# The namespaces end with this process. A private /run has the names of the namespaces and the files of the ssh servers.
namespaces="setpriv --pdeathsig KILL unshare --net --mount --pid --fork --kill-child --mount-proc"
private_run="mount -t tmpfs tmpfs /run && mkdir /run/sshd /run/netns"

missing() {
  [ "$(id -u)" = 0 ] || { echo "needs root"; return; }
  local program
  for program in setpriv unshare ip sshd ssh ssh-keygen mpirun; do
    command -v "$program" >/dev/null || { echo "no $program here"; return; }
  done
  local probe="ip link add probe type bridge && ip netns add probe && ip link add left type veth peer name right netns probe"
  local said
  said=$($namespaces sh -c "$private_run && $probe" 2>&1) || echo "no network namespaces here: ${said##*$'\n'}"
}

# on HOST COMMAND…: runs the command in that host's network namespace, with a host name, /dev/shm and process ids of its own,
# so that Open MPI sees several hosts and no task reaches the memory of one on another host.
on() {
  local host=$1
  shift
  exec ip netns exec "h$host" unshare --uts --mount --pid --fork --kill-child --mount-proc sh -c \
    'hostname "$0" && mount -t tmpfs tmpfs /dev/shm && exec "$@"' "h$host" "$@"
}

# Reno sends as soon as the window allows, like cubic, the default of Linux, which a namespace may not choose. BBR would pace
# packets by an estimate of the bandwidth, and benchmarks would compare estimates.
make_host() {
  ip netns add "h$1"
  ip netns exec "h$1" sh -c 'echo reno > /proc/sys/net/ipv4/tcp_congestion_control'
  ip link add "ve$1" type veth peer name eth0 netns "h$1"
  ip link set "ve$1" master hosts up
  ip -n "h$1" link set lo up
  ip -n "h$1" addr add "10.77.0.$1/24" dev eth0
  ip -n "h$1" link set eth0 up
  echo "10.77.0.$1 slots=1" >>"$dir/hostfile"
}

serve_ssh() {
  (on "$1" /usr/sbin/sshd -D -f /dev/null -E "$dir/sshd$1.log" \
    -o ListenAddress="10.77.0.$1" -o Port=2222 -o HostKey="$dir/hostkey" -o PidFile="$dir/sshd$1.pid" \
    -o AuthorizedKeysFile="$dir/key.pub" -o PermitRootLogin=prohibit-password -o StrictModes=no \
    -o UsePAM=no -o PasswordAuthentication=no) </dev/null >/dev/null 2>&1 &
}

up() {
  rm -f "$dir"/{key,key.pub,hostkey,hostkey.pub,hostfile,sshd*}  # left by an earlier run
  ip link add hosts type bridge
  ip link set hosts up
  local host
  for host in $hosts; do make_host "$host"; done
  [ "${NETNS_SSH:-}" != no ] || return 0
  ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
  ssh-keygen -q -t ed25519 -N '' -f "$dir/hostkey"
  for host in $hosts; do serve_ssh "$host"; done
  for host in $hosts; do
    until [ -s "$dir/sshd$host.pid" ]; do
      kill -0 $! 2>/dev/null || { cat "$dir"/sshd*.log >&2; exit 1; }
      sleep 0.02
    done
  done
}

ssh_command() {
  echo "ssh -p 2222 -i $dir/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
}

mpi() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  local name passed=()
  for name in LSAN_OPTIONS UBSAN_OPTIONS OPENBLAS_CORETYPE; do [ -z "${!name}" ] || passed+=(-x "$name"); done
  on 1 mpirun --hostfile "$dir/hostfile" --mca plm_rsh_agent "$(ssh_command)" --mca orte_tmpdir_base "$dir" --mca btl tcp,self \
    --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 --bind-to none "${passed[@]}" "$@"
}

case $1 in
  missing) missing; exit ;;
  inside | up | mpi | ssh | on | cut | drop | rate | heal) dir=${NETNS_DIR:?} ;;
  *) sed -n '2,13s/^# //p' "$0" && exit 2 ;;
esac
case $1 in
  inside) exec $namespaces sh -c "$private_run && \"\$0\" up && exec \"\$@\"" "$0" "${@:2}" ;;
  up) up ;;
  mpi) mpi "${@:2}" ;;
  ssh) ssh_command ;;
  on) on "${@:2}" ;;
  cut) ip link set "ve$2" down ;;
  drop)
    ip netns exec "h$2" nft "add table inet faults; add chain inet faults in { type filter hook input priority 0; };
      add rule inet faults in iifname eth0 $3 drop" ;;
  rate) tc qdisc replace dev "ve$2" root tbf rate "$3" burst 16k latency 400ms ;;
  heal)
    ip link set "ve$2" up
    tc qdisc del dev "ve$2" root 2>/dev/null || true
    ip netns exec "h$2" nft delete table inet faults 2>/dev/null || true ;;
esac
