#!/usr/bin/env bash
# Checks the files of this folder with the programs that they are for, as far as this machine has them:
#   systemd-analyze, promtool, docker-compose (Debian: systemd, prometheus, docker-compose), kubernetes-validate (PyPI).
# Nothing is started.
set -uo pipefail
cd "$(dirname "$0")" || exit
failed=0

check() { # name, program, command...
  local name=$1 program=$2
  shift 2
  if ! command -v "$program" >/dev/null; then
    echo "skip  $name: there is no $program"
  elif output=$("$@" 2>&1); then
    echo "ok    $name"
  else
    echo "FAIL  $name"
    echo "      ${output//$'\n'/$'\n'      }"
    failed=1
  fi
}

# promtool looks for the token, which a node makes.
prometheus_config() {
  local place
  place=$(mktemp -d)
  touch "$place/token"
  cp prometheus/alerts.yml "$place"
  sed "s#credentials_file: [^ ]*#credentials_file: $place/token#" prometheus/prometheus.yml >"$place/prometheus.yml"
  promtool check config "$place/prometheus.yml"
  local status=$?
  rm -r "$place"
  return "$status"
}

# Every query of the dashboard, as a recording rule: what Prometheus cannot parse is found.
dashboard_queries() {
  local rules
  rules=$(mktemp --suffix .yml)
  node -e '
    const board = JSON.parse(require("fs").readFileSync("grafana/waggle.json", "utf8"))
    const queries = board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    const rules = queries.map((expr, i) => ({ record: `query:${i}`, expr: expr.replaceAll("$instance", ".*") }))
    console.log(JSON.stringify({ groups: [{ name: "dashboard", rules }] }))' >"$rules"
  promtool check rules "$rules"
  local status=$?
  rm "$rules"
  return "$status"
}

check 'system unit' systemd-analyze systemd-analyze verify ./waggle.service
check 'exposure of the system unit at most 4.0 of 10' systemd-analyze \
  systemd-analyze security --offline=true --threshold=40 ./waggle.service
check 'Prometheus configuration' promtool prometheus_config
check 'alert rules' promtool promtool test rules prometheus/alerts.test.yml
check 'queries of the Grafana dashboard' promtool dashboard_queries
check 'compose file' docker-compose docker-compose -f compose.yaml config --quiet
check 'Kubernetes manifests' kubernetes-validate kubernetes-validate --strict kubernetes.yaml
check 'launchd plist' python3 python3 -c 'import plistlib; plistlib.load(open("waggle.plist", "rb"))'
check 'Windows task' python3 python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("waggle-task.xml")'
exit $failed
