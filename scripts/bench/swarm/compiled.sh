#!/bin/sh
# Runs a benchmark of this folder compiled, as users run a node: sh scripts/bench/swarm/compiled.sh bulk 500 /dev/shm
# Without this, Node strips types inside the measured process, and the compiler for that takes about 30 MB.
set -e
cd "$(dirname "$0")/../../.."
name=$1
shift
out=.cache/bench
npx esbuild "scripts/bench/swarm/$name.ts" scripts/bench/swarm/processes/child.ts --bundle --splitting --outdir=$out \
  --out-extension:.js=.mjs --platform=node --format=esm --packages=external --log-level=error
sed -i 's/child\.ts/child.mjs/' $out/*.mjs
exec node "$out/$name.mjs" "$@"
