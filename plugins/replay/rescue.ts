// Success-gated transfer: if all of this node's answers to a question are wrong and a peer has a verified right one,
// that answer joins the group, which is then trained on.
//
//   A_i = (r_i - mean) / (std + epsilon)      over the own rollouts and the success
//   own tokens: the loss as configured;  the success's tokens: -f(pi) A,  f(x) = x / (x + gamma)
//
// The gate and the joint advantages are those of arXiv 2605.07244; the shaped loss is LUFFY's (arXiv 2504.14945) with
// its gamma of 0.1. There is no importance weight, because the success is used as text, whoever wrote it: nodes
// exchange texts, and each encodes them with its own tokenizer. The gradient of the shaped loss with respect to a
// token's log-prob is A gamma pi / (pi + gamma)^2. It is at most A / 4, at pi = gamma, and vanishes for tokens that
// this node would never write, so a mark planted in a right answer is learnt only slowly, if at all.
//
// A success is used only after this node's own verifier has scored it, on arrival and again before use. It is used for
// a question at most `uses` times, and never for one that an own rollout has solved. Borrowed tokens are at most
// `share` of a batch's own tokens, split evenly among authors, and the trainer limits the norm of their gradient to
// that of the own ones. Of several successes, the one that is most likely per token under this node's policy is used.
// The paper's policies all train on one set of prompts; here the selector `common` provides shared prompts.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { add, column, div, exp, mul, neg } from '../../protocol/plugin/expression/expression.ts'
import { type Context, type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { type Group, hasSignal, isRight, promptKey, type Rollout } from '../../protocol/train/index.ts'
import { readRecord, writeRecord } from '../../protocol/train/record.ts'
import { mixedAdvantages } from './mixing.ts'
import { createSuccesses, type Success, successSchema } from './successes.ts'

const settings = z.strictObject({
  /** `shaped`: -f(pi) A. `plain`: -A log pi, which also teaches what this node would never write. */
  loss: z.enum(['shaped', 'plain']).default('shaped'),
  gamma: z.number().positive().default(0.1),
  /** Number of successes added to a group. */
  k: z.int().positive().default(1),
  /** Maximum uses of an author's successes on one question. */
  uses: z.int().positive().default(2),
  /** Maximum borrowed tokens of a batch, relative to the own groups' tokens. */
  share: z.number().positive().max(1).default(0.15),
  epsilon: z.number().positive().default(1e-6),
  std: z.enum(['sample', 'population']).default('sample'),
  /** Maximum authors per question whose success is kept. */
  perQuestion: z.int().positive().default(4),
  records: z.int().positive().default(4096),
  megabytes: z.number().positive().default(4),
})

/** Maximum questions remembered as solved. */
const MAX_SOLVED = 65_536
/** Far more groups than ever wait to be trained on. */
const MAX_WAITING = 4096

/** Changes with the schema below, and so does `stateVersion`. */
const FORMAT = 'rescue/2'
const savedSchema = z.strictObject({
  tokenizer: z.string(),
  successes: z.array(successSchema),
  solved: z.array(z.string()).max(MAX_SOLVED),
  waiting: z.array(z.string()).max(MAX_WAITING),
})

export default definePlugin({
  name: 'rescue',
  kind: 'replay',
  api: 1,
  summary: "Learns from a peer's right answer where all own ones are wrong.",
  settings,
  manifest: {
    stateVersion: 2,
    needs: ['score'],
    budget: ({ megabytes }) => ({ stateBytes: Math.ceil((megabytes + 4) * 2 ** 20) }),
  },
  create(options) {
    const memory = createMemory(options)
    const { successes, solved, waiting } = memory

    const lendable = (group: Group, context: Context): Success[] =>
      successes.of(questionOf(group, context)).filter((success) => fits(success, group, context))

    return {
      receive(groups, context) {
        for (const group of groups) {
          if (group.arm !== 'base') continue
          const right = group.rollouts.filter((rollout) => isRight(rollout) && rollout.finish !== 'aborted')
          if (right.length === 0) continue
          const question = questionOf(group, context)
          // Take the shortest success of a group: it has the least room for anything but the answer.
          const best = right.reduce((least, one) => (one.tokens.length < least.tokens.length ? one : least))
          if (!solved.has(question)) successes.add(successOf(best, { question, author: group.author }))
        }
        context.metric('known', successes.size)
      },

      async group(groups, view, context) {
        memory.belongTo(view.tokenizer)
        const isStuck = ({ author, arm, tainted, rollouts }: Group): boolean =>
          author === view.self && arm === 'base' && !tainted && !rollouts.some(isRight)
        if (view.at !== 'batch')
          return groups.map((group) => {
            if (!isStuck(group) || lendable(group, context).length === 0) return group
            remember(waiting, group.id, MAX_WAITING)
            return { ...group, always: true }
          })

        const own = groups.filter(({ author }) => author === view.self)
        const most = options.share * own.reduce((sum, group) => sum + tokensOf(group.rollouts), 0)
        const mostOfOne = most / Math.max(1, Math.min(successes.authors, own.length))
        const lent = createLoans({ k: options.k, most, mostOfOne })
        let mixed = 0
        const result: Group[] = []
        for (const group of groups) {
          const candidates = isStuck(group) ? await ranked(group, lendable(group, context), context) : []
          const chosen = lent.take(candidates)
          const isKept = waiting.delete(group.id)
          if (chosen.length === 0) {
            // A group kept for a success is dropped if there is none.
            if (!isKept || hasSignal(group)) result.push(group)
            continue
          }
          mixed += 1
          const rollouts = [...group.rollouts, ...chosen.map((success) => rolloutOf(success, view.version))]
          result.push({ ...group, rollouts, always: true })
        }
        context.metric('groups', mixed)
        context.metric('tokens', lent.total)
        return result
      },

      modify: (advantages, groups) =>
        groups.map((group, g) =>
          group.rollouts.some((rollout) => isBorrowed(rollout))
            ? mixedAdvantages(
                group.rollouts.map(({ reward }) => reward),
                { alpha: 1, lambda: options.epsilon, std: options.std },
              )
            : advantages[g]!,
        ),

      columns: (_, groups) => ({
        borrowed: groups.map(({ rollouts }) => rollouts.map((rollout) => (isBorrowed(rollout) ? 1 : 0))),
      }),

      correct: () => correctionOf(options),

      observe(groups, context) {
        for (const group of groups) {
          if (group.arm !== 'base' || !group.rollouts.some((one) => isRight(one) && !isBorrowed(one)))
            continue
          const question = questionOf(group, context)
          remember(solved, question, MAX_SOLVED)
          successes.drop(question)
        }
      },

      save: memory.save,
      load: memory.load,
    }
  },
})

/** The success fits the prompt's context, and this node's verifier still finds it right. */
function fits({ text, tokens }: Success, { prompt, conditioning }: Group, context: Context): boolean {
  const { completion, context: most } = context.limits
  return (
    tokens.length <= completion &&
    conditioning.length + tokens.length <= most &&
    context.verify(prompt, text).score > 0.5
  )
}

/** Sorts successes by their likelihood per token under this node's policy. */
async function ranked({ conditioning }: Group, found: Success[], context: Context): Promise<Success[]> {
  if (found.length < 2) return found
  const scores = await context.score(found.map(({ tokens }) => ({ conditioning, completion: tokens })))
  const mean = scores.map(({ logprobs }) => logprobs.reduce((sum, one) => sum + one, 0) / logprobs.length)
  return found
    .map((success, i) => ({ success, mean: mean[i]! }))
    .sort((a, b) => b.mean - a.mean)
    .map(({ success }) => success)
}

/** Lends successes to groups, `k` to each, within `most` tokens and `mostOfOne` of each author. */
function createLoans({ k, most, mostOfOne }: { k: number; most: number; mostOfOne: number }) {
  const lent = new Map<string, number>()
  let total = 0
  return {
    /** Tokens lent so far. */
    get total() {
      return total
    },
    take(candidates: readonly Success[]): Success[] {
      const chosen: Success[] = []
      for (const success of candidates) {
        const { length } = success.tokens
        const before = lent.get(success.author) ?? 0
        if (chosen.length === k || total + length > most) break
        // Each author may contribute at least one.
        if (before > 0 && before + length > mostOfOne) continue
        chosen.push(success)
        success.uses += 1
        total += length
        lent.set(success.author, before + length)
      }
      return chosen
    },
  }
}

type Options = z.infer<typeof settings>

function correctionOf({ gamma, loss }: Options): Correction {
  const probability = exp(column('logprob'))
  const shaped = div(probability, add(probability, gamma))
  return {
    columns: { borrowed: 0 },
    instead: {
      where: column('rescue.borrowed'),
      loss: neg(mul(loss === 'shaped' ? shaped : column('logprob'), column('advantage'))),
    },
  }
}

/** What the plugin saves. */
function createMemory(options: Options) {
  const successes = createSuccesses({ ...options, bytes: options.megabytes * 2 ** 20 })
  const solved = new Set<string>()
  /** Ids of groups without a signal that were kept for a success to join. */
  const waiting = new Set<string>()
  let tokenizer = ''
  return {
    successes,
    solved,
    waiting,
    /** Forgets what another tokenizer encoded. */
    belongTo(current: string): void {
      if (tokenizer !== current && tokenizer !== '') successes.clear()
      tokenizer = current
    },
    save: (): Uint8Array =>
      writeRecord(FORMAT, {
        tokenizer,
        successes: successes.save(),
        solved: [...solved],
        waiting: [...waiting],
      }),
    load(state: Uint8Array): void {
      const saved = savedSchema.parse(readRecord(FORMAT, state))
      successes.load(saved.successes as Success[])
      tokenizer = saved.tokenizer
      solved.clear()
      for (const question of saved.solved) solved.add(question)
      waiting.clear()
      for (const id of saved.waiting) waiting.add(id)
    },
  }
}

/**
 * A question's key, equal for equal questions of a task, whatever their seeds. An episode's key is its prompt's, since
 * its course may depend on more than the question.
 */
function questionOf({ prompt, rollouts }: Group, context: Context): string {
  const { task, taskVersion } = prompt
  const text = rollouts.some(({ turns }) => turns) ? promptKey(prompt) : context.question(prompt)
  return createHash('sha256').update(`${task}@${taskVersion}\n${text}`).digest('base64url').slice(0, 22)
}

function successOf(
  { text, tokens, finish, lossMask, turns }: Rollout,
  { question, author }: Pick<Success, 'question' | 'author'>,
): Success {
  return {
    ...{ question, author, text, tokens, finish, uses: 0 },
    ...(lossMask && { lossMask }),
    ...(turns && { turns }),
  }
}

/** The success as a rollout without behaviour log-probs, as old as the current step. */
function rolloutOf({ author, text, tokens, finish, lossMask, turns }: Success, version: number): Rollout {
  return {
    ...{ author, text, tokens, finish, reward: 1 },
    segments: [{ version, start: 0, length: tokens.length }],
    ...(lossMask && { lossMask }),
    ...(turns && { turns }),
  }
}

function isBorrowed({ author }: Rollout): boolean {
  return author !== undefined
}

function tokensOf(rollouts: readonly Rollout[]): number {
  return rollouts.reduce((sum, { tokens }) => sum + tokens.length, 0)
}

/** Adds a key; beyond `most` keys, forgets the oldest. */
function remember(set: Set<string>, key: string, most: number): void {
  set.delete(key)
  set.add(key)
  if (set.size > most) set.delete(set.values().next().value!)
}
