# What an operator counts on, one line each. Runs beside the units, below their systemd.
set -x
token=$(grep -o '[0-9a-f]\{64\}' /srv/try/token)
answer() { curl -s -m 30 -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" "http://127.0.0.1:7070$1"; }
main() { systemctl show -P MainPID shardwrightd; }
check() {
	name=$1
	shift
	if "$@"; then echo "ok      $name"; else echo "FAILED  $name"; fi
}
until_true() { for _ in $(seq 300); do "$@" && return 0; sleep 0.1; done; return 1; }
is_other() { now=$(main) && [ "$now" -gt 1 ] && [ "$now" != "$1" ]; }
status() { grep -q "$1" "/proc/$first/status"; }

systemctl start shardwrightd.socket
check 'the socket is there before the daemon' [ "$(systemctl is-active shardwrightd.service)" = inactive ]
check 'the first connection starts it' [ "$(answer /v1/version)" = 200 ]
first=$(main)
check 'it is active, and runs' [ "$first" -gt 1 ]
check 'it runs as a user of its own' [ "$(ps -o uid= -p "$first")" -gt 60000 ]
check 'it has no capability' status '^CapEff:[[:space:]]*0000000000000000'
check 'no new privileges' status '^NoNewPrivs:[[:space:]]*1'
check 'a filter of system calls' status '^Seccomp:[[:space:]]*2'
check 'the store is its own, mode 0700' [ "$(stat -c %a /var/lib/private/shardwright)" = 700 ]
check 'tokens come as a credential: without one, 401' [ "$(curl -s -m 30 -o /dev/null -w '%{http_code}' http://127.0.0.1:7070/v1/modules)" = 401 ]
check 'and with one, 200' [ "$(answer /v1/modules)" = 200 ]
cat >/tmp/m.mlir <<X
module @jit_step {
  func.func public @main(%arg0: tensor<8x16xf32>, %arg1: tensor<16x32xf32>) -> tensor<8x32xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    return %0 : tensor<8x32xf32>
  }
}
X
submit() { SHARDWRIGHT_TOKEN=$token shardwright submit /tmp/m.mlir --mesh data=2 --evaluations 20 --wait --server http://127.0.0.1:7070 >/tmp/answer; }
check 'a search, its worker confined twice' submit
check 'reload' systemctl reload shardwrightd
check 'by the same process' [ "$(main)" = "$first" ]
sleep 8
check 'it tells the watchdog of 3 s for 8 s' [ "$(main)" = "$first" ]
kill -STOP "$first"
check 'a frozen one is replaced' until_true is_other "$first"
second=$(main)
check 'the new one answers' [ "$(answer /v1/modules)" = 200 ]
[ "$second" -gt 1 ] && kill -9 "$second"
check 'killed while somebody asks: he waits in the socket, and is answered' [ "$(answer /v1/version)" = 200 ]
check 'answers are still there' submit
check 'stop' systemctl stop shardwrightd.service
check 'without a failure' [ "$(systemctl show -P Result shardwrightd)" = success ]
check 'and the next connection starts it again' [ "$(answer /v1/version)" = 200 ]
systemctl stop shardwrightd.socket shardwrightd.service
echo done
