#!/bin/sh
# A Slurm of three nodes on this machine, for tests: each slurmd in network, mount and UTS namespaces
# of its own, the controller and a bridge in a fourth, so that nothing is left once their processes
# have ended. Needs root and Debian's slurmctld, slurmd, slurm-client, munge.
#
#   slurm.sh up FOLDER               make it; FOLDER keeps its files
#   slurm.sh in FOLDER COMMAND...    run a command where the controller is
#   slurm.sh slow FOLDER NODE RATE   plant a slow line at a node, as in n3 200mbit
#   slurm.sh cut FOLDER NODE         cut a node's line, and kill all that runs there
#   slurm.sh down FOLDER             end every process of it, by its id
set -eu
what=$1; folder=$2; shift 2

# A process in namespaces of its own, called $1; it waits there for whoever enters them.
space() {
  setsid unshare --net --mount --uts sh -c "hostname $1; ip link set lo up; exec sleep 3600" \
    </dev/null >/dev/null 2>&1 &
  echo $! >"$folder/$1.pid"
}
inside() { name=$1; shift; nsenter -t "$(cat "$folder/$name.pid")" -n -m -u "$@"; }
start() {
  name=$1; log=$2; shift 2
  setsid nsenter -t "$(cat "$folder/$name.pid")" -n -m -u "$@" </dev/null >>"$folder/$log" 2>&1 &
}

# The ids of all processes in the namespaces of $1.
of() {
  ours=$(readlink "/proc/$(cat "$folder/$1.pid")/ns/net" | tr '[]' '??') || return 0
  find /proc/[0-9]*/ns/net -maxdepth 0 -lname "$ours" 2>/dev/null | cut -d/ -f3
}

up() {
  mkdir -p "$folder/run" "$folder/state" "$folder/spool"
  chmod 755 "$folder"
  for name in ctl n1 n2 n3; do space $name; done
  for name in ctl n1 n2 n3; do
    until [ "$(inside $name hostname 2>/dev/null)" = $name ]; do sleep 0.05; done
  done
  inside ctl ip link add bridge type bridge
  inside ctl ip addr add 10.97.0.254/24 dev bridge
  inside ctl ip link set bridge up
  for nth in 1 2 3; do
    inside ctl ip link add to-n$nth type veth peer name eth0 netns "$(cat "$folder/n$nth.pid")"
    inside ctl ip link set to-n$nth master bridge up
    inside n$nth ip addr add 10.97.0.$nth/24 dev eth0
    inside n$nth ip link set eth0 up
  done
  cat >"$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=ctl(10.97.0.254)
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
ReturnToService=2
NodeName=n1 NodeAddr=10.97.0.1 CPUs=1
NodeName=n2 NodeAddr=10.97.0.2 CPUs=1
NodeName=n3 NodeAddr=10.97.0.3 CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
  dd if=/dev/urandom of="$folder/munge.key" bs=1024 count=1 status=none
  chmod 400 "$folder/munge.key"
  start ctl munged.log munged --foreground --force --socket="$folder/run/munge.socket" \
    --key-file="$folder/munge.key" --pid-file="$folder/run/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munge.seed"
  until [ -S "$folder/run/munge.socket" ]; do sleep 0.05; done
  start ctl slurmctld.log slurmctld -D -f "$folder/slurm.conf"
  for name in n1 n2 n3; do start $name $name.log slurmd -D -N $name -f "$folder/slurm.conf"; done
  tries=0
  until [ "$(SLURM_CONF="$folder/slurm.conf" inside ctl timeout 5 sinfo -h -t idle -o %D 2>/dev/null)" = 3 ]; do
    tries=$((tries + 1))
    [ $tries -lt 150 ] || { echo "the nodes didn't come up" >&2; tail -n 3 "$folder"/*.log >&2; exit 1; }
    sleep 0.2
  done
}

case $what in
  up) up ;;
  in) SLURM_CONF=$folder/slurm.conf inside ctl "$@" ;;
  slow)
    inside ctl tc qdisc add dev "to-$1" root tbf rate "$2" burst 64k latency 50ms
    inside "$1" tc qdisc add dev eth0 root tbf rate "$2" burst 64k latency 50ms ;;
  cut)
    inside ctl ip link set "to-$1" down
    # One that has just ended by itself is no failure.
    for process in $(of "$1"); do kill -9 "$process" 2>/dev/null || true; done ;;
  down)
    for name in n1 n2 n3 ctl; do
      [ ! -f "$folder/$name.pid" ] || of $name | xargs -r kill -9 2>/dev/null || true
    done ;;
  *) echo "slurm.sh up|in|slow|cut|down FOLDER" >&2; exit 2 ;;
esac
