// The real program on a real pty. Only this sees what the terminal does with it: drift, leftovers, job control.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from './screen.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const SERVER = `waggle-test-${process.pid}`
const installed = spawnSync('tmux', ['-V']).status === 0

const tmux = (...args: string[]): string =>
  execFileSync('tmux', ['-L', SERVER, ...args], { encoding: 'utf8', env: { ...process.env, TMUX: '' } })
const screen = (): string => tmux('capture-pane', '-p', '-t', 'top')
const sees = (what: RegExp) =>
  until(() => what.test(screen()), 60_000, 80).catch(() => expect(screen()).toMatch(what))

/** Key, and what stands on that tab, with boxes and in a small window; back on the first one at the end. */
const TABS = [
  ['2', /\[2 Swarm\][\s\S]*Peers {2}1 of 1/, /spry-elk[\s\S]*2 Swarm {2}1-6 tabs/],
  ['3', /\[3 Roll[\s\S]*QUESTION/, /TASK[\s\S]*basic_arithmetic[\s\S]*3 Rollouts/],
  ['4', /\[4 Train[\s\S]*mismatch KL/, /mismatch KL +0\.\d+[\s\S]*4 Training/],
  ['5', /\[5 Plug[\s\S]*grpo/, /grpo[\s\S]*5 Plugins/],
  ['6', /\[6 Logs\][\s\S]*checkpoint saved/, /checkpoint saved[\s\S]*6 Logs/],
  ['1', /\[1 Over[\s\S]*Learning/, /reward 0\.\d+[\s\S]*1 Overview/],
] as const

let home = ''
let daemon: ChildProcess

function startDaemon(): ChildProcess {
  return spawn(process.execPath, [join(ROOT, 'test/cli/scripted-waggle.ts'), 'up', '--home', home], {
    cwd: ROOT,
    stdio: 'ignore',
    env: { ...process.env, STEP_MS: '250' },
  })
}

describe.skipIf(!installed)('in tmux', () => {
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'waggle-tmux-'))
    daemon = startDaemon()
    tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      '100',
      '-y',
      '30',
      '-s',
      'top',
      `cd ${ROOT}; PS1='shell> ' exec bash --norc -i`,
    )
    tmux('set-option', '-g', 'default-terminal', 'screen-256color')
  })
  afterAll(() => {
    tmux('kill-server')
    daemon.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true })
  })

  test('the screen is whole at each size, survives the daemon, job control, and leaves nothing behind', async () => {
    await until(() => spawnSync('test', ['-S', join(home, 'control.sock')]).status === 0, 60_000, 80)
    tmux(
      'send-keys',
      '-t',
      'top',
      `echo before; ${process.execPath} daemon/cli/waggle.ts top --home ${home}`,
      'Enter',
    )
    await sees(/TRAINING +step \d+/)
    await sees(/╭─ Learning [\s\S]*Needs attention/)

    for (const [columns, rows, marks] of [
      [80, 24, /^ ● TRAINING[\s\S]*╭─ Learning[\s\S]*q detach/],
      [60, 15, /^ ● TRAINING[\s\S]*reward 0\.\d+[\s\S]*q detach/],
      [100, 30, /^ ● TRAINING[\s\S]*╭─ Needs attention[\s\S]*q detach/],
    ] as const) {
      tmux('resize-window', '-t', 'top', '-x', String(columns), '-y', String(rows))
      await sees(marks)
      const lines = screen().trimEnd().split('\n')
      expect(lines).toHaveLength(rows)
      expect(screen().split('TRAINING').length - 1).toBe(1)
      for (const [key, boxed, small] of TABS) {
        tmux('send-keys', '-t', 'top', key)
        await sees(rows < 24 ? small : boxed)
        expect(screen().trimEnd().split('\n')).toHaveLength(rows)
      }
    }

    // A window that is pulled about, while numbers change: the last size's picture is whole, and nothing of others is left.
    for (let i = 0; i < 24; i++)
      tmux('resize-window', '-t', 'top', '-x', String(60 + 5 * (i % 10)), '-y', String(15 + (i % 16)))
    tmux('resize-window', '-t', 'top', '-x', '100', '-y', '30')
    await sees(/^ ● TRAINING[\s\S]*╭─ Needs attention[\s\S]*q detach/)
    await until(
      () => screen().trimEnd().split('\n').length === 30 && screen().split('╭─ Learning').length === 2,
    )

    tmux('send-keys', '-t', 'top', ':config path', 'Enter')
    await sees(/config\.toml/)
    tmux('send-keys', '-t', 'top', 'Escape')

    tmux('send-keys', '-t', 'top', 'C-z')
    await sees(/Stopped[\s\S]*shell>/)
    tmux('send-keys', '-t', 'top', 'fg', 'Enter')
    await sees(/^ ● TRAINING[\s\S]*╭─ Needs attention[\s\S]*q detach/)

    daemon.kill('SIGKILL')
    await sees(/^ ✖ LOST +no contact for \d+ s +bold-cricket, last seen at step \d+[\s\S]*╭─ Learning/)
    daemon = startDaemon()
    await sees(/^ ● TRAINING +step \d+/)

    tmux('send-keys', '-t', 'top', 'q')
    await sees(/The daemon keeps running/)
    tmux('send-keys', '-t', 'top', 'echo left with $?', 'Enter')
    await sees(/left with 0/)
    const after = screen()
    expect(after).toContain('echo before')
    expect(after).not.toContain('Learning')
    expect(
      tmux('display-message', '-p', '-t', 'top', '#{alternate_on} #{cursor_flag} #{wrap_flag}').trim(),
    ).toBe('0 1 1')
    tmux('send-keys', '-t', 'top', 'echo typed', 'Enter')
    await sees(/^typed$/m)
  }, 180_000)
})
