#!/bin/sh
# Runs a command in its own scheduling group with the highest priority, so that figures from a busy machine are
# comparable: sudo scripts/bench/quiet.sh node ... (Linux with autogroups; keep it short, since other programs wait.)
exec setsid -w sh -c 'echo -20 > /proc/self/autogroup; exec "$@"' _ "$@"
