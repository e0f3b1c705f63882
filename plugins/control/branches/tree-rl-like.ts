// TreeRL: answers branch at their least certain tokens, and each segment's advantage comes from the value of its
// branches.
//
//   R(segment) = (V(segment) - V(question) + V(segment) - V(segment before)) / sqrt(number of leaves of the segment)
//
// After Hou et al. 2025 (TreeRL, ACL 2025, arXiv 2506.11902) and its released code: the group's rollouts are the trees'
// first chains. In each of `iterations`, each tree branches at its `forks` least likely tokens, with `branches` new
// endings each; the paper's (M, N, L, T) = (6, 2, 1, 2) are rollout.group_size = 6 and the defaults. V is the mean,
// over the leaves below, of a leaf's reward minus the mean reward of all other leaves.
//
// Differences: A segment shared by several leaves is in one row here, and in each leaf's row in the code. To give the
// same gradient, its advantage here is R times the number of leaves, so no token is computed twice. Leaves that begin
// alike without having branched count as branches of one tree. The code's mean over all tokens is not subtracted, and
// its penalty for repetition is left out. Branches may start anywhere; in the code not after the words "answer" and
// "conclusion". The formula is from memory of the paper and matches the code, which divides V before it takes
// differences.
//
// Groups with branches are not shared, because peers could not check where they branch. Try it on a node without
// peers, with small groups and long answers.

import { z } from 'zod'
import { definePlugin, type Prefix, type Request, type RoundView } from '../../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import { contentId } from '../../../protocol/wire/index.ts'
import { treeAdvantages } from './tree.ts'

const settings = z.strictObject({
  /** Tokens at which each tree branches in an iteration. */
  forks: z.int().positive().max(64).default(2),
  iterations: z.int().positive().max(8).default(1),
  /** New endings at each of these tokens. */
  branches: z.int().positive().max(64).default(2),
  /** Tokens that may be generated per round. */
  tokens: z.int().positive().default(262_144),
})

const NAME = 'control/tree_rl_like'

export default definePlugin({
  name: 'tree_rl_like',
  kind: 'control',
  api: 1,
  summary: 'Answers branch where they are unsure; advantages from the tree.',
  settings,
  manifest: {
    order: 10,
    budget: ({ tokens }) => ({ tokens }),
  },
  create: ({ forks, iterations, branches }) => ({
    extend(round) {
      if (round.asked >= iterations) return []
      return treesOf(round).flatMap(({ name, base, nodes }) =>
        leastSure(nodes, forks).map(
          ({ node, at }): Request => ({
            id: `${name}${round.asked}:${node}:${at}`,
            ...{ prompt: base.prompt, rollouts: branches, keep: 'train', parent: base.id },
            prefix: { ...nodes[node]!, length: at },
          }),
        ),
      )
    },

    group(groups, { at }) {
      if (at === 'batch') return groups
      const grown = groups.filter(({ origin }) => origin?.plugin === NAME)
      return groups.flatMap((base) => {
        if (base.origin?.plugin === NAME) return []
        const more = grown.filter(({ origin }) => origin!.parent === base.id)
        return [more.length === 0 ? base : joined(base, more)]
      })
    },

    modify: (advantages, groups) =>
      advantages.map((rows, g) => {
        const { rollouts } = groups[g]!
        return rollouts.some(({ prefix }) => prefix) ? treeAdvantages(rollouts) : rows
      }),
  }),
})

type Node = Pick<Prefix, 'group' | 'rollout'>

interface Tree {
  /** Prefix of the ids of its requests. */
  name: string
  base: Group
  nodes: Node[]
}

/** One tree per rollout of the round's groups, with the branches grown so far. */
function treesOf({ groups, landed }: RoundView): Tree[] {
  return groups.flatMap((base, g) =>
    base.rollouts.map((_, chain) => {
      const name = `${g}:${chain}:`
      const grown = [...landed].flatMap(([id, group]) =>
        id.startsWith(name) ? group.rollouts.map((_, rollout) => ({ group, rollout })) : [],
      )
      return { name, base, nodes: [{ group: base, rollout: chain }, ...grown] }
    }),
  )
}

/** The least likely tokens of a tree, except first tokens, where a branch would be an entirely new answer. */
function leastSure(nodes: readonly Node[], most: number): Array<{ node: number; at: number }> {
  return nodes
    .flatMap(({ group, rollout }, node) => {
      const { behaviourLogprobs, lossMask } = group.rollouts[rollout]!
      return [...(behaviourLogprobs ?? [])].flatMap((logprob, at) =>
        at === 0 || lossMask?.[at] === 0 ? [] : [{ node, at, logprob }],
      )
    })
    .sort((a, b) => a.logprob - b.logprob)
    .slice(0, most)
}

/** Adds the branches to their group. It keeps its arm, so its first chains still count as plain answers. */
function joined(base: Group, more: readonly Group[]): Group {
  const rollouts: Rollout[] = [
    ...base.rollouts,
    ...more.flatMap(({ arm, rollouts: grown }) => grown.map((one) => ({ ...one, arm: one.arm ?? arm }))),
  ]
  return {
    ...base,
    rollouts,
    id: contentId(
      base.prompt,
      rollouts.map(({ text }) => text),
    ),
  }
}
