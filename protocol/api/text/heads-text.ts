// Describes with whom a node averages its trained weights. Used by `waggle status`, `waggle join` and the terminal UI.

import type { TaughtInfo } from '../../plugin/teacher.ts'
import type { WeightsMet } from '../requests.ts'
import type { HeadsInfo, HeadTrial, HeadTrying } from '../snapshot/index.ts'
import { bytes, count, percent } from './format.ts'

const peersText = (peers: number): string => `${count(peers)} ${peers === 1 ? 'peer' : 'peers'}`

/** Such as `averaged with 3 peers, who learnt from 412 groups`. */
export function averagedText({ peers }: Pick<HeadsInfo, 'peers'>): string {
  if (peers.length === 0) return 'averaged with no peer yet'
  const groups = peers.reduce((sum, peer) => sum + peer.groups, 0)
  return `averaged with ${peersText(peers.length)}, who learnt from ${count(groups)} ${groups === 1 ? 'group' : 'groups'}`
}

/** The same with traffic, and how it caught up. */
export function headsText(heads: HeadsInfo): string {
  const { bytesIn, bytesOut, refused, trial, trying, limit, audits } = heads
  return [
    averagedText(heads),
    `in ${bytes(bytesIn)}, out ${bytes(bytesOut)}`,
    ...(refused > 0 ? [`${count(refused)} refused`] : []),
    ...(audits ? [`audits took ${percent(audits.share)} of its processor time`] : []),
    ...(limit && limit.held > 0 ? [`${count(limit.held)} held back by limits.weights_mb_per_hour`] : []),
    ...(trying ? [tryingText(trying)] : trial ? [trialText(trial)] : []),
  ].join('; ')
}

/** Such as `merged with 1 peer: held-out 20 % → 25 %`. */
export function trialText({ how, peers, isTaken, fallen, failure, ...change }: HeadTrial): string {
  if (failure !== undefined)
    return `refused weights of ${peersText(peers.length)}: the model cannot answer with them: ${failure}`
  if (fallen) return `refused weights of ${peersText(peers.length)}: ${fallenText(fallen)}`
  if (!isTaken) {
    const chance = change.after >= change.before ? ', which may be chance' : ''
    return `refused weights of ${peersText(peers.length)}: held-out ${changeText(change)}${chance}`
  }
  return `${how} with ${peersText(peers.length)}: held-out ${changeText(change)}`
}

/** What a limit allows in an hour, and what to set for sixty times or more. `size`: bytes of one peer's weights. */
export function weightsLimitText({ size, mostPerHour }: { size: number; mostPerHour: number }): string {
  const times = Math.floor(mostPerHour / size)
  const allowed =
    times === 0
      ? `no weights at all, which take ${bytes(size)},`
      : `one peer's weights (${bytes(size)}) ${times === 1 ? 'once' : `${count(times)} times`} an hour`
  const more =
    times < 60 ? `set ${Math.ceil((60 * size) / 1e6)} for 60 times, 0 for no limit` : '0 is no limit'
  return `limits.weights_mb_per_hour = ${mostPerHour / 1e6} allows ${allowed} beyond the local network; ${more}`
}

/** Such as `trying weights of 2 peers while training goes on: 40 % of the questions answered`. */
export function tryingText({ peers, fraction }: Pick<HeadTrying, 'peers' | 'fraction'>): string {
  return `trying weights of ${peersText(peers.length)} while training goes on: ${Math.floor(100 * fraction)} % of the questions answered`
}

/** What became of the weights of a peer that was joined. `program`: how the command is called. */
export function metText(
  { outcome, before, after, fallen, peers = 0, why }: WeightsMet,
  { program }: { program: string },
): string {
  const change = before === undefined || after === undefined ? '' : changeText({ before, after })
  switch (outcome) {
    case 'caught up':
      return `caught up with the swarm: held-out ${change}`
    case 'merged':
      return `merged its weights with the swarm's: held-out ${change}`
    case 'given back':
      return fallen
        ? `kept its own weights: with the peer's, ${fallenText(fallen)}`
        : `kept its own weights: the peer's did not answer clearly more held-out questions right (${change})`
    case 'on trial':
      return `tries the peer's weights on held-out questions while training goes on; \`${program} status\` says how far`
    case 'averaged':
      return `averages its weights with ${peersText(peers)} from now on`
    case 'untrusted':
      return `shares rollouts. Weights are averaged with peers that you vouch for: \`${program} set swarm.trust=…\` on both, or a private swarm`
    case 'other lineage':
      return 'shares rollouts. The peer has no weights for this model: it trains another one, or in another way (training.method, lora_rank, lora_alpha), or has just begun'
    case 'off':
      return 'shares rollouts. This node neither sends nor takes weights'
    case 'not yet':
      return notYetText(why)
  }
}

function notYetText(why: WeightsMet['why']): string {
  switch (why) {
    case 'limit':
      return 'weights come later: limits.weights_mb_per_hour is used up for this hour'
    case 'no answer':
      return 'the peer sent no weights when it was asked: it is busy, or has used up its limits.weights_mb_per_hour; it is asked again'
    case 'behind':
      return 'the peer has less work behind its weights; they are averaged once it has caught up'
    case undefined:
      return 'weights had not come in time; they are averaged as soon as they do'
  }
}

const fallenText = ({ task, before, after }: NonNullable<HeadTrial['fallen']>): string =>
  `${task} fell from ${percent(before)} to ${percent(after)}`

function changeText({ before, after }: { before: number; after: number }): string {
  return `${percent(before)} → ${percent(after)}`
}

/** Such as `fractions from peer/12D3: 60 %, own 40 %; weight 0.50; 12.5 k tokens`. */
export function taughtText({ task, teacher, weight, scores, tokens }: TaughtInfo): string {
  const compared = scores ? `${percent(scores.theirs, 0)}, own ${percent(scores.own, 0)}; ` : ''
  return `${task} from ${teacher}: ${compared}weight ${weight.toFixed(2)}; ${count(tokens)} tokens`
}
