#!/usr/bin/env node
// The program: checks the runtime, then hands the command line and the world to run.ts. NODE_ENV is set before anything
// is loaded, since React keeps a performance record per render otherwise, and long-running screens died of that. ONNX
// Runtime from 1.29 on reports its use to its maker unless it is told not to before it loads; it is told so here.

process.env.NODE_ENV = 'production'
process.env.ORT_DISABLE_TELEMETRY ??= '1'

const NEEDED = [22, 19]
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < NEEDED[0]! || (major === NEEDED[0] && minor < NEEDED[1]!)) {
  process.stderr.write(
    `error: Waggle needs Node.js ${NEEDED.join('.')} or newer, this is ${process.versions.node} (${process.execPath})\n` +
      '  try   In a checkout, `npm ci` brings its own: start with `npm start` or `npm run -s waggle -- <command>`.\n' +
      '        Elsewhere, install a current Node.js from https://nodejs.org.\n',
  )
  process.exitCode = 2
} else {
  const { start } = await import('./start.ts')
  await start()
}
