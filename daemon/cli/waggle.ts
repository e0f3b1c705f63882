#!/usr/bin/env node
// The executable: checks the Node.js version, then starts the program. NODE_ENV is set before anything is loaded;
// otherwise React records every render, which fills the memory of a long-running screen. ONNX Runtime 1.29 and later
// send telemetry unless it is turned off before loading. A node starts once more; see platform/lean.ts.

import { homedir } from 'node:os'

process.env.NODE_ENV = 'production'
process.env.ORT_DISABLE_TELEMETRY ??= '1'

const NEEDED = [22, 19]
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < NEEDED[0]! || (major === NEEDED[0] && minor < NEEDED[1]!)) {
  process.stderr.write(
    `error: Waggle needs Node.js ${NEEDED.join('.')} or newer, this is ${process.versions.node} (${process.execPath})\n` +
      '  try   In a checkout, `npm ci` installs the right Node.js: use `npm start` or `npm run -s waggle -- <command>`.\n' +
      '        For an installed Waggle, run `npx -p node@24 waggle <command>`,\n' +
      '        or install Node.js 24 (https://nodejs.org, `nvm install 24`) and then Waggle again.\n',
  )
  process.exitCode = 2
} else {
  const { keepCompiled, leanStart } = await import('../platform/index.ts')
  const lean = leanStart(process)
  if (lean) process.execve?.(process.execPath, lean.argv, lean.env)
  keepCompiled(process.env, homedir())
  const { start } = await import('./start.ts')
  await start()
}
