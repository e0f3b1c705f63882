// `waggle status --all` and `waggle top --all`: several nodes by their control APIs, one table.

import { setTimeout as sleep } from 'node:timers/promises'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Context } from '../contract.ts'
import { type Answer, ask, fleetOf } from './nodes.ts'
import { fleetText } from './table.ts'

const LIMIT_MS = 15_000
const REPAINT_MS = 1000
const ASK_EVERY_MS = 2000

/** A timer that keeps no process alive. */
const late = (): Promise<unknown> => sleep(LIMIT_MS, undefined, { ref: false })

/** Exit status 5 if a node does not answer. */
export async function statusOfAll(context: Context): Promise<number> {
  const nodes = fleetOf(context)
  for (;;) {
    const answers = await Promise.all(nodes.map((node) => ask(node, late)))
    context.out(
      context.json ? JSON.stringify({ v: 1, nodes: answers.map(asJson) }) : fleetText(answers).join('\n'),
    )
    if (context.options.watch !== true) return answers.some((one) => 'error' in one) ? 5 : 0
    await sleep(ASK_EVERY_MS)
    if (!context.json) context.out('')
  }
}

function asJson(answer: Answer) {
  if (!('error' in answer)) return answer
  const { code, message, hint } = answer.error
  return { name: answer.name, address: answer.address, error: { code, message, hint } }
}

/** The same table, painted again and again until q or Ctrl-C. */
export async function topOfAll(context: Context): Promise<number> {
  const { io } = context
  if (io.stdout.isTTY !== true || io.stdin.isTTY !== true)
    throw new WaggleError('E_USAGE', 'this is not a terminal', {
      hint: `Try \`${context.commandLine('status --all --watch')}\`, which prints plain text.`,
    })
  const nodes = fleetOf(context)
  const answers = new Map<string, Answer>()
  const asking = new Set<string>()
  const askAll = (): void => {
    for (const node of nodes.filter(({ name }) => !asking.has(name))) {
      asking.add(node.name)
      void ask(node, late).then((answer) => {
        asking.delete(node.name)
        answers.set(node.name, answer)
      })
    }
  }
  const paint = (): void => {
    const known = nodes.flatMap(({ name }) => answers.get(name) ?? [])
    const waiting = nodes.filter(({ name }) => !answers.has(name)).map(({ name }) => name)
    const width = (io.stdout.columns ?? 80) - 1
    const lines = [
      ...fleetText(known, waiting),
      '',
      'q closes this; `waggle top --on ADDRESS` shows one node',
    ]
    io.stdout.write(`\u001b[H${lines.map((line) => `${line.slice(0, width)}\u001b[K`).join('\r\n')}\u001b[J`)
  }
  // The alternate screen, without a cursor.
  io.stdout.write('\u001b[?1049h\u001b[?25l')
  const timers = [setInterval(askAll, ASK_EVERY_MS), setInterval(paint, REPAINT_MS)]
  const restore = (): void => void io.stdout.write('\u001b[?25h\u001b[?1049l')
  io.atExit(restore)
  try {
    askAll()
    paint()
    await closed(io)
  } finally {
    for (const timer of timers) clearInterval(timer)
    restore()
  }
  return 0
}

/** Resolves at q or Ctrl-C, or with a signal. */
async function closed({ stdin, onSignal }: Context['io']): Promise<void> {
  await new Promise<void>((done) => {
    stdin.setRawMode?.(true)
    stdin.setEncoding('utf8').on('data', (keys) => /[q\u0003]/.test(String(keys)) && done())
    stdin.resume()
    onSignal(() => done())
  })
  stdin.setRawMode?.(false)
  stdin.pause()
}
