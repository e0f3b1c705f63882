#!/bin/sh
# Runs a benchmark of the swarm compiled, as users run a node: sh scripts/bench/compiled.sh swarm-bulk 500 /dev/shm
# Node strips types in the process that it runs, with a compiler that takes some 30 MB there.
set -e
cd "$(dirname "$0")/../.."
name=$1
shift
out=node_modules/.cache/waggle-bench
npx esbuild "scripts/bench/$name.ts" scripts/bench/swarm-child.ts --bundle --splitting --outdir=$out --out-extension:.js=.mjs \
  --platform=node --format=esm --packages=external --log-level=error
sed -i 's/swarm-child\.ts/swarm-child.mjs/' $out/*.mjs
exec node "$out/$name.mjs" "$@"
