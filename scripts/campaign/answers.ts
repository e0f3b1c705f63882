// G23: hostile answers to every task. An answer that a verifier pays for must also be right by an independent reading, which
// takes the last tag, drops what decorates it, and compares what is left with the key. What is right must be paid for.

import { TASKS } from '../../plugins/tasks/index.ts'
import type { Task } from '../../protocol/plugin/index.ts'
import type { Instance } from '../../protocol/train/index.ts'
import { type Random, randomOf } from '../../test/sim/world.ts'
import { inPercent, type Row } from './row.ts'

const FRAGMENTS =
  '<answer> </answer> <answer></answer> <ANSWER> , . - + / = ( ) [ ] { } $ * ** ` ``` ~ | & % # : ; \\ \\boxed{ \\frac{ }{ \\text{ or and not is = 0 1 2 9 00 1e3 0x 0b NaN Infinity null true yes no Monday Tue P ~P \u2212 \u0661 \uff11 \u00bd \u200b \u00a0 \u202e \u0336 \u2044 \n \t \r'
    .split(' ')
    .concat(' ')

/** Text that may or may not be right. */
function hostile(key: string, other: string, random: Random): string {
  let inner = random.pick([key, key, other, near(key, random), `${key} ${other}`, `${other}, ${key}`])
  for (let edits = Math.floor(random.next() * 4); edits > 0; edits--) {
    const at = Math.floor(random.next() * (inner.length + 1))
    const cut = random.chance(0.3) ? 1 + Math.floor(random.next() * 3) : 0
    inner = inner.slice(0, at) + (random.chance(0.75) ? random.pick(FRAGMENTS) : '') + inner.slice(at + cut)
  }
  const said = `<answer>${inner}</answer>`
  return random.pick([
    said,
    said,
    `It is ${key}. ${said}`,
    `${said}<answer>${other}</answer>`,
    `<answer>${other}</answer>${said}`,
    `<answer>${inner}`,
    `<answer>${said}</answer>`,
  ])
}

/** Like the key, with one character changed. */
function near(key: string, random: Random): string {
  const at = Math.floor(random.next() * key.length)
  return key.slice(0, at) + random.pick([...'0123456789-~P']) + key.slice(at + 1)
}

/** What the last closed pair of tags says; independent of plugins/tasks/answer.ts. */
function lastTag(text: string): string | undefined {
  const end = [...text.matchAll(/<answer>(?:(?!<\/?answer>)[\s\S])*<\/answer>/g)].at(-1)?.[0]
  return end?.slice('<answer>'.length, -'</answer>'.length)
}

/** What has the same meaning has the same plain form. */
function plain(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\\(boxed|text|mathrm|left|right|[(){}[\],;!])/g, '')
    .replace(/[\u2212\u2013]/g, '-')
    .replace(/\u2044/g, '/')
    .replace(/[\s,$*`{}()[\]]/g, '')
    .replace(/(?<![\d.])0+(?=\d)/g, '')
    .replace(/(\.\d*?)0+(?!\d)/g, '$1')
    .replace(/\.(?!\d)/g, '')
    .replace(/^\+/, '')
}

export function isRight(task: Task, instance: Instance, text: string): boolean {
  const { key } = instance
  const said = lastTag(text)
  if (said === undefined) return false
  return plain(said) === plain(key) || (READERS[task.name]?.(said, instance) ?? false)
}

const literals = (text: string): string =>
  [...text.normalize('NFKC').matchAll(/((?:not|[~\u00ac!\u2212\u223c-])?)\s*([P-Wp-w])(?![a-z])/g)]
    .map(([, not, letter]) => (not ? '~' : '') + letter!.toUpperCase())
    .filter((one, i, all) => all.indexOf(one) === i)
    .sort()
    .join()
const numbers = (text: string): string =>
  plainNumbers(text)
    .map((digits) => String(BigInt(digits)))
    .join()
const plainNumbers = (text: string): string[] =>
  text.normalize('NFKC').replaceAll('\u2212', '-').match(/-?\d+/g) ?? []

/** Where a task's rules allow more than one way to say it. */
const READERS: Record<string, (said: string, instance: Instance) => boolean> = {
  base_conversion: (said, { key }) => plain(said).replace(/^(0[box])?0*(?=.)/, '') === key,
  basic_arithmetic: (said, { key }) => /^-?\d+$/.test(plain(said)) && BigInt(plain(said)) === BigInt(key),
  calendar_arithmetic: (said, { key }) => plain(said) === key.slice(0, 3).toLowerCase(),
  decimal_arithmetic: (said, { key, data }) => {
    const { significant } = data as { significant: number }
    return Math.abs(Number(plain(said)) - Number(key)) <= Math.abs(Number(key)) * 10 ** (1 - significant)
  },
  fraction_simplification: (said, { key }) =>
    plain(said)
      .replaceAll('+', '')
      .replace(/^(-?)(\d+)\/-(\d+)$/, (_, sign, top, bottom) => `${sign ? '' : '-'}${top}/${bottom}`) === key,
  number_sorting: (said, { key }) => numbers(said) === numbers(key),
  propositional_logic: (said, { key }) => literals(said) === literals(key),
}

export async function answers({ perTask }: { perTask: number }): Promise<Row & { examples: string[] }> {
  let [wrong, missed, right, all] = [0, 0, 0, 0]
  let paidAnywhere = 0
  const examples: string[] = []
  const tasks = TASKS.filter(({ environment }) => !environment)
  for (const task of tasks) {
    const random = randomOf(`answers to ${task.name}`)
    const { min, max } = task.difficulty
    for (let i = 0; i < perTask; i++) {
      const [one, two] = [0, 1].map(() =>
        task.generate({
          seed: Math.floor(random.next() * 2 ** 31),
          difficulty: min + Math.floor(random.next() * (max - min + 1)),
        }),
      ) as [Instance, Instance]
      for (let more = 0; more < 10 && i < perTask; more++, i++) {
        const text = hostile(one.key, two.key, random)
        const isPaid = task.verify(one, text).score > 0
        all++
        if (isPaid && !isRight(task, one, text)) {
          wrong++
          if (examples.length < 400)
            examples.push(`${task.name}: ${JSON.stringify(one.key)} by ${JSON.stringify(text)}`)
        }
        // The control: a verifier that looks for the key anywhere.
        if (text.includes(one.key) && !isRight(task, one, text)) paidAnywhere++
      }
      const reply = `${random.pick(['', 'So: ', 'I think\n'])}<answer>${random.pick(['', ' ', '\n'])}${one.key}${random.pick(['', ' ', '\n'])}</answer>`
      right++
      if (task.verify(one, reply).score !== 1) missed++
    }
  }
  return {
    goal: 'G23',
    tried: `${all.toLocaleString('en')} hostile answers to ${tasks.length} tasks`,
    result: `${wrong} paid for that are wrong by an independent reading; ${inPercent(missed, right)} of right answers not paid for`,
    control: `a verifier that looks for the key anywhere pays for ${inPercent(paidAnywhere, all)} wrong ones`,
    isMet: wrong === 0 && missed <= right / 100,
    examples,
  }
}
