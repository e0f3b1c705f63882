#!/bin/sh
# Runs a command in a scheduling group of its own that other programs yield to, so that figures from a busy machine can be
# compared: sudo scripts/bench/quiet.sh node ... (Linux with autogroups; keep it short, others wait meanwhile.)
exec setsid -w sh -c 'echo -20 > /proc/self/autogroup; exec "$@"' _ "$@"
