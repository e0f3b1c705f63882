// A task made of a dataset's rows.
//
// A level contains all rows up to that difficulty. One question in eight is held out, chosen by the hash of its
// text, so it is on the same side in every dataset that contains it. The exception is a set so small that all
// questions would be on one side: it moves the question with the lowest (or highest) hash. Training and held-out
// seeds each cycle through their rows: an evaluation sees each row once, and seeds below the number of training
// rows address them one by one.
//
// The version is a digest of all rows, their verifiers and the way in which rows are drawn. Nodes with the same
// rows, in any order, files or fields, share groups; nodes with other rows do not. The contents of a verifier file
// are part of the digest, so only nodes with the same verifier share. The version has 32 bits, like all versions on
// the wire. Forging a different set with the same version gains nothing, since prompts and rewards are computed
// locally.

import { createHash } from 'node:crypto'
import { defineTask, type Task } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED, type Instance, isHeldOut } from '../../../protocol/train/index.ts'
import { judge, scored } from '../answer.ts'
import { HELD_OUT_SHARE } from '../draw.ts'
import { hash64 } from '../random.ts'
import { type Answer, Fault, type Settings } from '../verifiers/index.ts'
import { contentOf, subjectOf } from './gather.ts'
import type { Row } from './rows.ts'

/** To be raised when rows are drawn, split or scored differently. Part of the version. */
const SCHEME = 'waggle/dataset/3'

/** Salt of the hash that splits questions. Never changed, so that held-out questions stay held out. */
const PARTING = 'waggle/dataset/1'

interface HashedRow {
  row: Row
  hash: bigint
  subject: string
}

/** What `verify` needs; plain JSON. */
interface Data {
  verifier: string
  settings: Settings
  answer: Answer
  id?: string
}

/** Makes the task. Throws Fault for fewer than two different questions, since one must be held out. */
export function datasetTask(name: string, rows: readonly Row[]): Task {
  if (rows.length < 2)
    throw new Fault(
      rows.length === 0 ? 'there are no rows' : 'one question is not enough: one is held out for evaluation',
    )
  const placed = rows.map((row): HashedRow => {
    const subject = subjectOf(row.prompt)
    return { row, subject, hash: hash64(`${PARTING}\n${subject}`) }
  })
  placed.sort((a, b) => Number(a.hash > b.hash) - Number(a.hash < b.hash) || (a.subject < b.subject ? -1 : 1))
  const [training, heldOut] = parted(placed).map((part) =>
    // Stable, so that rows of one difficulty stay in the order of their hashes.
    part.sort((a, b) => a.row.difficulty - b.row.difficulty),
  ) as [HashedRow[], HashedRow[]]
  const version = versionOf(placed)
  // Below `min`, one part would be empty.
  const min = Math.max(training[0]!.row.difficulty, heldOut[0]!.row.difficulty)
  const max = Math.max(training.at(-1)!.row.difficulty, heldOut.at(-1)!.row.difficulty)
  const questions = (level: number) => upTo(training, level) + upTo(heldOut, level)
  const longest = longestBy(placed)
  const verifiers = new Map(rows.map(({ judge: { verifier } }) => [verifier.name, verifier]))

  return defineTask({
    name,
    kind: 'task',
    api: 1,
    summary: `A dataset of ${rows.length} questions, ${heldOut.length} of them held out.`,
    version,
    difficulty: {
      min,
      max,
      default: max,
      describe: (level) => `${questions(level)} questions of difficulty up to ${level}`,
    },
    finite: {
      training: (level) => upTo(training, level),
      heldOut: (level) => upTo(heldOut, level),
      longest,
    },
    generate({ seed, difficulty }) {
      if (!Number.isInteger(seed) || seed < 0 || seed > 0xffff_ffff)
        throw new RangeError(`${name}: seed ${seed} is not an unsigned 32-bit number`)
      if (!Number.isInteger(difficulty) || difficulty < min || difficulty > max)
        throw new RangeError(`${name}: difficulty ${difficulty} is not a whole number from ${min} to ${max}`)
      if (isHeldOut(seed)) return instanceOf(heldOut[(seed - HELD_OUT_SEED) % upTo(heldOut, difficulty)]!.row)
      return instanceOf(training[seed % upTo(training, difficulty)]!.row)
    },
    verify({ data, question }, completion) {
      const { verifier, settings, answer } = data as Data
      const by = verifiers.get(verifier)!
      if ('accepts' in by) return judge(completion, (text) => by.accepts(text, answer, settings))
      return scored(completion, ({ text, found }) =>
        by.score({ prompt: question, answer, completion, text, tagged: found === 'tag' }, settings),
      )
    },
  })
}

/** Training and held-out questions; neither is empty. */
function parted(placed: readonly HashedRow[]): [HashedRow[], HashedRow[]] {
  const held = new Set(placed.filter(({ hash }) => hash % HELD_OUT_SHARE === 0n))
  if (held.size === 0) held.add(placed[0]!)
  if (held.size === placed.length) held.delete(placed.at(-1)!)
  return [placed.filter((one) => !held.has(one)), placed.filter((one) => held.has(one))]
}

/** Number of rows with at most this difficulty; rows are sorted by difficulty. */
function upTo(part: readonly HashedRow[], level: number): number {
  let [low, high] = [0, part.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (part[middle]!.row.difficulty <= level) low = middle + 1
    else high = middle
  }
  return low
}

function longestBy(placed: readonly HashedRow[]): (level: number) => string {
  return (level) =>
    placed.reduce(
      (longest, { row }) =>
        row.difficulty <= level && row.prompt.length > longest.length ? row.prompt : longest,
      '',
    )
}

function versionOf(placed: readonly HashedRow[]): number {
  const digest = createHash('sha256').update(SCHEME)
  for (const { row } of placed) digest.update(`\n${JSON.stringify(row.prompt)}${contentOf(row)}`)
  return digest.digest().readUInt32BE(0) || 1
}

function instanceOf({ prompt, answer, judge: { verifier, settings }, id }: Row): Instance {
  // Only its author knows whether a file's verifier accepts the answer as a solution.
  const key = 'key' in verifier ? verifier.key(answer, settings) : undefined
  const data: Data = { verifier: verifier.name, settings, answer, ...(id === undefined ? {} : { id }) }
  return {
    question: prompt,
    key: key ?? String(answer),
    // A dataset has no working, so the answer is the only step; a pattern is not an answer.
    steps: key === undefined ? [] : [{ level: 5, text: key, value: key }],
    data,
  }
}
