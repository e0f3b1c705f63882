// Makes the picture in the README: the real `waggle top` in a terminal of 100 columns and 30 rows, replaying the
// recorded run in docs/images, with its final state on several tabs. Needs `script` of util-linux for the terminal.
//
//   node --import tsx scripts/docs/picture.ts [RUN.jsonl]      (a new recording replaces the one in docs/images)

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import xterm from '@xterm/headless'
import { type Cell, type Screen, svgOf } from './svg.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RECORDING = join(ROOT, 'docs/images/run.jsonl.gz')
const PICTURE = join(ROOT, 'docs/images/top.svg')
const [COLUMNS, ROWS] = [100, 30]
const TABS = ['1', '2', '4']
const SECONDS = 6
const MAX_MS = 60_000

const given = process.argv[2]
if (given) writeFileSync(RECORDING, gzipSync(readFileSync(given), { level: 9 }))

const place = mkdtempSync(join(tmpdir(), 'waggle-picture-'))
const run = join(place, 'run.jsonl')
writeFileSync(run, gunzipSync(readFileSync(RECORDING)))

const terminal = new xterm.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true })
const program = `stty cols ${COLUMNS} rows ${ROWS}; exec ${process.execPath} --import tsx daemon/cli/waggle.ts top --replay ${run}`
const child = spawn('script', ['-qfec', program, '/dev/null'], {
  cwd: ROOT,
  env: { ...process.env, TERM: 'xterm-256color', LANG: 'C.UTF-8', NO_COLOR: undefined, WAGGLE_HOME: place },
  stdio: ['pipe', 'pipe', 'inherit'],
})
child.stdout.on('data', (data: Buffer) => terminal.write(data))

/** As xterm has it: 16 colours of a usual theme, a cube, greys. */
function paletteColour(index: number): string {
  const basic = ['#2e3440', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d8dee9']
  if (index < 16) return basic[index % 8]!
  const level = (value: number): number => (value === 0 ? 0 : 55 + 40 * value)
  const grey = 8 + 10 * (index - 232)
  const cube = index - 16
  const rgb =
    index >= 232 ? [grey, grey, grey] : [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level)
  return `#${rgb.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

function cellAt(row: number, column: number): Cell {
  const cell = terminal.buffer.active.getLine(row)?.getCell(column)
  const colour = cell?.isFgPalette()
    ? paletteColour(cell.getFgColor())
    : cell?.isFgRGB()
      ? `#${cell.getFgColor().toString(16).padStart(6, '0')}`
      : undefined
  return { text: cell?.getChars() ?? '', colour, bold: !!cell?.isBold(), inverse: !!cell?.isInverse() }
}

const screen = (): Screen =>
  Array.from({ length: ROWS }, (_, row) =>
    Array.from({ length: COLUMNS }, (_, column) => cellAt(row, column)),
  )

const shown = (): string =>
  screen()
    .map((row) => row.map(({ text }) => text || ' ').join(''))
    .join('\n')

/** The replay's line has "1 min of 9 min". */
const isAtEnd = (text: string): boolean => /(?<at>\d+ \w+) of \k<at> /.test(text)

/** Presses keys until the picture is as asked for, and stands still. */
async function press(keys: string, wanted: (text: string) => boolean): Promise<Screen> {
  const deadline = Date.now() + MAX_MS
  let before = ''
  for (let still = 0; still < 4; ) {
    if (Date.now() > deadline)
      throw new Error(`the screen does not come to rest after "${keys}":\n${shown()}`)
    if (!wanted(shown())) child.stdin.write(keys)
    await sleep(300)
    const now = JSON.stringify(screen())
    still = now === before && wanted(shown()) ? still + 1 : 0
    before = now
  }
  return screen()
}

try {
  while (!shown().includes('Overview')) await sleep(100)
  const screens: Screen[] = []
  for (const tab of TABS) {
    screens.push(await press(`${tab}]]]]`, (text) => new RegExp(`\\[${tab} `).test(text) && isAtEnd(text)))
  }
  child.stdin.write('q')
  const svg = svgOf(screens, {
    title: 'waggle top: overview, swarm and training of a recorded run',
    seconds: SECONDS,
  })
  writeFileSync(PICTURE, svg)
  console.log(`${PICTURE}: ${(svg.length / 1000).toFixed(0)} kB`)
} finally {
  child.kill('SIGKILL')
  rmSync(place, { recursive: true, force: true })
}
