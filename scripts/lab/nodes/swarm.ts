// Several nodes in one process on a virtual network. In each round every node does its round, then everything that
// they share reaches every other node; signatures are not simulated. Authors that are not nodes, such as liars, take
// part by what they send.

import type { GroupDraft } from '../../../protocol/wire/index.ts'
import type { ExperimentNode, RoundReport } from './node.ts'

export interface Outsider {
  /** Under which it sends what the last round gave. */
  readonly name: string
  /** What it sends in a round. */
  round(): Promise<readonly GroupDraft[]>
}

interface SwarmRound {
  round: number
  reports: readonly RoundReport[]
}

export async function runRounds(
  { rounds, from = 0 }: { rounds: number; from?: number },
  {
    nodes,
    outsiders = [],
    onRound,
  }: {
    nodes: readonly ExperimentNode[]
    outsiders?: readonly Outsider[]
    onRound?(round: SwarmRound): void | Promise<void>
  },
): Promise<void> {
  for (let round = from; round < from + rounds; round++) {
    const reports: RoundReport[] = []
    for (const node of nodes) reports.push(await node.round())
    const sent = nodes.flatMap(({ name: author }, i) =>
      reports[i]!.shared.map((draft) => ({ author, draft })),
    )
    for (const outsider of outsiders)
      for (const draft of await outsider.round()) sent.push({ author: outsider.name, draft })
    for (const node of nodes)
      for (const { author, draft } of sent) if (author !== node.name) node.receive(author, draft)
    await onRound?.({ round, reports })
  }
}
